package complete

import (
	"context"
	"errors"
	"fmt"

	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// LiveError refuses a new run of a task because another live one has its kind and key. It matches
// ErrConflict.
type LiveError struct {
	Live task.ID // the other one
}

func (e *LiveError) Error() string {
	return fmt.Sprintf("task %s is live with the same kind and key", e.Live)
}

// Unwrap returns ErrConflict.
func (e *LiveError) Unwrap() error { return ErrConflict }

// tries is how often an act is decided again when the task moves under it.
const tries = 10

// busyTries is how often an act waits for a transaction that holds the row, such as one in which a
// handler completes the task; with the lock time-outs of the stores some ten seconds.
const busyTries = 60

// Perform does what a person wishes with a task, by one conditional write, and returns the row as
// it is then; nil if there was nothing to do.
func Perform(ctx context.Context, st store.Store, id task.ID, by By, do Act) (*task.Task, error) {
	if err := task.CheckBy(by.Actor, by.Reason); err != nil {
		return nil, err
	}
	for n, busy := 0, 0; n < tries; n++ {
		rows, err := st.Tasks(ctx, []task.ID{id})
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			return nil, store.ErrNotFound
		}
		t := &rows[0]
		tr, err := do(t, by)
		if err != nil || tr == nil {
			return nil, err
		}
		res, err := st.Apply(ctx, store.Fence{}, []*task.Transition{tr})
		if err != nil {
			return nil, err
		}
		switch res[0].Status {
		case store.Applied:
			res[0].Into(t, tr)
			return t, nil
		case store.Locked:
			if busy++; busy > busyTries || !clock.Sleep(ctx, lockedPause/2) {
				return nil, fmt.Errorf("a transaction holds the row; try again: %w", store.ErrBusy)
			}
			n-- // nothing has moved
		case store.KeyBusy: // only a new run takes a key here, the unique one
			live, err := st.ByKey(ctx, t.Kind, t.Key)
			if err == nil {
				return nil, &LiveError{live.ID}
			}
			if !errors.Is(err, store.ErrNotFound) { // else it has ended just now
				return nil, err
			}
		}
	}
	return nil, fmt.Errorf("it moves too fast; try again: %w", ErrConflict)
}
