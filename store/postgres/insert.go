package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/postgres/internal/wire"
	"github.com/ax-sched/ax/task"
)

// insertCall is one call of Insert on its way through the group.
type insertCall struct {
	fence store.Fence
	tasks []task.Task
	out   []store.Inserted
	slow  bool // it met the open key of a foreign transaction
	err   error
}

// Insert implements store.Inserter. Calls that wait at the same time share a commit.
func (s *Store) Insert(
	ctx context.Context, f store.Fence, tasks []task.Task,
) ([]store.Inserted, error) {
	for i := range tasks {
		if err := insertable(&tasks[i]); err != nil {
			return nil, fmt.Errorf("insert task %d of %d: %w", i+1, len(tasks), err)
		}
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	c := &insertCall{fence: f, tasks: tasks, out: make([]store.Inserted, len(tasks))}
	if s.apart.Meets(tasks) {
		c.slow = true // another caller waits for the same key already
	} else if err := s.inserts.Do(ctx, c); err != nil {
		return nil, fmt.Errorf("insert: %w", err)
	}
	if c.slow {
		c.err = s.insertSlow(ctx, c)
	}
	if c.err != nil {
		return nil, fmt.Errorf("insert: %w", explain(c.err))
	}
	return c.out, nil
}

// insertable refuses what must never reach the table, or would fail a batch of others there.
func insertable(t *task.Task) error {
	if err := store.CheckInsert(t); err != nil {
		return err
	}
	if !t.Bucket.Valid() {
		return &task.InputError{Field: "bucket",
			Reason: fmt.Sprintf("%d is none of 1 to 4; use task.Normal", t.Bucket)}
	}
	for _, f := range [...]struct{ name, text string }{
		{"kind", t.Kind}, {"key", t.Key}, {"group", t.Group}, {"job", t.Job},
		{"overlap key", t.OverlapKey}, {"retry policy", t.RetryPolicy},
		{"owner service", t.OwnerService}, {"executor", t.Executor},
	} {
		if !wire.Plain(f.text) {
			return &task.InputError{Field: f.name,
				Reason: "has a NUL or is not valid UTF-8; PostgreSQL cannot hold it"}
		}
	}
	return nil
}

// insertBatch runs the calls that waited together: one statement for each fence among them, which
// is one in practice. It never fails as a whole.
func (s *Store) insertBatch(ctx context.Context, calls []*insertCall) error {
	for len(calls) > 0 {
		f := calls[0].fence
		rest := slices.IndexFunc(calls, func(c *insertCall) bool { return c.fence != f })
		if rest < 0 {
			rest = len(calls)
		}
		s.insertCalls(ctx, calls[:rest:rest])
		calls = calls[rest:]
	}
	return nil
}

// insertCalls inserts for callers with one fence. If a lock of a foreign transaction is in the
// way, the calls are halved until it is found; it then waits alone.
func (s *Store) insertCalls(ctx context.Context, calls []*insertCall) {
	err := retry(ctx, func() error {
		return s.with(ctx, s.flusher, func(c *conn) error { return s.insertOn(ctx, c, calls) })
	})
	switch {
	case code(err) == codeLocked && len(calls) == 1:
		calls[0].slow = true
	case code(err) == codeLocked:
		half := len(calls) / 2
		s.insertCalls(ctx, calls[:half])
		s.insertCalls(ctx, calls[half:])
	default:
		for _, c := range calls {
			c.err = err
		}
	}
}

// insertOn inserts the tasks of all calls in one transaction.
func (s *Store) insertOn(ctx context.Context, c *conn, calls []*insertCall) error {
	rows := gather(calls)
	b := inserter{s: s, c: c, fence: calls[0].fence}
	parts := cut(rows, (*newRow).Size)
	if len(parts) == 1 && len(wire.Keeping(rows)) == 0 {
		return b.insert(ctx, rows)
	}
	return c.inTx(ctx, lockTimeout, func() error {
		for _, p := range parts {
			if err := b.insert(ctx, p); err != nil {
				return err
			}
		}
		return nil
	})
}

type newRow = wire.NewRow

// gather lists the rows of calls. Rows with keys come last and sorted, so that two programs that
// insert the same keys wait for each other in one direction only; of equal ones the first wins.
func gather(calls []*insertCall) []*newRow {
	n := 0
	for _, c := range calls {
		n += len(c.tasks)
	}
	all := make([]newRow, 0, n)
	rows := make([]*newRow, 0, n)
	keyed := false
	for _, c := range calls {
		for i := range c.tasks {
			all = append(all, newRow{Task: &c.tasks[i], Out: &c.out[i]})
			rows = append(rows, &all[len(all)-1])
			keyed = keyed || c.tasks[i].Key != ""
		}
	}
	if keyed {
		slices.SortStableFunc(rows, func(a, b *newRow) int {
			if c := cmp.Compare(a.Key, b.Key); c != 0 {
				return c
			}
			if a.Key == "" {
				return 0
			}
			return cmp.Compare(a.Kind, b.Kind)
		})
	}
	return rows
}

// cut divides rows into parts that fit into one statement; it gives one part at least.
func cut[T any](rows []T, size func(T) int) [][]T {
	var parts [][]T
	from, bytes := 0, 0
	for i, r := range rows {
		bytes += size(r)
		if i > from && (i-from == mostRows || bytes > mostBytes) {
			parts = append(parts, rows[from:i])
			from, bytes = i, size(r)
		}
	}
	return append(parts, rows[from:])
}

// inserter inserts parts with one time, in a transaction or a single statement.
type inserter struct {
	s     *Store
	c     *conn
	fence store.Fence
	event task.Event // 0: submit or submit_claimed, by the state
	now   task.Time  // 0 until the first statement has read the clock
	kept  []*newRow  // those that keep has just given a key
}

// insert inserts rows and answers them.
func (b *inserter) insert(ctx context.Context, rows []*newRow) error {
	for len(rows) > 0 || b.now == 0 {
		ready, err := b.keep(ctx, rows)
		if err != nil {
			return err
		}
		made, err := b.send(ctx, ready)
		if err != nil {
			return err
		}
		for _, r := range ready {
			at := r.RunAt
			if at == task.StoreNow {
				at = b.now.Add(r.RunIn)
			}
			*r.Out = store.Inserted{ID: r.ID, State: r.State, Version: 1, RunAt: at, At: b.now}
		}
		if made == len(rows) {
			return nil
		}
		if rows, err = b.explain(ctx, rows); err != nil {
			return err
		}
		// What is neither there nor prevented any more was prevented by a task that became
		// final meanwhile: once more.
	}
	return nil
}

// send inserts rows and returns how many were made.
func (b *inserter) send(ctx context.Context, rows []*newRow) (made int, err error) {
	if len(rows) == 1 && b.now == 0 && b.fence == (store.Fence{}) && wire.Usual(rows[0].Task) {
		a := newArgs(18, 1)
		a.UsualTask(rows[0].Task, b.s.hintChannel())
		err = b.c.call(ctx, insertOne, a, func(r *row) {
			b.now, made = r.Time(), 1
		})
		if err != nil || made == 1 {
			return made, err
		}
	}
	if len(rows) == 0 && b.now != 0 && b.fence == (store.Fence{}) {
		return 0, nil // no key was free
	}
	var token int64
	a := b.args(rows)
	err = b.c.call(ctx, insertTasks, a, func(r *row) {
		b.now, token, made = r.Time(), r.Int8(), r.Int4()
	})
	if err == nil && b.fence != (store.Fence{}) && token != b.fence.Token {
		err = store.ErrFenced
	}
	return made, err
}

// explain finds out why rows were not made, and returns those without a reason.
func (b *inserter) explain(ctx context.Context, rows []*newRow) ([]*newRow, error) {
	a := &args{}
	a.Places(len(rows))
	a.IDs(len(rows), func(i int) task.ID { return rows[i].ID })
	a.Texts(len(rows), func(i int) string { return rows[i].Kind })
	a.Texts(len(rows), func(i int) string { return rows[i].Key })
	a.IDs(len(rows), func(i int) task.ID { return rows[i].JobID })
	a.Int8s(len(rows), func(i int) int64 { return int64(rows[i].FireTime) })
	found, err := b.find(ctx, existing, a, rows)
	if err != nil {
		return nil, err
	}
	return b.explainKept(ctx, wire.Without(rows, found))
}

// find answers rows with what a statement finds in their way.
func (b *inserter) find(
	ctx context.Context, v verb, a *args, rows []*newRow,
) (map[*newRow]bool, error) {
	found := make(map[*newRow]bool, len(rows))
	return found, b.c.call(ctx, v, a, func(r *row) {
		to := rows[r.Int4()-1]
		in := store.Inserted{ID: r.ID(), State: task.State(r.Int2()), Version: r.Int8(),
			RunAt: r.Time(), At: b.now}
		in.Duplicate = in.ID != to.ID
		found[to], *to.Out = true, in
	})
}

// args writes the 53 parameters of insertTasks.
func (b *inserter) args(rows []*newRow) *args {
	n, d := len(rows), &wire.Dictionary{}
	a := newArgs(53, n)
	a.Int4(b.fence.Partition)
	a.Int8(b.fence.Token)
	a.Bool(b.fence != store.Fence{})
	a.Int2(int16(b.event))
	a.Int8(int64(b.now))
	a.Places(n)
	a.IDs(n, func(i int) task.ID { return rows[i].ID })
	a.Words(d, n, func(i int) string { return rows[i].Kind })
	a.Texts(n, func(i int) string { return rows[i].Key })
	a.Words(d, n, func(i int) string { return rows[i].Group })
	a.Byteas(n, func(i int) []byte { return rows[i].Payload })
	a.Int2s(n, func(i int) int { return int(rows[i].Bucket) })
	a.IDs(n, func(i int) task.ID { return rows[i].JobID })
	a.Words(d, n, func(i int) string { return rows[i].Job })
	a.Int8s(n, func(i int) int64 { return int64(rows[i].FireTime) })
	a.Int8s(n, func(i int) int64 { return int64(rows[i].FireFrom) })
	a.Int4s(n, func(i int) int { return rows[i].FireCount })
	a.Int2s(n, func(i int) int { return int(rows[i].Overlap) })
	a.Words(d, n, func(i int) string { return rows[i].OverlapKey })
	a.Int4s(n, func(i int) int { return rows[i].MaxRetries })
	a.Int8s(n, func(i int) int64 { return int64(rows[i].Timeout) })
	a.Words(d, n, func(i int) string { return rows[i].RetryPolicy })
	a.Words(d, n, func(i int) string { return rows[i].OwnerService })
	a.Words(d, n, func(i int) string { return wire.LabelText(rows[i].Labels) })
	a.Mutable(d, n, func(i int) *task.Mutable { return &rows[i].Mutable })
	a.Text(b.s.hintChannel())
	a.Dictionary(d)
	a.Int8s(n, func(i int) int64 { return int64(rows[i].ExpiresAt) })
	a.Int8s(n, func(i int) int64 { return int64(rows[i].MaxLateness) })
	a.Int8s(n, func(i int) int64 { return int64(rows[i].MaxLifetime) })
	a.Int2s(n, func(i int) int { return int(rows[i].OnUnknown) })
	return a
}
