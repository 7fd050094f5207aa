package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite"
	"github.com/ax-sched/ax/store/storetest"
	"github.com/ax-sched/ax/task"

	_ "modernc.org/sqlite" // the driver of a program's own handle
)

// handle is a program's own way to the file.
func handle(t *testing.T, path, params string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?"+params)
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

// advised are the parameters that the package's comment recommends.
const advised = "_txlock=immediate&_pragma=busy_timeout(10000)"

func begin(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(context.WithoutCancel(t.Context()), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() }) // mostly it has ended
	return tx
}

func run(t *testing.T, tx interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, query string, args ...any) {
	t.Helper()
	if _, err := tx.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func says(err error, words string) bool {
	return err != nil && strings.Contains(err.Error(), words)
}

func TestTx(t *testing.T) {
	for name, params := range map[string]string{"immediate": advised,
		"deferred": "_pragma=busy_timeout(10000)"} {
		t.Run(name, func(t *testing.T) {
			storetest.RunTx(t, func(t *testing.T) (storetest.Full, storetest.Begin) {
				path := filepath.Join(t.TempDir(), "ax.db")
				s := open(t, path)
				db := handle(t, path, params)
				return s, func(t *testing.T) storetest.CallerTx {
					tx := begin(t, db)
					return storetest.CallerTx{Tx: tx, Commit: tx.Commit, Rollback: tx.Rollback}
				}
			})
		})
	}
}

// A transaction that has read before another one wrote cannot write any more; one that waits for
// the lock gives up with its time-out. Both errors match and say what to do, and in both cases
// nothing of the call remains.
func TestTxBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ax.db")
	s := open(t, path)
	db := handle(t, path, "_pragma=busy_timeout(1)")
	run(t, db, "CREATE TABLE orders (id TEXT)")
	insert := func(tx *sql.Tx) error {
		_, err := s.InsertTx(t.Context(), tx, newTasks(1, false))
		return err
	}
	check := func(what string, err error, words string) {
		t.Helper()
		if !errors.Is(err, store.ErrBusy) || !says(err, words) {
			t.Errorf("%s: %v; want ErrBusy that says %s", what, err, words)
		}
	}
	stale := begin(t, db)
	var n int
	if err := stale.QueryRow("SELECT count(*) FROM orders").Scan(&n); err != nil {
		t.Fatal(err)
	}
	mustInsert(t, s, newTasks(1, false))
	check("stale", insert(stale), "_txlock=immediate")
	first, second := begin(t, db), begin(t, db)
	if err := insert(first); err != nil {
		t.Fatal(err)
	}
	check("second writer", insert(second), "busy_timeout")
	if err := first.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := insert(second); err != nil { // an error leaves the transaction usable
		t.Errorf("after the first writer: %v", err)
	}
	if err := second.Commit(); err != nil {
		t.Fatal(err)
	}
	if m, err := s.Count(t.Context(), 0); err != nil || m[task.Scheduled] != 3 {
		t.Errorf("tasks: %v, %v; want 3", m, err)
	}
}

// A call that fails in its middle leaves nothing in a transaction that goes on.
func TestTxHalfACall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ax.db")
	s := open(t, path)
	db := handle(t, path, advised)
	run(t, db, `CREATE TRIGGER stop BEFORE INSERT ON ax_specs WHEN NEW.payload = x'00'
		BEGIN SELECT RAISE(ABORT, 'no'); END`)
	run(t, db, "CREATE TABLE orders (id TEXT)")
	tx := begin(t, db)
	run(t, tx, "INSERT INTO orders VALUES ('1')")
	ts := newTasks(3, false)
	ts[2].Payload = []byte{0}
	if _, err := s.InsertTx(t.Context(), tx, ts); err == nil {
		t.Fatal("the trigger did not stop the insert")
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	var orders, rows, entries int
	err := db.QueryRow(`SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM ax_tasks),
		(SELECT count(*) FROM ax_history)`).Scan(&orders, &rows, &entries)
	if err != nil || orders != 1 || rows != 0 || entries != 0 {
		t.Errorf("orders %d, tasks %d, entries %d, %v; want 1, 0, 0", orders, rows, entries, err)
	}
}

func TestTxOnAnotherFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "ax.db"))
	tx := begin(t, handle(t, filepath.Join(dir, "other.db"), advised))
	_, err := s.InsertTx(t.Context(), tx, newTasks(1, false))
	if !says(err, "the file of the store") {
		t.Errorf("got %v", err)
	}
}

// A transaction that stays open holds up the store's writer. Somebody is told, once, and the write
// goes on when it ends; reads never wait.
func TestTxBlocksWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ax.db")
	s := open(t, path)
	told, other := make(chan time.Duration, 10), make(chan time.Duration, 10)
	remove := s.OnBlocked(func(time.Duration) { t.Error("told after it was removed") })
	defer s.OnBlocked(func(d time.Duration) { told <- d })()
	defer s.OnBlocked(func(d time.Duration) { other <- d })()
	remove()
	remove() // again, and nobody else's
	tx := begin(t, handle(t, path, advised))
	if _, err := s.InsertTx(t.Context(), tx, newTasks(1, false)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.Insert(t.Context(), store.Fence{}, newTasks(1, false))
		done <- err
	}()
	select {
	case d := <-told:
		if d < time.Second || d > 5*time.Second {
			t.Errorf("told after %s", d)
		}
	case err := <-done:
		t.Fatalf("the insert did not wait: %v", err)
	}
	if m, err := s.Count(t.Context(), 0); err != nil || len(m) != 0 {
		t.Errorf("a read beside it: %v, %v", m, err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(told) > 0 || len(other) != 1 {
		t.Errorf("told %d times more, the other one %d times", len(told), len(other))
	}
}

// A file with tables of a program's own becomes one of ax too only when asked to, and keeps
// everything.
func TestShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	db := handle(t, path, advised)
	run(t, db, "PRAGMA application_id = 77")
	run(t, db, "CREATE TABLE orders (id TEXT)")
	run(t, db, "INSERT INTO orders VALUES ('1')")
	if s, err := sqlite.Open(path); !errors.Is(err, store.ErrDamaged) {
		t.Fatalf("without Shared: %v, %v", s, err)
	}
	// Where its tables are, nothing is added, and who only looks need not know whose file it is.
	for _, opts := range [][]sqlite.Option{{sqlite.Shared()}, {sqlite.Shared()}, nil} {
		s, err := sqlite.Open(path, opts...)
		if err != nil {
			t.Fatal(err)
		}
		mustInsert(t, s, newTasks(1, false))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var app, orders, tasks int
	err := errors.Join(db.QueryRow("PRAGMA application_id").Scan(&app),
		db.QueryRow("SELECT count(*) FROM orders").Scan(&orders),
		db.QueryRow("SELECT count(*) FROM ax_tasks").Scan(&tasks))
	if err != nil || app != 77 || orders != 1 || tasks != 3 {
		t.Errorf("application id %d, %d orders, %d tasks, %v", app, orders, tasks, err)
	}
	run(t, db, "DROP TABLE ax_meta")
	for _, opts := range [][]sqlite.Option{{sqlite.Shared()}, nil} {
		if s, err := sqlite.Open(path, opts...); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("without ax_meta: %v, %v", s, err)
		}
	}
}
