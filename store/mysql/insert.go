package mysql

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
	"github.com/ax-sched/ax/task"
)

// The most rows and bytes of one transaction, and what the columns hold.
const (
	mostRows  = wire.MostRows
	mostBytes = 2 << 20 // twice as much in hexadecimal digits; servers take 16 MB and more

	longName = wire.LongName
	longText = wire.LongText
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
		return nil, fmt.Errorf("insert: %w", wire.Explain(c.err))
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
	for _, f := range [...]struct {
		name, text string
		most       int
	}{
		{"kind", t.Kind, longName}, {"group", t.Group, longName}, {"job", t.Job, longName},
		{"key", t.Key, longText}, {"overlap key", t.OverlapKey, longText},
		{"retry policy", t.RetryPolicy, 1<<16 - 1}, {"owner service", t.OwnerService, longText},
		{"executor", t.Executor, longText},
	} {
		if err := wire.Fits(f.name, f.text, f.most); err != nil {
			return err
		}
	}
	return nil
}

// insertBatch runs the calls that waited together: one transaction for each fence among them, which
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

// insertCalls inserts for callers with one fence. Those whose key a foreign transaction holds are
// put aside; if it is not seen which they are, the calls are halved until it is found.
func (s *Store) insertCalls(ctx context.Context, calls []*insertCall) {
	err := s.insertOn(ctx, s.flusher, calls)
	switch {
	case wire.Number(err) == wire.NumLockWait && len(calls) == 1:
		calls[0].slow = true
	case wire.Number(err) == wire.NumLockWait:
		for _, part := range s.withoutOpen(ctx, calls) {
			s.insertCalls(ctx, part)
		}
	default:
		for _, c := range calls {
			c.err = err
		}
	}
}

// insertOn inserts the tasks of all calls in one transaction.
func (s *Store) insertOn(ctx context.Context, l line, calls []*insertCall) error {
	rows := gather(calls)
	careful := slices.ContainsFunc(rows, func(r *newRow) bool { return r.Key != "" })
	return s.tx(ctx, l, calls[0].fence, func(c *conn) error {
		b := inserter{c: c, careful: careful}
		careful = true // a second time it must look first
		return b.insertAll(ctx, rows)
	})
}

// newRow is a task to insert and where its answer goes.
type newRow struct {
	*task.Task
	out *store.Inserted
}

func (r *newRow) key() uniqueKey { return uniqueKey{r.Kind, r.Key} }

func (r *newRow) size() int {
	return 1000 + len(r.Payload) + len(r.Result) + len(r.Error) + len(r.Labels)*100
}

// gather lists the rows of calls in the order of the calls, which decides between equal keys.
func gather(calls []*insertCall) (rows []*newRow) {
	for _, c := range calls {
		for i := range c.tasks {
			rows = append(rows, &newRow{&c.tasks[i], &c.out[i]})
		}
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

// inserter inserts rows in an open transaction.
type inserter struct {
	c *conn
	// careful: it looks first for what is there. Else it writes at once, and an id or a key that is
	// there fails the transaction, which is then made again with care.
	careful bool
	fires   bool // the events are those of fires
	kept    []keptKey
}

// insertAll inserts rows part by part.
func (b *inserter) insertAll(ctx context.Context, rows []*newRow) error {
	for _, part := range cut(rows, (*newRow).size) {
		if err := b.insert(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// insert inserts rows that fit into one statement, and answers them.
func (b *inserter) insert(ctx context.Context, rows []*newRow) error {
	b.kept = b.kept[:0]
	fresh := rows
	if b.careful {
		var err error
		if fresh, err = b.choose(ctx, rows); err != nil {
			return err
		}
	} else {
		for _, r := range rows {
			if r.Unique != task.UniqueLive {
				b.kept = append(b.kept, keptKey{r, false})
			}
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	return b.write(ctx, fresh)
}

// write writes new rows, in the order of locks: rows by id, then keys.
func (b *inserter) write(ctx context.Context, rows []*newRow) error {
	sorted := slices.Clone(rows)
	slices.SortFunc(sorted, func(x, y *newRow) int {
		return cmp.Compare(
			string(x.ID[:]), string(y.ID[:]))
	})
	tasks, specs, said := &args{}, &args{}, &args{}
	for _, a := range []*args{tasks, specs, said} {
		a.Rows(len(rows))
	}
	for _, r := range sorted {
		m := r.Mutable
		m.Resolve(b.c.Now)
		*r.out = store.Inserted{ID: r.ID, State: m.State, Version: 1, RunAt: m.RunAt, At: b.c.Now}
		b.taskArgs(tasks, r, &m)
		if err := b.specArgs(specs, r, m.RunAt); err != nil {
			return err
		}
		said.Entry(r.ID, 1, b.c.Now, &task.Move{Event: b.event(m.State), To: m.State,
			Reason: m.Reason}, &m)
	}
	for _, w := range []struct {
		v verb
		a *args
	}{{insertTasks, tasks}, {insertSpecs, specs}, {insertHistory, said}} {
		if _, err := b.c.Exec(ctx, w.v, w.a); err != nil {
			return err
		}
	}
	return b.writeKeys(ctx, rows)
}

func (b *inserter) event(s task.State) task.Event {
	switch {
	case b.fires && s == task.Skipped:
		return task.FireSkip
	case b.fires:
		return task.Fire
	case s == task.Running:
		return task.SubmitClaimed
	}
	return task.Submit
}

func (b *inserter) taskArgs(a *args, r *newRow, m *task.Mutable) {
	a.ID(r.ID)
	a.Text(r.Group)
	a.Int(int64(r.Bucket))
	a.Text(r.Kind)
	a.IntOrNull(rest(m.State))
	a.Int(1)
	a.Time(b.c.Now)
	a.Time(r.ExpiresAt)
	a.IntOrNull(waits(m.State, r.ExpiresAt))
	a.Mutable(m)
}

func (b *inserter) specArgs(a *args, r *newRow, runAt task.Time) error {
	labels, err := store.FormatLabels(r.Labels)
	if err != nil {
		return err
	}
	fire := r.FireTime
	if fire == task.StoreNow {
		fire = runAt
	}
	a.ID(r.ID)
	a.Text(r.Key)
	a.ID(r.JobID)
	a.Text(r.Job)
	a.Time(fire)
	a.Time(r.FireFrom)
	a.Int(int64(r.FireCount))
	if r.FireCount > 0 {
		a.Time(fire)
	} else {
		a.Bytes(nil)
	}
	a.Int(int64(r.Overlap))
	a.Text(r.OverlapKey)
	a.Int(int64(r.MaxRetries))
	a.Int(int64(r.Timeout))
	a.Text(r.RetryPolicy)
	a.Text(r.OwnerService)
	a.Text(labels)
	a.Time(b.c.Now)
	a.Int(int64(r.OnUnknown))
	a.Int(int64(r.MaxLateness))
	a.Int(int64(r.MaxLifetime))
	a.Bytes(r.Payload)
	return nil
}
