package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
	"github.com/ax-sched/ax/task"
)

// Tasks implements store.Reader. The rows come in the order of ids; a repeated id gives one row.
func (s *Store) Tasks(ctx context.Context, ids []task.ID) ([]task.Task, error) {
	out := make([]task.Task, 0, len(ids))
	err := s.readers.do(ctx, func(c *lite.Conn) error {
		for _, id := range unique(ids) {
			err := each(c, selectTask, func(q *lite.Stmt) { q.Blob(1, id[:]) }, into(&out))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read tasks: %w", err)
	}
	return out, nil
}

// into returns a reader that appends whole rows.
func into(out *[]task.Task) func(*lite.Stmt) error {
	return func(q *lite.Stmt) error {
		t, err := readTask(q)
		*out = append(*out, t)
		return err
	}
}

// unique leaves the first of equal ids.
func unique(ids []task.ID) []task.ID {
	if slices.IsSortedFunc(ids, func(a, b task.ID) int { return bytes.Compare(a[:], b[:]) }) {
		return slices.CompactFunc(slices.Clone(ids), func(a, b task.ID) bool { return a == b })
	}
	seen := make(map[task.ID]bool, len(ids))
	out := make([]task.ID, 0, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// ByKey implements store.Reader.
func (s *Store) ByKey(ctx context.Context, kind, key string) (task.Task, error) {
	var out []task.Task
	err := s.readers.do(ctx, func(c *lite.Conn) error {
		return each(c, selectByKey, func(q *lite.Stmt) {
			q.Text(1, kind)
			q.Text(2, key)
		}, into(&out))
	})
	if err == nil && len(out) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return task.Task{}, fmt.Errorf("read task by key: %w", err)
	}
	return out[0], nil
}

// afterAll is a blob that every id comes before.
var afterAll = bytes.Repeat([]byte{0xff}, 17)

// List implements store.Reader. Queries for one of DEAD, CANCELED, SKIPPED and HELD have an index;
// others walk the ids downwards until the page is full, so a rare kind, key or job among many rows
// is slow.
func (s *Store) List(ctx context.Context, q store.Query) ([]task.Task, error) {
	before, states := afterAll, int64(math.MaxInt64)
	if !q.Before.IsZero() {
		before = q.Before[:]
	}
	query := selectList
	switch {
	case len(q.States) == 1 && q.States[0] > task.Succeeded:
		query, states = selectRest, int64(q.States[0])
	case len(q.States) > 0:
		states = 0
		for _, st := range q.States {
			states |= 1 << st
		}
	}
	out := []task.Task{}
	err := s.readers.do(ctx, func(c *lite.Conn) error {
		return each(c, query, func(st *lite.Stmt) {
			st.Blob(1, before)
			st.Int(2, states)
			st.Text(3, q.Kind)
			st.Text(4, q.Key)
			st.Text(5, q.Job)
			st.Int(6, int64(page(q.Limit, 100, 1000)))
		}, into(&out))
	})
	if err != nil {
		return nil, fmt.Errorf("list tasks: %w", err)
	}
	return out, nil
}

// page bounds a limit: 0 or less is usual, more than most is most.
func page(n, usual, most int) int {
	if n <= 0 {
		return usual
	}
	return min(n, most)
}

// History implements store.Reader.
func (s *Store) History(ctx context.Context, id task.ID) ([]task.Entry, error) {
	var out []task.Entry
	err := s.readers.do(ctx, func(c *lite.Conn) error {
		var h int64
		_, err := one(c, latestEntry, func(q *lite.Stmt) { q.Blob(1, id[:]) },
			func(q *lite.Stmt) { h = q.ColInt(0) })
		for h != 0 && err == nil {
			var ok bool
			ok, err = one(c, selectHistory, func(q *lite.Stmt) { q.Int(1, h) },
				func(q *lite.Stmt) {
					h = q.ColInt(0)
					out = append(out, readEntry(q, id))
				})
			if err == nil && !ok {
				err = fmt.Errorf("task %s: history row %d is missing: %w", id, h, store.ErrDamaged)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	slices.Reverse(out)
	return out, nil
}

func readEntry(q *lite.Stmt, id task.ID) task.Entry {
	return task.Entry{
		TaskID: id, Version: q.ColInt(1), At: task.Time(q.ColInt(2)),
		From: task.State(q.ColInt(3)), To: task.State(q.ColInt(4)),
		Event: task.Event(q.ColInt(5)), Reason: task.Reason(q.ColInt(6)),
		Attempt: int(q.ColInt(7)), Epoch: q.ColInt(8), Token: q.ColInt(9),
		Executor: q.ColText(10), ExecutionID: readID(q, 11), Actor: q.ColText(12),
		Detail: q.ColText(13),
	}
}

// Count implements store.Reader. States without a task are left out.
func (s *Store) Count(ctx context.Context, limit int64) (map[task.State]int64, error) {
	if limit <= 0 {
		limit = -1
	}
	out := make(map[task.State]int64)
	err := s.readers.do(ctx, func(c *lite.Conn) error {
		return each(c, countTasks, func(q *lite.Stmt) { q.Int(1, limit) },
			func(q *lite.Stmt) error {
				if n := q.ColInt(1); n > 0 {
					out[task.State(q.ColInt(0))] = n
				}
				return nil
			})
	})
	if err != nil {
		return nil, fmt.Errorf("count tasks: %w", err)
	}
	return out, nil
}
