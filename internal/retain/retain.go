// Package retain deletes what has been finished for long enough, page by page, beside the work of
// the leader.
package retain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Config says how a Retainer works; all fields are required.
type Config struct {
	Store  store.Pruner
	Fence  store.Fence
	Keep   store.Retention
	Now    func() task.Time     // estimate of the store's time
	Since  func() time.Duration // a clock that only moves forward
	Failed func(error)
}

const (
	// page is how many tasks are looked at in one go.
	page = 500
	// share is how much longer a pause is than the page before it took: 5 % of one connection.
	share = 19
	// hurry takes the place of share while there is much to delete: 20 %.
	hurry = 4
	// patience is how long a walk that deletes most of what it sees may take before it hurries.
	patience = 10 * time.Minute
	// breath is the shortest pause between two pages.
	breath = 20 * time.Millisecond
	// A walk begins every hour, or more often where tasks stay for a few hours only.
	longest, shortest = time.Hour, time.Minute
	// ahead is how far the clock of a process that makes ids may be in front of the store's.
	ahead = time.Hour
)

// Retainer walks the table from the oldest id on, again and again, for the time of one leader's
// term. It remembers nothing but its place, so a new leader begins with a new walk.
//
// A walk leaves out the ids that were made too lately for their tasks to be over: an id is made
// before its task, so none of those can have been finished for long enough. Each page also removes
// kept keys whose end has passed, and the last one comes again while there are many; where every
// task stays that is all it does.
type Retainer struct {
	cfg   Config
	least time.Duration // the shortest time that any task stays
	place task.ID       // the walk goes on after it
	tail  bool          // the walk has come to the ids of the future
	began time.Duration
}

// New returns a Retainer whose walk has not begun.
func New(cfg Config) *Retainer { return &Retainer{cfg: cfg, least: cfg.Keep.Shortest()} }

// Run deletes until ctx ends or a newer leader exists. The first walk begins after a minute: a new
// leader has better things to do.
func (r *Retainer) Run(ctx context.Context) error {
	timer := time.NewTimer(shortest)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		pause, err := r.runOnce(ctx)
		switch {
		case errors.Is(err, store.ErrFenced):
			return err
		case err != nil:
			r.cfg.Failed(fmt.Errorf("retention: %w", err))
			pause = shortest
		}
		timer.Reset(pause)
	}
}

// runOnce deletes what is over in the next page and returns how long to pause.
func (r *Retainer) runOnce(ctx context.Context) (time.Duration, error) {
	ctx, cancel := clock.Limit(ctx)
	defer cancel()
	start := r.cfg.Since()
	if r.place.IsZero() {
		r.began = start
		if r.least < 0 { // every task stays: look at none
			r.place, r.tail = none(), true
		}
	}
	p := store.Prune{After: r.place, Limit: page, Keep: r.cfg.Keep}
	if !r.tail {
		p.Until = last(r.cfg.Now().Add(-r.least))
	}
	out, err := r.cfg.Store.Prune(ctx, r.cfg.Fence, p)
	if err != nil {
		return 0, err
	}
	end := r.cfg.Since()
	switch {
	case !out.Next.IsZero():
		r.place = out.Next
	case !r.tail:
		r.place, r.tail = last(r.cfg.Now().Add(ahead)), true
	case out.Keys == page: // and there may be more of them
	default:
		r.place, r.tail = task.ID{}, false
		every := min(max(r.least/10, shortest), longest)
		if r.least < 0 {
			every = longest
		}
		return max(every-(end-r.began), shortest), nil
	}
	rest := share * (end - start)
	if out.Deleted > page/2 && end-r.began > patience {
		rest = hurry * (end - start)
	}
	return max(rest, breath), nil
}

// none is the last id of all: no task comes after it.
func none() (id task.ID) {
	for i := range id {
		id[i] = 0xff
	}
	return id
}

// last is the last id that is made at an instant.
func last(at task.Time) task.ID {
	ff := [10]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	return task.NewID(int64(at)/1000, ff)
}
