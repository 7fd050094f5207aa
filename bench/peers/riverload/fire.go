package riverload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ax-sched/ax/bench/peers/measure"
	"github.com/riverqueue/river"
)

// fire lets scheduled jobs fall due at a rate and measures start minus due.
func (b *bench[T]) fire(ctx context.Context) error {
	n := int(float64(b.rate) * b.firing.Seconds())
	first := time.Now().Add(3*time.Second + time.Duration(n/20)*time.Millisecond)
	at := func(i int) time.Time {
		return first.Add(time.Duration(i) * time.Second / time.Duration(b.rate))
	}
	if err := b.fill(ctx, n, at); err != nil {
		return err
	}
	if time.Until(first) < time.Second {
		return errors.New("inserting took too long for this rate")
	}
	seen := newStarts(n)
	c, err := b.client(func(j *river.Job[args]) {
		seen.add(j.Args.Number, time.Since(j.ScheduledAt))
	})
	if err != nil {
		return err
	}
	if err := c.Start(ctx); err != nil {
		return err
	}
	limit := time.NewTimer(time.Until(first) + b.firing + 10*time.Second)
	defer limit.Stop()
	select {
	case <-seen.all:
	case <-limit.C:
	case <-ctx.Done():
	}
	name := fmt.Sprintf("%s, firing %d/s for %v, start minus due, %s", b.tag, b.rate, b.firing,
		b.settings())
	return errors.Join(seen.print(name), end(ctx, c))
}

// starts counts the starts of each job.
type starts struct {
	late measure.Latencies
	all  chan struct{} // closed when each has started

	mu    sync.Mutex
	times []int
	left  int
	early int
}

func newStarts(n int) *starts {
	return &starts{times: make([]int, n), left: n, all: make(chan struct{})}
}

func (s *starts) add(i int, late time.Duration) {
	s.late.Add(late)
	s.mu.Lock()
	defer s.mu.Unlock()
	if late < 0 {
		s.early++
	}
	if s.times[i]++; s.times[i] == 1 {
		if s.left--; s.left == 0 {
			close(s.all)
		}
	}
}

func (s *starts) print(name string) error {
	s.mu.Lock()
	twice := 0
	for _, n := range s.times {
		if n > 1 {
			twice++
		}
	}
	words := fmt.Sprintf("early %d, missing %d, twice %d", s.early, s.left, twice)
	s.mu.Unlock()
	return s.late.Print(name, words)
}
