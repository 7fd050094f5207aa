package trigger

import (
	"context"
	"sync"
	"time"

	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/task"
)

// Late looks again and again for tasks that are in a transaction of somebody's: they can be read
// when it has committed, and where the store sends no hints nobody says when that is. It gives up
// after a little more than a poll, whose scan then finds what has come. It is safe for concurrent
// use.
type Late struct {
	hint func(earliest task.Time)
	wake chan struct{}

	mu       sync.Mutex
	earliest task.Time // of what is expected since the last look; maxHint: nothing
}

// The pauses between looks double from one to the other: most transactions commit at once.
const (
	firstPause = 5 * time.Millisecond
	nextPause  = 10 * time.Millisecond // half of the next one while others are expected
	lastPause  = 1280 * time.Millisecond
)

// NewLate returns a Late that tells hint to look; its Run does the work.
func NewLate(hint func(earliest task.Time)) *Late {
	return &Late{hint: hint, wake: make(chan struct{}, 1), earliest: maxHint}
}

// Expect says that a task due at this time is in an open transaction.
func (l *Late) Expect(runAt task.Time) {
	l.mu.Lock()
	l.earliest = min(l.earliest, runAt)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Run looks until ctx ends.
func (l *Late) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.wake:
		}
		if err := l.look(ctx); err != nil {
			return err
		}
	}
}

// look looks until nothing is expected any more.
func (l *Late) look(ctx context.Context) error {
	from := l.take()
	for pause := firstPause; from != maxHint && pause <= lastPause; pause *= 2 {
		if !clock.Sleep(ctx, pause) {
			return ctx.Err()
		}
		l.hint(from)
		if e := l.take(); e != maxHint {
			from, pause = min(from, e), nextPause
		}
	}
	return nil
}

// take returns what is expected since the last call.
func (l *Late) take() task.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.earliest
	l.earliest = maxHint
	return e
}
