package postgres

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/postgres/internal/wire"
	"github.com/ax-sched/ax/task"
)

// lastID is behind all ids that exist.
var lastID = task.ID{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// read runs one statement of the rare or reading kind, on a reader's connection.
func (s *Store) read(ctx context.Context, what string, v verb, a *args, each func(*row)) error {
	return s.on(ctx, s.readers, what, v, a, each)
}

// readAll is read for statements that return tasks.
func (s *Store) readAll(ctx context.Context, what string, v verb, a *args) ([]task.Task, error) {
	var out []task.Task
	err := s.read(ctx, what, v, a, func(r *row) {
		if t := r.Task(); r.Err == nil {
			out = append(out, t)
		}
	})
	return out, err
}

// Now implements store.Clock.
func (s *Store) Now(ctx context.Context) (now task.Time, err error) {
	err = s.read(ctx, "read clock", readClock, &args{}, func(r *row) { now = r.Time() })
	return now, err
}

// Tasks implements store.Reader. Of more than 1,000 ids it reads 1,000 at a time.
func (s *Store) Tasks(ctx context.Context, ids []task.ID) ([]task.Task, error) {
	all := make([]task.Task, 0, len(ids))
	if len(ids) > mostRows { // an id in two parts would give two rows
		ids = slices.Clone(ids)
		slices.SortFunc(ids, func(a, b task.ID) int { return bytes.Compare(a[:], b[:]) })
		ids = slices.Compact(ids)
	}
	for _, part := range cut(ids, func(task.ID) int { return 0 }) {
		a := &args{}
		a.IDs(len(part), func(i int) task.ID { return part[i] })
		ts, err := s.readAll(ctx, "read tasks", readTasks, a)
		if err != nil {
			return nil, err
		}
		all = append(all, ts...)
	}
	return all, nil
}

// ByKey implements store.Reader.
func (s *Store) ByKey(ctx context.Context, kind, key string) (task.Task, error) {
	if !wire.Plain(kind) || !wire.Plain(key) {
		return task.Task{}, fmt.Errorf("task %s %q: %w", kind, key, store.ErrNotFound)
	}
	a := &args{}
	a.Text(kind)
	a.Text(key)
	ts, err := s.readAll(ctx, "read task by key", readByKey, a)
	if err != nil {
		return task.Task{}, err
	}
	if len(ts) == 0 {
		return task.Task{}, fmt.Errorf("task %s %q: %w", kind, key, store.ErrNotFound)
	}
	return ts[0], nil
}

// List implements store.Reader. Queries for a job, or for one of PENDING, DEAD, CANCELED, SKIPPED
// and HELD, have an index; others walk from the newest task on until the page is full.
func (s *Store) List(ctx context.Context, q store.Query) ([]task.Task, error) {
	if !wire.Plain(q.Kind) || !wire.Plain(q.Key) || !wire.Plain(q.Job) {
		return nil, nil // no task has such a text
	}
	limit := q.Limit
	if limit <= 0 {
		limit = 100
	}
	v := listTasks
	switch {
	case q.Job != "":
		v = listJob
	case len(q.States) == 1 && rests(q.States[0]):
		v = listRest
	}
	a := &args{}
	before := q.Before
	if before.IsZero() {
		before = lastID
	}
	a.ID(before)
	a.Int2s(len(q.States), func(i int) int { return int(q.States[i]) })
	a.Text(q.Kind)
	a.Text(q.Key)
	a.Int8(int64(min(limit, 1000)))
	if v == listJob {
		a.Text(q.Job)
	}
	return s.readAll(ctx, "list tasks", v, a)
}

// rests reports whether the index ax_tasks_rest has the tasks in state st.
func rests(st task.State) bool {
	switch st {
	case task.Pending, task.Dead, task.Canceled, task.Skipped, task.Held:
		return true
	}
	return false
}

// History implements store.Reader.
func (s *Store) History(ctx context.Context, id task.ID) ([]task.Entry, error) {
	var out []task.Entry
	a := &args{}
	a.ID(id)
	err := s.read(ctx, "read history", readHistory, a, func(r *row) {
		out = append(out, task.Entry{TaskID: id, Version: r.Int8(), At: r.Time(),
			From: task.State(r.Int2()), To: task.State(r.Int2()), Event: task.Event(r.Int2()),
			Actor: r.Text(), Reason: task.Reason(r.Int2()), ExecutionID: r.ID(),
			Attempt: r.Int4(), Executor: r.Text(), Epoch: r.Int8(), Token: r.Int8(),
			Detail: r.Text()})
	})
	return out, err
}

// Count implements store.Reader. States without a task are left out.
func (s *Store) Count(ctx context.Context, limit int64) (map[task.State]int64, error) {
	out := make(map[task.State]int64)
	a := &args{}
	a.Int8OrNull(max(limit, 0))
	err := s.read(ctx, "count tasks", countTasks, a, func(r *row) {
		st, n := task.State(r.Int4()), r.Int8()
		if n > 0 {
			out[st] = n
		}
	})
	return out, err
}
