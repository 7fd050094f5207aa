package demo

import (
	"slices"
	"sync"
	"time"
)

// starts collects how late handlers started.
type starts struct {
	mu   sync.Mutex
	late []time.Duration
}

func (s *starts) add(late time.Duration) {
	s.mu.Lock()
	s.late = append(s.late, late)
	s.mu.Unlock()
}

// Starts says how late handlers started.
type Starts struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	Early int     `json:"early"` // started before they were due, by the clock of the database
}

func (s *starts) sum() Starts {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.late)
	n := len(s.late)
	if n == 0 {
		return Starts{}
	}
	at := func(i int) float64 { return float64(s.late[i].Microseconds()) / 1000 }
	return Starts{Count: n, P50: at(n / 2), P99: at(min(n-1, n*99/100))}
}
