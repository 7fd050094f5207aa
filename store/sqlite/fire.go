package sqlite

import (
	"context"
	"fmt"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
	"github.com/ax-sched/ax/task"
)

// Fire implements store.JobStore. Fires are taken in the order given.
func (s *Store) Fire(
	ctx context.Context, f store.Fence, fires []store.Fire,
) ([]store.FireResult, error) {
	for i := range fires {
		if err := store.CheckFire(&fires[i], insertable); err != nil {
			return nil, fmt.Errorf("fire %d of %d: %w", i+1, len(fires), err)
		}
	}
	out := make([]store.FireResult, len(fires))
	err := s.writer.do(ctx, false, len(fires), func(t *tx) error {
		if err := t.check(f); err != nil {
			return err
		}
		for i := range fires {
			var err error
			if out[i], err = t.fire(&fires[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("fire: %w", err)
	}
	return out, nil
}

// fire records one fire unless its time or its definition has passed.
func (t *tx) fire(f *store.Fire) (store.FireResult, error) {
	var version int64
	var last task.Time
	found, err := one(t.conn, jobCursor, func(q *lite.Stmt) { q.Blob(1, f.JobID[:]) },
		func(q *lite.Stmt) { version, last = q.ColInt(0), task.Time(q.ColInt(1)) })
	switch {
	case err != nil:
		return store.FireResult{}, err
	case !found || version != f.Version:
		return store.FireResult{Status: store.JobChanged}, nil
	case f.Task.FireTime <= last:
		return store.FireResult{Status: store.AlreadyFired}, nil
	}
	if f.Replace != nil {
		if _, err := t.apply(f.Replace); err != nil {
			return store.FireResult{}, err
		}
	}
	event, runs := task.Fire, int64(1)
	if f.Task.State == task.Skipped {
		event, runs = task.FireSkip, 0
	}
	in, err := t.insert(&f.Task, event)
	if err != nil {
		return store.FireResult{}, err
	}
	lastTask := f.Last
	if lastTask.IsZero() {
		lastTask = in.ID
	}
	_, err = t.run(moveCursor, func(q *lite.Stmt) {
		q.Blob(1, f.JobID[:])
		q.Int(2, int64(f.Task.FireTime))
		q.Blob(3, lastTask[:])
		q.Int(4, runs)
	})
	return store.FireResult{Status: store.Fired, Row: in}, err
}
