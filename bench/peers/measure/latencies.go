package measure

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Latencies collects durations. Its methods are safe for concurrent use.
type Latencies struct {
	mu sync.Mutex
	d  []time.Duration
}

// Add takes one more.
func (l *Latencies) Add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.d = append(l.d, d)
}

// Print prints the distribution in milliseconds: the value is the p99, the rest is in the detail,
// to which the given words are added.
func (l *Latencies) Print(name string, more ...string) error {
	l.mu.Lock()
	d := slices.Sorted(slices.Values(l.d))
	l.mu.Unlock()
	at := func(q float64) float64 {
		if len(d) == 0 {
			return 0
		}
		return float64(d[min(len(d)-1, int(q*float64(len(d))))]) / 1e6
	}
	words := append([]string{fmt.Sprintf("p50 %.2f", at(.5)), fmt.Sprintf("p90 %.2f", at(.9)),
		fmt.Sprintf("p99.9 %.2f", at(.999)), fmt.Sprintf("max %.2f", at(1)),
		fmt.Sprintf("n=%d", len(d))}, more...)
	return Print(Figure{Name: name, Unit: "ms p99", Value: at(.99), Runs: 1,
		Detail: strings.Join(words, ", ")})
}
