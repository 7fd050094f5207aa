package ax

import (
	"context"
	"fmt"

	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Get returns a task as its row is now, or [ErrNotFound].
func (s *Scheduler) Get(ctx context.Context, id ID) (task.Task, error) {
	rows, err := s.store.Tasks(ctx, []task.ID{id})
	if err == nil && len(rows) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return task.Task{}, fmt.Errorf("get task %s: %w", id, err)
	}
	return rows[0], nil
}

// Filter selects tasks to list; zero fields select all.
type Filter = store.Query

// List returns tasks without payloads and results, the newest first.
func (s *Scheduler) List(ctx context.Context, f Filter) ([]task.Task, error) {
	rows, err := s.store.List(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("list tasks: %w", err)
	}
	return rows, nil
}

// History returns every move of a task, in order and without gaps.
func (s *Scheduler) History(ctx context.Context, id ID) ([]task.Entry, error) {
	h, err := s.store.History(ctx, id)
	if err == nil && len(h) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("history of task %s: %w", id, err)
	}
	return h, nil
}

// By says who acts, and why; both go to the history.
type By struct {
	Actor  string
	Reason string
}

// cancelTries is how often Cancel decides again when the task moves under it.
const cancelTries = 10

// Cancel ends a task: at once where it does not run, else its context ends with [ErrCanceled] and
// its report decides; success is still success, anything else is CANCELED and never retried.
// A task that has ended already gives [ErrConflict]; canceling twice is harmless.
func (s *Scheduler) Cancel(ctx context.Context, id ID, by By) error {
	if err := task.CheckBy(by.Actor, by.Reason); err != nil {
		return fmt.Errorf("cancel task %s: %w", id, err)
	}
	for range cancelTries {
		t, err := s.Get(ctx, id)
		if err != nil {
			return fmt.Errorf("cancel: %w", err)
		}
		if t.State == task.Canceled {
			return nil
		}
		if t.State.Final() {
			return fmt.Errorf("cancel task %s: it is %s: %w", id, t.State, ErrConflict)
		}
		tr := complete.Cancel(&t, by.Actor, by.Reason)
		if tr == nil {
			return nil // asked before
		}
		res, err := s.store.Apply(ctx, store.Fence{}, []*task.Transition{tr})
		if err != nil {
			return fmt.Errorf("cancel task %s: %w", id, err)
		}
		if res[0].Status == store.Applied {
			if t.State.Live() {
				s.engine.Load().Cancel(t.ExecutionID)
			}
			return nil
		}
	}
	return fmt.Errorf("cancel task %s: it moves too fast; try again: %w", id, ErrConflict)
}

// CancelKey cancels the live task with this kind and key, or returns [ErrNotFound].
func (s *Scheduler) CancelKey(ctx context.Context, kind, key string, by By) error {
	t, err := s.store.ByKey(ctx, kind, key)
	if err != nil {
		return fmt.Errorf("cancel %s %q: %w", kind, key, err)
	}
	return s.Cancel(ctx, t.ID, by)
}
