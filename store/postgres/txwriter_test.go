package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax/internal/testdb"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/storetest"
	"github.com/ax-sched/ax/task"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of a program's own handle
)

// handle is a program's own way to the database.
func handle(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func begin(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(context.WithoutCancel(t.Context()), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() }) // mostly it has ended
	return tx
}

func TestTxOfDatabaseSQL(t *testing.T) {
	for name, params := range map[string]string{"usual": "",
		"simple protocol": "&default_query_exec_mode=simple_protocol"} {
		t.Run(name, func(t *testing.T) {
			server := testdb.StartPostgres(t, testdb.Options{Fast: true})
			storetest.RunTx(t, func(t *testing.T) (storetest.Full, storetest.Begin) {
				dsn := server.Database(t)
				db := handle(t, dsn+params)
				return openStore(t, dsn), func(t *testing.T) storetest.CallerTx {
					tx := begin(t, db)
					return storetest.CallerTx{Tx: tx, Commit: tx.Commit, Rollback: tx.Rollback}
				}
			})
		})
	}
}

func TestTxOfPGX(t *testing.T) {
	server := testdb.StartPostgres(t, testdb.Options{Fast: true})
	storetest.RunTx(t, func(t *testing.T) (storetest.Full, storetest.Begin) {
		dsn := server.Database(t)
		ctx := context.WithoutCancel(t.Context())
		pool, err := pgxpool.New(ctx, dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		return openStore(t, dsn), func(t *testing.T) storetest.CallerTx {
			tx, err := pool.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return storetest.CallerTx{Tx: tx,
				Commit:   func() error { return tx.Commit(ctx) },
				Rollback: func() error { return tx.Rollback(ctx) }}
		}
	})
}

// The hint comes with the commit, not with the insert and not after a rollback. One for a task
// that is due in an hour is not sent.
func TestTxHint(t *testing.T) {
	dsn := testdb.Postgres(t)
	s := openStore(t, dsn)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hints := make(chan task.Time, 10)
	ended := make(chan error, 1)
	go func() { ended <- s.Listen(ctx, func(at task.Time) { hints <- at }) }()
	db := handle(t, dsn)
	insert := func(tk task.Task) (*sql.Tx, task.Time) {
		tx := begin(t, db)
		in, err := s.InsertTx(t.Context(), tx, []task.Task{tk})
		if err != nil {
			t.Fatal(err)
		}
		return tx, in[0].RunAt
	}
	listening := func() bool { // until the listener hears what others send
		if _, err := s.Insert(t.Context(), store.Fence{}, []task.Task{plainTask()}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-hints:
			return true
		case <-time.After(20 * time.Millisecond):
			return false
		}
	}
	for !listening() {
	}
	for len(hints) > 0 {
		<-hints
	}
	undone, _ := insert(plainTask())
	late := plainTask()
	late.RunAt, late.RunIn = task.StoreNow, time.Hour
	far, _ := insert(late)
	soonTask := plainTask()
	soonTask.RunAt, soonTask.RunIn = task.StoreNow, 10*time.Second
	near, at := insert(soonTask)
	if err := errors.Join(undone.Rollback(), far.Commit(), near.Commit()); err != nil {
		t.Fatal(err)
	}
	if got := <-hints; got != at {
		t.Errorf("hint of %d; want only that of %d", got, at)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(hints) > 0 {
		t.Errorf("%d more hints", len(hints))
	}
}

// A key that is open in another transaction is waited for until that one ends, the context does, or
// the caller's own lock_timeout has passed.
func TestTxOpenKey(t *testing.T) {
	for _, u := range []task.Unique{task.UniqueLive, task.UniqueForever} {
		testTxOpenKey(t, u)
	}
}

func testTxOpenKey(t *testing.T, u task.Unique) {
	dsn := testdb.Postgres(t)
	s := openStore(t, dsn)
	db := handle(t, dsn)
	first, second := keyedTask(), keyedTask()
	second.Kind, second.Key = first.Kind, first.Key
	first.Unique, second.Unique = u, u
	open := begin(t, db)
	if _, err := s.InsertTx(t.Context(), open, []task.Task{first}); err != nil {
		t.Fatal(err)
	}
	short := begin(t, db)
	if _, err := short.Exec("SET LOCAL lock_timeout = '50ms'"); err != nil {
		t.Fatal(err)
	}
	_, err := s.InsertTx(soon(t), short, []task.Task{second})
	if !errors.Is(err, store.ErrBusy) {
		t.Errorf("after lock_timeout: %v; want ErrBusy", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.InsertTx(ctx, begin(t, db), []task.Task{second}); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("after the end of the context: %v", err)
	}
	waits := begin(t, db)
	type answer struct {
		in  []store.Inserted
		err error
	}
	done := make(chan answer, 1)
	go func() {
		in, err := s.InsertTx(soon(t), waits, []task.Task{second})
		done <- answer{in, err}
	}()
	awaitLock(t, db)
	if err := open.Commit(); err != nil {
		t.Fatal(err)
	}
	a := <-done
	if a.err != nil || !a.in[0].Duplicate || a.in[0].ID != first.ID {
		t.Errorf("after the commit of the first: %+v", a)
	}
	if err := waits.Commit(); err != nil {
		t.Fatal(err)
	}
	// Who waited has not taken over what the first one keeps.
	first.Version, first.RunAt = 1, a.in[0].RunAt
	mustApplyAll(t, s, []*task.Transition{task.Begin(&first).Then(task.Cancel, 0, "").Keys(&first)})
	third := keyedTask()
	third.Kind, third.Key, third.Unique = first.Kind, first.Key, u
	in, err := s.Insert(soon(t), store.Fence{}, []task.Task{third})
	if kept := u != task.UniqueLive; err != nil || in[0].Duplicate != kept ||
		kept && in[0].ID != first.ID {
		t.Errorf("after the end of the first: %+v, %v", in, err)
	}
}

// awaitLock returns when a session waits for another one's transaction.
func awaitLock(t *testing.T, db *sql.DB) {
	t.Helper()
	ctx := soon(t)
	for n := 0; n == 0; {
		err := db.QueryRowContext(ctx, `SELECT count(*) FROM pg_locks
			WHERE NOT granted AND locktype = 'transactionid'`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// An open transaction holds a key, a new task, and the row, the unique key and the overlap key of a
// task that it completes. Everybody else goes on.
func TestTxOpenDelaysOnlyItself(t *testing.T) {
	dsn := testdb.Postgres(t)
	s := openStore(t, dsn)
	row := keyedTask()
	row.Overlap, row.OverlapKey = task.OverlapSkip, "over"
	rows := stored(t, s, append([]task.Task{row}, makeTasks(200, plainTask)...))
	trs := claims(rows, 1)
	for i, r := range mustApplyAll(t, s, trs) {
		rows[i].Mutable, rows[i].Version = trs[i].Set, r.Version
	}
	open := begin(t, handle(t, dsn))
	if _, err := s.InsertTx(t.Context(), open, []task.Task{keyedTask()}); err != nil {
		t.Fatal(err)
	}
	res, err := s.CompleteTx(t.Context(), open, rows[0].ID, rows[0].ExecutionID)
	if err != nil || res.Status != store.Applied {
		t.Fatalf("%+v, %v", res, err)
	}
	if _, err := s.Insert(soon(t), store.Fence{}, makeTasks(50, keyedTask)); err != nil {
		t.Error(err)
	}
	ends := make([]*task.Transition, len(rows))
	for i := range rows {
		tr := task.Begin(&rows[i])
		ends[i] = tr.Then(task.HandBack, 0, "").Keys(&rows[i])
	}
	got, err := s.Apply(soon(t), store.Fence{}, ends)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range got {
		want := store.Applied
		if i == 0 {
			want = store.Locked
		}
		if r.Status != want {
			t.Fatalf("task %d: %s; want %s", i, r.Status, want)
		}
	}
	if err := open.Commit(); err != nil {
		t.Fatal(err)
	}
	got, err = s.Apply(soon(t), store.Fence{}, ends[:1])
	if err != nil || got[0].Status != store.Conflict {
		t.Errorf("after the commit: %+v, %v; want conflict", got, err)
	}
}

func mustApplyAll(t *testing.T, s store.Applier, trs []*task.Transition) []store.Result {
	t.Helper()
	res, err := s.Apply(soon(t), store.Fence{}, trs)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range res {
		if r.Status != store.Applied {
			t.Fatalf("task %d: %s", i, r.Status)
		}
	}
	return res
}

// A transaction of another database says so.
func TestTxOnAnotherDatabase(t *testing.T) {
	s := openStore(t, testdb.Postgres(t))
	other, err := pgx.Connect(t.Context(), testdb.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close(context.WithoutCancel(t.Context())) }()
	tx, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.InsertTx(t.Context(), tx, []task.Task{plainTask()})
	var input *task.InputError
	if !errors.As(err, &input) || input.Field != "tx" || !strings.Contains(err.Error(), "schema") {
		t.Errorf("got %v", err)
	}
}
