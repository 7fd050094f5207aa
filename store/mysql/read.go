package mysql

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Tasks implements store.Reader. A repeated id gives one row.
func (s *Store) Tasks(ctx context.Context, ids []task.ID) ([]task.Task, error) {
	out := make([]task.Task, 0, len(ids))
	err := s.reading(ctx, "read tasks", func(c *conn) error {
		sorted := slices.Clone(ids)
		slices.SortFunc(sorted, func(a, b task.ID) int { return bytes.Compare(a[:], b[:]) })
		for part := range slices.Chunk(slices.Compact(sorted), mostRows) {
			a := &args{}
			a.IDs(part)
			if err := c.Each(ctx, selectTasks, a, into(&out)); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// into returns a reader that appends whole rows.
func into(out *[]task.Task) func(*row) {
	return func(r *row) { *out = append(*out, r.Task()) }
}

// ByKey implements store.Reader.
func (s *Store) ByKey(ctx context.Context, kind, key string) (task.Task, error) {
	var out []task.Task
	a := &args{}
	a.Text(kind)
	a.Text(key)
	err := s.read(ctx, "read task by key", selectByKey, a, into(&out))
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("read task by key: %w", store.ErrNotFound)
	}
	if err != nil {
		return task.Task{}, err
	}
	return out[0], nil
}

// afterAll is what every id comes before.
var afterAll = string(bytes.Repeat([]byte{0xff}, 17))

// List implements store.Reader. Queries for one of DEAD, CANCELED, SKIPPED and HELD have an index;
// others walk the ids downwards until the page is full, so a rare kind, key or job among many rows
// is slow.
func (s *Store) List(ctx context.Context, q store.Query) ([]task.Task, error) {
	before, states := afterAll, int64(math.MaxInt64)
	if !q.Before.IsZero() {
		before = string(q.Before[:])
	}
	v := selectList
	switch {
	case len(q.States) == 1 && rest(q.States[0]) != 0:
		v, states = selectRest, int64(q.States[0])
	case len(q.States) > 0:
		states = 0
		for _, st := range q.States {
			states |= 1 << st
		}
	}
	a := &args{}
	a.Text(before)
	a.Int(states)
	for _, text := range [...]string{q.Kind, q.Key, q.Job} {
		a.Text(text)
		a.Text(text)
	}
	a.Int(int64(page(q.Limit, 100, 1000)))
	out := []task.Task{}
	err := s.read(ctx, "list tasks", v, a, into(&out))
	return out, err
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
	a := &args{}
	a.Text(string(id[:]))
	err := s.read(ctx, "read history", selectHistory, a, func(r *row) {
		out = append(out, task.Entry{
			TaskID: id, Version: r.Int(), At: r.Time(), From: task.State(r.Int()),
			To: task.State(r.Int()), Event: task.Event(r.Int()), Reason: task.Reason(r.Int()),
			Attempt: int(r.Int()), Epoch: r.Int(), Token: r.Int(), Executor: r.Text(),
			ExecutionID: r.ID(), Actor: r.Text(), Detail: r.Text(),
		})
	})
	return out, err
}

// resting are the states that rows are in.
var resting = []task.State{task.Pending, task.Scheduled, task.Dispatching, task.Running,
	task.Succeeded, task.Skipped, task.Canceled, task.Dead, task.Held}

// Count implements store.Reader. States without a task are left out.
func (s *Store) Count(ctx context.Context, limit int64) (map[task.State]int64, error) {
	if limit <= 0 {
		limit = math.MaxInt64
	}
	a := &args{}
	a.Rows(len(resting))
	for _, st := range resting {
		a.Int(int64(st))
		a.Int(int64(st))
		a.Int(limit)
	}
	out := make(map[task.State]int64)
	err := s.read(ctx, "count tasks", countTasks, a, func(r *row) {
		if st, n := task.State(r.Int()), r.Int(); n > 0 {
			out[st] = n
		}
	})
	return out, err
}
