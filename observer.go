package ax

import (
	"context"
	"fmt"

	"github.com/ax-sched/ax/internal/engine"
	"github.com/ax-sched/ax/observe"
)

// Observer is a struct of functions that are told what happens in this process; package observe
// has the events. Package prom has one for Prometheus.
type Observer = observe.Observer

// Stats is a look at one process: what it holds in memory, runs, and knows of time and leadership.
type Stats = observe.Stats

// Stats looks at this process. It is cheap and does no I/O; it may be called at any time. Before
// Run all but At and ClockOffset is zero.
func (s *Scheduler) Stats() Stats {
	st := s.engine.Load().Stats()
	st.At, st.ClockOffset = s.now().Go(), s.clock.Ahead()
	return st
}

// Count returns how many tasks the table has in each state they can rest in. Counting stops at
// limit in each: that number means so many or more. A limit of 0 counts all, which reads the whole
// table. States without tasks may be left out.
func (s *Scheduler) Count(ctx context.Context, limit int64) (map[State]int64, error) {
	n, err := s.store.Count(ctx, limit)
	if err != nil {
		return nil, fmt.Errorf("count tasks: %w", err)
	}
	return n, nil
}

// watch puts the observer round the store, if it wants to know of its calls.
func (s *Scheduler) watch() {
	s.cfg.Observer = engine.Guard(s.cfg.Observer, s.cfg.Logger)
	if f := s.cfg.Observer.StoreCall; f != nil {
		s.store = engine.Watch(s.store, f)
	}
}
