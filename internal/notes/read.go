package notes

import (
	"context"
	"errors"
	"fmt"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

var errCannot = errors.New("this store keeps no progress and no logs; it is no store.Noter")

// Progress reads what is kept of one task, or returns store.ErrNotFound.
func Progress(ctx context.Context, st store.Store, id task.ID) (task.Progress, error) {
	var ps []task.Progress
	n, ok := store.As[store.Noter](st)
	err := errCannot
	if ok {
		ps, err = n.Notes(ctx, []task.ID{id})
	}
	if err == nil && len(ps) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return task.Progress{}, fmt.Errorf("progress of task %s: %w", id, err)
	}
	return ps[0], nil
}

// Logs reads a page of the log of a task.
func Logs(ctx context.Context, st store.Store, q store.LogQuery) (ls []task.LogLine, err error) {
	n, ok := store.As[store.Noter](st)
	err = errCannot
	switch {
	case q.Task.IsZero():
		err = &task.InputError{Field: "task", Reason: "is not set; whose log shall be read?"}
	case ok:
		ls, err = n.Logs(ctx, q)
	}
	if err != nil {
		return nil, fmt.Errorf("log of task %s: %w", q.Task, err)
	}
	return ls, nil
}
