package ax

import (
	"context"
	"fmt"

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
