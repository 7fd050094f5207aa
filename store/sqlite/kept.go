package sqlite

import (
	"context"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
	"github.com/ax-sched/ax/task"
)

// keepKey keeps the (kind, key) of a task beyond its life, or answers with the task for which it
// is kept and takes row n and its unique key back. A repeat of that task's own insert, after it
// was deleted, is no duplicate.
func (t *tx) keepKey(tk *task.Task, n int64) (in store.Inserted, taken bool, err error) {
	got, err := t.run(keepKey, func(s *lite.Stmt) {
		s.Text(1, tk.Kind)
		s.Text(2, tk.Key)
		s.Blob(3, tk.ID[:])
		bindOption(s, 4, int64(tk.Unique.Until(t.now)))
		s.Int(5, int64(t.now))
	})
	if err != nil || got == 1 {
		return in, false, err
	}
	in.At = t.now
	bindKey := func(s *lite.Stmt) {
		s.Text(1, tk.Kind)
		s.Text(2, tk.Key)
	}
	// The row goes first: it may be the repeat of the insert of a task that was deleted.
	if _, err = t.run(dropUnique, bindKey); err == nil {
		_, err = t.run(dropTask, func(s *lite.Stmt) { s.Int(1, n) })
	}
	if err != nil {
		return in, true, err
	}
	_, err = one(t.conn, keeper, bindKey, func(s *lite.Stmt) {
		in.ID, in.State = readID(s, 0), task.State(s.ColInt(1))
		in.Version, in.RunAt = s.ColInt(2), task.Time(s.ColInt(3))
	})
	in.Duplicate = in.ID != tk.ID
	return in, true, err
}

// keepKey is that of tx through database/sql.
func (c *caller) keepKey(ctx context.Context, t *task.Task, n int64) (
	in store.Inserted, taken bool, err error) {
	got, err := c.exec(ctx, keepKeyTx, t.Kind, t.Key, t.ID[:], int64(t.Unique.Until(c.now)),
		int64(c.now))
	if err != nil || got == 1 {
		return in, false, err
	}
	if _, err = c.exec(ctx, dropUniqueTx, t.Kind, t.Key); err == nil {
		_, err = c.exec(ctx, dropTaskTx, n)
	}
	in, err = c.found(ctx, true, err, keeperTx, t.Kind, t.Key)
	in.Duplicate = in.ID != t.ID
	return in, true, err
}

// pruneKept removes kept keys whose end has passed, at most limit of them, and says how many. Most
// of the time there are none, so a reader looks first.
func (s *Store) pruneKept(ctx context.Context, f store.Fence, limit int) (n int, err error) {
	found := false
	err = s.readers.do(ctx, func(c *lite.Conn) (err error) {
		found, err = one(c, keptOver, func(q *lite.Stmt) { q.Int(1, int64(s.opts.now())) }, nothing)
		return err
	})
	if err != nil || !found {
		return 0, err
	}
	err = s.writer.do(ctx, false, limit, func(t *tx) error {
		if err := t.check(f); err != nil {
			return err
		}
		n, err = t.run(pruneKept, func(q *lite.Stmt) {
			q.Int(1, int64(t.now))
			q.Int(2, int64(limit))
		})
		return err
	})
	return n, err
}
