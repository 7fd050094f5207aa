package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ax-sched/ax/internal/testdb"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
	"github.com/jackc/pgx/v5"
)

// session is a connection of somebody else's.
func session(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) }) // may be dead by then
	return c
}

func exec(t *testing.T, c *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// soon ends a wait that would otherwise last for ever in a test that fails.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// stored inserts tasks and returns them with the versions they have now.
func stored(t *testing.T, s store.Inserter, tasks []task.Task) []task.Task {
	t.Helper()
	rows, err := s.Insert(t.Context(), store.Fence{}, tasks)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tasks {
		tasks[i].Version, tasks[i].RunAt = rows[i].Version, rows[i].RunAt
	}
	return tasks
}

func claims(tasks []task.Task, token int64) []*task.Transition {
	trs := make([]*task.Transition, len(tasks))
	for i := range tasks {
		trs[i] = claim(&tasks[i], token)
	}
	return trs
}

// S17: a foreign session holds one row; all others of the batch go through, also those that take
// overlap keys, and the held one is told apart from a conflict.
func TestS17ForeignRowLockDelaysOnlyItself(t *testing.T) {
	for _, keyed := range []bool{false, true} {
		t.Run(fmt.Sprint("keyed=", keyed), func(t *testing.T) {
			dsn := testdb.Postgres(t)
			s := openStore(t, dsn)
			n := 0
			tasks := stored(t, s, makeTasks(1000, func() task.Task {
				t := plainTask()
				if n++; keyed {
					t.Overlap, t.OverlapKey = task.OverlapSkip, fmt.Sprint("key-", n)
				}
				return t
			}))
			foreign := session(t, dsn)
			exec(t, foreign, "BEGIN")
			exec(t, foreign, "SELECT FROM ax_tasks WHERE id = $1 FOR UPDATE", tasks[500].ID.String())

			token, err := s.Install(t.Context(), 0, 0, "me")
			if err != nil {
				t.Fatal(err)
			}
			fence := store.Fence{Token: token}
			rs, err := s.Apply(soon(t), fence, claims(tasks, token))
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range rs {
				want := store.Applied
				if i == 500 {
					want = store.Locked
				}
				if r.Status != want {
					t.Fatalf("task %d: %v, want %v", i, r.Status, want)
				}
			}
			exec(t, foreign, "ROLLBACK")
			rs, err = s.Apply(soon(t), fence, claims(tasks[500:501], token))
			if err != nil || rs[0].Status != store.Applied {
				t.Errorf("after the foreign transaction: %v, %v", rs, err)
			}
		})
	}
}

// A foreign transaction has inserted a unique key and stays open: the insert that wants the same
// key waits, the others of its flush do not.
func TestOpenUniqueKeyDelaysOnlyItself(t *testing.T) {
	dsn := testdb.Postgres(t)
	s := openStore(t, dsn)
	foreign := session(t, dsn)
	theirs := keyedTask()
	exec(t, foreign, "BEGIN")
	exec(t, foreign, `INSERT INTO ax_tasks (id, run_at, version, created_at, updated_at, state,
		bucket, ukey, kind, grp, key) VALUES ($1, 1, 1, 1, 1, 2, 3, true, $2, 'g', $3)`,
		theirs.ID.String(), theirs.Kind, theirs.Key)

	mine := keyedTask()
	mine.Kind, mine.Key = theirs.Kind, theirs.Key
	waits := make(chan store.Inserted, 1)
	fail := make(chan error, 40)
	insert := func(tk task.Task, to chan store.Inserted) {
		rows, err := s.Insert(soon(t), store.Fence{}, []task.Task{tk})
		if err != nil {
			fail <- err
			return
		}
		to <- rows[0]
	}
	go insert(mine, waits)
	others := make(chan store.Inserted, 32)
	for range cap(others) {
		go insert(keyedTask(), others)
	}
	for range cap(others) {
		select {
		case <-others:
		case err := <-fail:
			t.Fatal(err)
		case <-waits:
			t.Fatal("the insert did not wait for the foreign transaction")
		}
	}
	exec(t, foreign, "COMMIT")
	select {
	case r := <-waits:
		if !r.Duplicate || r.ID != theirs.ID {
			t.Errorf("answer %+v, want a duplicate of %s", r, theirs.ID)
		}
	case err := <-fail:
		t.Fatal(err)
	}
}

// The same with a key that is to stay taken. The foreign transaction has written nothing else, so
// it may be one that has inserted and ended its task, too.
func TestOpenKeptKeyDelaysOnlyItself(t *testing.T) {
	dsn := testdb.Postgres(t)
	s := openStore(t, dsn)
	for _, end := range []string{"COMMIT", "ROLLBACK"} {
		foreign := session(t, dsn)
		theirs, mine := keyedTask(), keyedTask()
		mine.Kind, mine.Key, mine.Unique = theirs.Kind, theirs.Key, task.UniqueForever
		exec(t, foreign, "BEGIN")
		exec(t, foreign, "INSERT INTO ax_kept_keys (kind, key, id) VALUES ($1, $2, $3)",
			theirs.Kind, theirs.Key, theirs.ID.String())

		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := s.Insert(ctx, store.Fence{}, []task.Task{mine}); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("while it is open: %v", err)
		}
		type answer struct {
			in  []store.Inserted
			err error
		}
		insert := func(tk task.Task, to chan answer) {
			in, err := s.Insert(soon(t), store.Fence{}, []task.Task{tk})
			to <- answer{in, err}
		}
		waits, others := make(chan answer, 1), make(chan answer, 32)
		go insert(mine, waits)
		for i := range cap(others) {
			tk := keyedTask()
			tk.Unique = task.Unique(i%2) * task.Unique(time.Hour)
			go insert(tk, others)
		}
		for range cap(others) {
			if a := <-others; a.err != nil || a.in[0].Duplicate {
				t.Errorf("beside it: %+v", a)
			}
		}
		select {
		case a := <-waits:
			t.Fatalf("the insert did not wait for the foreign transaction: %+v", a)
		default:
		}
		exec(t, foreign, end)
		want := mine.ID
		if end == "COMMIT" {
			want = theirs.ID
		}
		if a := <-waits; a.err != nil || a.in[0].ID != want ||
			a.in[0].Duplicate != (want == theirs.ID) {
			t.Errorf("after its %s: %+v; want task %s", end, a, want)
		}
	}
}

