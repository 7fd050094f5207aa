package ax

import (
	"context"
	"errors"
	"fmt"

	"github.com/ax-sched/ax/internal/engine"
	"github.com/ax-sched/ax/store"
)

// Run executes tasks and fires jobs until ctx ends, then stops gracefully and returns nil: nothing
// new starts, leadership is given up, running handlers get Config.Grace to end, then their contexts
// end with [ErrShutdown] and what they return an error for is handed back without spending a
// retry. Handlers that ignore that stay RUNNING and are recovered by the next process.
//
// Run returns an error if it cannot start or go on: see [ErrLocked] and [ErrRunning]. A database
// that is away is not such an error: Run waits for it. It never installs signal handlers.
func (s *Scheduler) Run(ctx context.Context) error {
	if err := s.kinds.Err(); err != nil {
		return err
	}
	if !s.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer s.running.Store(false)
	if last := s.engine.Load(); last != nil && !last.Ended() {
		return fmt.Errorf("%w: handlers of the last Run have not ended", ErrRunning)
	}
	if _, err := s.store.Now(ctx); errors.Is(err, store.ErrClosed) {
		return err // any other error may pass
	}
	e, err := engine.New(ctx, engine.Config{Settings: s.settings, Store: s.store,
		Leases: s.store.Leases(), Registry: s.store.Registry(), Kinds: s.kinds, Call: s.call,
		Clock: s.clock, NewID: s.newID, Token: s.rand.Token, Rand: s.jitter.Float,
		Observer: s.cfg.Observer})
	if err != nil {
		return err
	}
	s.engine.Store(e)
	return e.Run(ctx)
}
