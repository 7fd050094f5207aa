package sqlite

import (
	"context"
	"fmt"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
	"github.com/ax-sched/ax/task"
)

// Insert implements store.Inserter.
func (s *Store) Insert(
	ctx context.Context, f store.Fence, tasks []task.Task,
) ([]store.Inserted, error) {
	for i := range tasks {
		if err := insertable(&tasks[i]); err != nil {
			return nil, fmt.Errorf("insert task %d of %d: %w", i+1, len(tasks), err)
		}
	}
	out := make([]store.Inserted, len(tasks))
	err := s.writer.do(ctx, false, len(tasks), func(t *tx) error {
		if err := t.check(f); err != nil {
			return err
		}
		for i := range tasks {
			event := task.Submit
			if tasks[i].State == task.Running {
				event = task.SubmitClaimed
			}
			var err error
			if out[i], err = t.insert(&tasks[i], event); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("insert: %w", err)
	}
	return out, nil
}

// insertable refuses what the contract or the table's checks do.
func insertable(t *task.Task) error {
	if !t.Bucket.Valid() {
		return &task.InputError{Field: "priority", Reason: "is not one of the four buckets"}
	}
	return store.CheckInsert(t)
}

// insert makes a row with its first history entry, unless its id or its key exists. The id comes
// first: a repeat after a lost answer is no duplicate, whoever has the key by now.
func (t *tx) insert(tk *task.Task, event task.Event) (store.Inserted, error) {
	labels, err := store.FormatLabels(tk.Labels)
	if err != nil {
		return store.Inserted{}, err
	}
	n, err := t.nextTask()
	if err != nil {
		return store.Inserted{}, err
	}
	h, err := t.nextEntries(1)
	if err != nil {
		return store.Inserted{}, err
	}
	m := tk.Mutable
	m.Resolve(t.now)
	made, err := t.run(insertTask, func(s *lite.Stmt) {
		bindHot(s, &m, 1, h, t.now)
		s.Int(26, n)
		s.Blob(27, tk.ID[:])
		s.Text(28, tk.Group)
		s.Int(29, int64(tk.Bucket))
		s.Text(30, tk.Kind)
		bindOption(s, 31, int64(tk.ExpiresAt))
	})
	if err != nil {
		return store.Inserted{}, err
	}
	if made == 0 {
		return t.existing(tk.ID)
	}
	if tk.Key != "" {
		if in, taken, err := t.takeUnique(tk, n); taken || err != nil {
			return in, err
		}
		if tk.Unique != task.UniqueLive {
			if in, taken, err := t.keepKey(tk, n); taken || err != nil {
				return in, err
			}
		}
	}
	_, err = t.run(insertSpec, func(s *lite.Stmt) {
		bindSpec(s, n, tk, labels, t.now)
		if tk.FireTime == task.StoreNow {
			s.Int(5, int64(m.RunAt))
		}
	})
	if err != nil {
		return store.Inserted{}, err
	}
	move := task.Move{Event: event, To: m.State, Reason: m.Reason}
	if err := t.record(n, h, 0, 1, &move, &m); err != nil {
		return store.Inserted{}, err
	}
	t.know(tk.ID, &found{n: n, version: 1, hist: h, state: m.State, runAt: m.RunAt,
		execution: m.ExecutionID})
	return store.Inserted{ID: tk.ID, State: m.State, Version: 1, RunAt: m.RunAt, At: t.now}, nil
}

// existing answers an insert whose id is there already.
func (t *tx) existing(id task.ID) (store.Inserted, error) {
	in := store.Inserted{ID: id, At: t.now}
	_, err := one(t.conn, findTask, func(s *lite.Stmt) { s.Blob(1, id[:]) }, func(s *lite.Stmt) {
		in.State, in.Version = task.State(s.ColInt(1)), s.ColInt(2)
		in.RunAt = task.Time(s.ColInt(4))
	})
	return in, err
}

// takeUnique takes the task's (kind, key), or answers with the live task that has it and takes
// row n back.
func (t *tx) takeUnique(tk *task.Task, n int64) (in store.Inserted, taken bool, err error) {
	got, err := t.run(takeUnique, func(s *lite.Stmt) {
		s.Text(1, tk.Kind)
		s.Text(2, tk.Key)
		s.Int(3, n)
	})
	if err != nil || got == 1 {
		return in, false, err
	}
	in.Duplicate, in.At = true, t.now
	_, err = one(t.conn, findUnique, func(s *lite.Stmt) {
		s.Text(1, tk.Kind)
		s.Text(2, tk.Key)
	}, func(s *lite.Stmt) {
		in.ID, in.State = readID(s, 0), task.State(s.ColInt(1))
		in.Version, in.RunAt = s.ColInt(2), task.Time(s.ColInt(3))
	})
	if err == nil {
		_, err = t.run(dropTask, func(s *lite.Stmt) { s.Int(1, n) })
	}
	return in, true, err
}

// record writes history row h of task n, which comes after row prev.
func (t *tx) record(n, h, prev, version int64, mv *task.Move, m *task.Mutable) error {
	s, err := t.conn.Stmt(insertHistory)
	if err != nil {
		return err
	}
	s.Int(1, h)
	s.Int(2, prev)
	s.Int(3, n)
	s.Int(4, version)
	s.Int(5, int64(t.now))
	s.Int(6, int64(mv.From))
	s.Int(7, int64(mv.To))
	s.Int(8, int64(mv.Event))
	s.Int(9, int64(mv.Reason))
	s.Int(10, int64(m.Attempt))
	s.Int(11, m.Epoch)
	s.Int(12, m.Token)
	s.Text(13, m.Executor)
	bindID(s, 14, &m.ExecutionID)
	s.Text(15, mv.Actor)
	s.Text(16, mv.Detail)
	return s.Run()
}