// A caller in the slow lane can give up.
func TestSlowInsertEndsWithItsContext(t *testing.T) {
	dsn := testdb.Postgres(t)
	s := openStore(t, dsn)
	foreign := session(t, dsn)
	tk := keyedTask()
	exec(t, foreign, "BEGIN")
	exec(t, foreign, `INSERT INTO ax_tasks (id, run_at, version, created_at, updated_at, state,
		bucket, ukey, kind, grp, key) VALUES ($1, 1, 1, 1, 1, 2, 3, true, $2, 'g', $3)`,
		newID().String(), tk.Kind, tk.Key)
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	if _, err := s.Insert(ctx, store.Fence{}, []task.Task{tk}); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	exec(t, foreign, "ROLLBACK")
	rows, err := s.Insert(soon(t), store.Fence{}, []task.Task{tk})
	if err != nil || rows[0].Duplicate {
		t.Errorf("after the foreign transaction: %+v, %v", rows, err)
	}
}

// A leader that was stopped in the middle of a write holds its fence; the next one gets it.
func TestInstallEndsAStuckHolder(t *testing.T) {
	dsn := testdb.Postgres(t)
	s := openStore(t, dsn)
	if _, err := s.Install(t.Context(), 0, 0, "first"); err != nil {
		t.Fatal(err)
	}
	stuck := session(t, dsn)
	exec(t, stuck, "BEGIN")
	exec(t, stuck, "SELECT FROM ax_partitions WHERE partition = 0 FOR SHARE")
	start := time.Now()
	token, err := s.Install(soon(t), 0, 1, "second")
	if err != nil || token != 2 {
		t.Fatalf("token %d, %v", token, err)
	}
	t.Logf("installed after %v", time.Since(start))
	if err := stuck.Ping(t.Context()); err == nil {
		t.Error("the stuck session is still there")
	}
}

// Two programs whose batches cross, in the order of rows, of unique keys and of overlap keys,
// see neither a deadlock nor a lock time-out.
func TestCrossingBatchesSurfaceNoDeadlock(t *testing.T) {
	dsn := testdb.Postgres(t)
	stores := [2]store.Store{openStore(t, dsn), openStore(t, dsn)}
	n := 0
	tasks := stored(t, stores[0], makeTasks(200, func() task.Task {
		t := plainTask()
		n++
		t.Overlap, t.OverlapKey = task.OverlapSkip, fmt.Sprint("key-", n%50)
		return t
	}))
	done := make(chan error, 10)
	for g := range cap(done) {
		go func() { done <- crossing(soon(t), stores[g%2], tasks, g) }()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// crossing claims and gives back, and inserts the same keys as all others, from both ends.
func crossing(ctx context.Context, s store.Store, tasks []task.Task, g int) error {
	for round := range 10 {
		ids := make([]task.ID, 0, len(tasks))
		for i := range tasks {
			ids = append(ids, tasks[i].ID)
		}
		rows, err := s.Tasks(ctx, ids)
		if err != nil {
			return err
		}
		if g%2 == 1 {
			slices.Reverse(rows)
		}
		var trs []*task.Transition
		for i := range rows {
			tr := task.Begin(&rows[i])
			if tr.From == task.Scheduled {
				tr.Then(task.ClaimLocal, 0, "")
			} else {
				tr.Then(task.HandBack, 0, "")
			}
			trs = append(trs, tr.Keys(&rows[i]))
		}
		if _, err := s.Apply(ctx, store.Fence{}, trs); err != nil {
			return fmt.Errorf("apply: %w", err)
		}
		fresh := makeTasks(50, plainTask)
		for i := range fresh {
			k := i
			if g%2 == 1 {
				k = len(fresh) - 1 - i
			}
			fresh[i].Key = fmt.Sprint("round-", round, "-", k)
			if k%2 == 0 {
				fresh[i].Unique = task.UniqueForever
			}
		}
		if _, err := s.Insert(ctx, store.Fence{}, fresh); err != nil {
			return fmt.Errorf("insert: %w", err)
		}
	}
	return nil
}
