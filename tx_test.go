package ax_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/testdb"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/store/postgres"
	"github.com/ax-sched/ax/store/sqlite"
	"github.com/ax-sched/ax/task"
	"github.com/jackc/pgx/v5"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

// shop is a program with a table of orders beside the tables of ax.
type shop struct {
	*testing.T
	*ax.Scheduler
	st  ax.Store
	db  *sql.DB
	dsn string
	log safeBuffer
	ctx context.Context // ends a wait that would last for ever
}

// safeBuffer takes a log while a test reads it.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// fast retries at once.
var fast = ax.Retry(retry.Policy{Kind: retry.Fixed, DelayMS: 1})

// onSQLite and onPostgres open a shop there, for a scheduler with cfg.
func onSQLite(t *testing.T, cfg ax.Config) *shop {
	path := filepath.Join(t.TempDir(), "shop.db")
	st, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return newShop(t, cfg, st, "sqlite:"+path)
}

func onPostgres(t *testing.T, cfg ax.Config) *shop {
	dsn := testdb.Postgres(t)
	st, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	return newShop(t, cfg, st, dsn)
}

// openDB opens the program's own handle on the database of a store.
func openDB(dsn string) (*sql.DB, error) {
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		return sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	}
	return sql.Open("pgx", dsn)
}

func newShop(t *testing.T, cfg ax.Config, st ax.Store, dsn string) *shop {
	db, err := openDB(dsn)
	if err != nil {
		t.Fatal(err)
	}
	x := &shop{T: t, st: st, db: db, dsn: dsn}
	t.Cleanup(func() {
		if err := errors.Join(db.Close(), st.Close()); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	x.ctx = ctx
	cfg.Logger = slog.New(slog.NewTextHandler(&x.log, nil))
	if x.Scheduler, err = ax.New(st, cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(ctx,
		"CREATE TABLE orders (id TEXT PRIMARY KEY, state TEXT, changes INTEGER)"); err != nil {
		t.Fatal(err)
	}
	return x
}

// bothShops runs f on SQLite and on PostgreSQL.
func bothShops(t *testing.T, cfg ax.Config, f func(x *shop)) {
	t.Run("sqlite", func(t *testing.T) { f(onSQLite(t, cfg)) })
	t.Run("postgres", func(t *testing.T) { f(onPostgres(t, cfg)) })
}

func postgresShop(t *testing.T, cfg ax.Config, f func(x *shop)) { f(onPostgres(t, cfg)) }

// start runs the scheduler until the test ends.
func (x *shop) start() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(x.Context()))
	done := make(chan error, 1)
	go func() { done <- x.Scheduler.Run(ctx) }()
	x.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			x.Error(err)
		}
	})
	x.await("leadership", func() bool { return strings.Contains(x.log.String(), "msg=leading") })
}

func (x *shop) await(what string, ok func() bool) {
	x.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-x.ctx.Done():
			x.Fatalf("waited in vain for %s; log:\n%s", what, x.log.String())
		}
	}
}

func (x *shop) begin(ctx context.Context) *sql.Tx {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		x.Fatal(err)
	}
	return tx
}

// place makes an order and its time-out in one transaction, which stays open.
func (x *shop) place(id string, n ax.NewTask) (*sql.Tx, ax.Result) {
	x.Helper()
	tx := x.begin(x.ctx)
	if _, err := tx.ExecContext(x.ctx, "INSERT INTO orders VALUES ($1, 'open', 0)", id); err != nil {
		x.Fatal(err)
	}
	res, err := x.SubmitTx(x.ctx, tx, n)
	if err != nil {
		x.Fatal(err)
	}
	return tx, res
}

// closeOrder is what a handler does to its order in a transaction.
func (x *shop) closeOrder(ctx context.Context, tx *sql.Tx, t *ax.Task) error {
	_, err := tx.ExecContext(ctx,
		"UPDATE orders SET state = 'closed', changes = changes + 1 WHERE id = $1", t.Key)
	if err != nil {
		return err
	}
	return ax.CompleteTx(ctx, tx)
}

func (x *shop) order(id string) (state string, changes int) {
	x.Helper()
	err := x.db.QueryRowContext(x.ctx, "SELECT state, changes FROM orders WHERE id = $1", id).
		Scan(&state, &changes)
	if errors.Is(err, sql.ErrNoRows) {
		return "", 0
	}
	if err != nil {
		x.Fatal(err)
	}
	return state, changes
}

// ended waits for a task's final state and returns it with the details of its history.
func (x *shop) ended(id ax.ID) (row task.Task, details string) {
	x.Helper()
	x.await("the end of the task", func() bool {
		var err error
		row, err = x.Get(x.ctx, id)
		return err == nil && row.State.Final()
	})
	h, err := x.History(x.ctx, id)
	if err != nil {
		x.Fatal(err)
	}
	for _, e := range h {
		details += e.Event.String() + " " + e.Detail + "\n"
	}
	return row, details
}

// The order and its time-out are committed or undone together; one that is undone never runs and
// leaves its key free.
func TestSubmitTx(t *testing.T) {
	bothShops(t, ax.Config{}, func(x *shop) {
		ran := make(chan string, 10)
		x.Handle("order.close", func(_ context.Context, t *ax.Task) error {
			ran <- t.Key + " " + string(t.Payload)
			return nil
		})
		x.start()
		undone, res := x.place("1", ax.NewTask{Kind: "order.close", Key: "1", Payload: []byte("no")})
		if err := undone.Rollback(); err != nil {
			x.Fatal(err)
		}
		if _, err := x.Get(x.ctx, res.ID); !errors.Is(err, ax.ErrNotFound) {
			x.Errorf("a rolled-back task: %v", err)
		}
		if state, _ := x.order("1"); state != "" {
			x.Errorf("a rolled-back order is %s", state)
		}
		tx, res := x.place("1", ax.NewTask{Kind: "order.close", Key: "1", Payload: []byte("yes")})
		if res.Duplicate || res.State != task.Scheduled {
			x.Errorf("after the rollback: %+v", res)
		}
		if err := tx.Commit(); err != nil {
			x.Fatal(err)
		}
		if got := <-ran; got != "1 yes" {
			x.Errorf("ran %q", got)
		}
		x.ended(res.ID)
		if len(ran) > 0 {
			x.Errorf("ran too: %q", <-ran)
		}
	})
}

func TestSubmitTxDuplicate(t *testing.T) {
	bothShops(t, ax.Config{}, func(x *shop) {
		n := ax.NewTask{Kind: "order.close", Key: "1", Delay: time.Hour}
		tx, first := x.place("1", n)
		if err := tx.Commit(); err != nil {
			x.Fatal(err)
		}
		tx, second := x.place("2", n)
		if !second.Duplicate || second.ID != first.ID {
			x.Errorf("the same key again: %+v; the first is %s", second, first.ID)
		}
		many, err := x.SubmitManyTx(x.ctx, tx, []ax.NewTask{
			{Kind: "order.close", Key: "3", Delay: time.Hour}, n, {Kind: "mail", RunAt: time.Now()}})
		if err != nil || len(many) != 3 || many[0].Duplicate || many[1].ID != first.ID ||
			many[2].Duplicate {
			x.Errorf("many: %+v, %v", many, err)
		}
		if err := tx.Commit(); err != nil { // a duplicate spoils nothing
			x.Fatal(err)
		}
		if state, _ := x.order("2"); state != "open" {
			x.Errorf("the order of the second transaction is %q", state)
		}
		all, err := x.List(x.ctx, ax.Filter{})
		if err != nil || len(all) != 3 {
			x.Errorf("%d tasks, %v; want 3", len(all), err)
		}
	})
}

// looks counts the scans for due tasks.
type looks struct {
	*sqlite.Store
	n atomic.Int64
}

func (l *looks) Due(ctx context.Context, cs []store.Cursor) ([][]store.Due, task.Time, error) {
	l.n.Add(1)
	return l.Store.Due(ctx, cs)
}

// heard reports whether somebody listens for hints on PostgreSQL.
func (x *shop) heard() bool {
	var n int
	err := x.db.QueryRowContext(x.ctx, `SELECT count(*) FROM pg_stat_activity
		WHERE query LIKE 'LISTEN %' AND state = 'idle' AND datname = current_database()`).Scan(&n)
	if err != nil {
		x.Fatal(err)
	}
	return n > 0
}

// The commit is noticed by itself, long before the next poll, also when the first looks come too
// early.
func TestSubmitTxCommitIsNoticed(t *testing.T) {
	var seen *looks
	test := func(x *shop) {
		ran := make(chan struct{})
		x.Handle("order.close", func(context.Context, *ax.Task) error { close(ran); return nil })
		x.start()
		if seen != nil {
			x.await("the first poll", func() bool { return seen.n.Load() > 0 })
		} else {
			x.await("a listener", x.heard)
		}
		tx, _ := x.place("1", ax.NewTask{Kind: "order.close", Key: "1"})
		if seen != nil {
			before := seen.n.Load()
			x.await("two looks", func() bool { return seen.n.Load() >= before+2 })
		}
		if err := tx.Commit(); err != nil {
			x.Fatal(err)
		}
		select {
		case <-ran:
		case <-x.ctx.Done():
			x.Error("the commit was not noticed")
		}
	}
	cfg := ax.Config{Poll: time.Minute}
	t.Run("postgres", func(t *testing.T) { test(onPostgres(t, cfg)) })
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "shop.db")
		st, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		seen = &looks{Store: st}
		test(newShop(t, cfg, seen, "sqlite:"+path))
	})
}

// Effect and end are one commit, and what the handler returns after it changes nothing.
func TestCompleteTx(t *testing.T) {
	bothShops(t, ax.Config{}, func(x *shop) {
		x.Handle("order.close", func(ctx context.Context, t *ax.Task) error {
			tx, err := x.db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			if err := x.closeOrder(ctx, tx, t); err != nil {
				return err
			}
			if err := tx.Commit(); err != nil {
				return err
			}
			if t.Key == "2" {
				return errors.New("the mail was not sent")
			}
			return nil
		})
		x.start()
		for _, id := range []string{"1", "2"} {
			tx, res := x.place(id, ax.NewTask{Kind: "order.close", Key: id})
			if err := tx.Commit(); err != nil {
				x.Fatal(err)
			}
			row, details := x.ended(res.ID)
			if row.State != task.Succeeded || row.Attempt != 1 || row.Error != "" {
				x.Errorf("order %s: %s after attempt %d, %q\n%s", id, row.State, row.Attempt, row.Error,
					details)
			}
			if state, n := x.order(id); state != "closed" || n != 1 {
				x.Errorf("order %s is %s after %d changes", id, state, n)
			}
		}
	})
}

// A panic after the commit hides the end of the task from nobody.
func TestPanicAfterCompleteTx(t *testing.T) {
	for name, open := range map[string]func(*testing.T, ax.Config) *shop{
		"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			var seen told
			x := open(t, ax.Config{Observer: seen.observer()})
			x.Handle("order.close", func(ctx context.Context, t *ax.Task) error {
				tx := x.begin(ctx)
				defer tx.Rollback()
				if err := x.closeOrder(ctx, tx, t); err != nil {
					return err
				}
				if err := tx.Commit(); err != nil {
					return err
				}
				panic("the mail was not sent")
			})
			x.start()
			tx, res := x.place("1", ax.NewTask{Kind: "order.close", Key: "1"})
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			x.await("the end to be told", func() bool {
				return slices.ContainsFunc(seen.all(), func(line string) bool {
					return strings.HasPrefix(line, "ended order.close attempt 1: succeeded")
				})
			})
			if row, err := x.Get(x.ctx, res.ID); err != nil || row.State != task.Succeeded {
				t.Errorf("it is %s, %v", row.State, err)
			}
		})
	}
}

// The first attempt ends its task in a transaction that does not commit: it has failed, whatever
// the handler says, and the second attempt makes the one effect.
func TestCompleteTxNotCommitted(t *testing.T) {
	lost := errors.New("connection lost")
	for name, first := range map[string]struct {
		end   func(x *shop, c *sql.Conn, tx *sql.Tx) error
		want  string
		shops func(*testing.T, ax.Config, func(*shop))
	}{
		"rolled back": {func(_ *shop, _ *sql.Conn, tx *sql.Tx) error { return tx.Rollback() },
			"CompleteTx rolled back", bothShops},
		"error": {func(_ *shop, _ *sql.Conn, tx *sql.Tx) error {
			return errors.Join(errors.New("no stock"), tx.Rollback())
		}, "no stock", bothShops},
		"connection closed": {func(x *shop, c *sql.Conn, tx *sql.Tx) error {
			if err := x.cut(c); err != nil {
				x.Error(err)
			}
			if tx.Commit() == nil {
				x.Error("a commit on a closed connection succeeded")
			}
			return lost
		}, "connection lost", postgresShop},
		"connection closed, error dropped": {func(x *shop, c *sql.Conn, tx *sql.Tx) error {
			return x.cut(c)
		}, "CompleteTx rolled back", postgresShop},
	} {
		t.Run(name, func(t *testing.T) {
			first.shops(t, ax.Config{}, func(x *shop) {
				x.Handle("order.close", func(ctx context.Context, t *ax.Task) error {
					c, err := x.db.Conn(ctx)
					if err != nil {
						return err
					}
					tx, err := c.BeginTx(ctx, nil)
					if err != nil {
						return err
					}
					if err := x.closeOrder(ctx, tx, t); err != nil {
						return errors.Join(err, tx.Rollback())
					}
					if t.Attempt == 1 {
						return first.end(x, c, tx)
					}
					return errors.Join(tx.Commit(), c.Close())
				}, fast)
				x.start()
				tx, res := x.place("1", ax.NewTask{Kind: "order.close", Key: "1"})
				if err := tx.Commit(); err != nil {
					x.Fatal(err)
				}
				row, details := x.ended(res.ID)
				if row.State != task.Succeeded || row.Attempt != 2 || row.Failures != 1 ||
					!strings.Contains(details, first.want) {
					x.Errorf("%s after attempt %d, %d failures; history:\n%s\nwant %q in it", row.State,
						row.Attempt, row.Failures, details, first.want)
				}
				if state, n := x.order("1"); state != "closed" || n != 1 {
					x.Errorf("the order is %s after %d changes; want one effect", state, n)
				}
			})
		})
	}
}

// cut closes the connection under an open transaction.
func (x *shop) cut(c *sql.Conn) error {
	return c.Raw(func(dc any) error { return dc.(driver.Conn).Close() })
}

// dieInTx is the handler of a process that is killed between CompleteTx and the commit.
func dieInTx(dsn string, log *os.File) ax.Handler {
	return func(ctx context.Context, t *ax.Task) error {
		db, err := openDB(dsn)
		if err != nil {
			return err
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if err := (&shop{}).closeOrder(ctx, tx, t); err != nil {
			return err
		}
		fmt.Fprintf(log, "completed %s\n", t.ID)
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}

// A process is killed between CompleteTx and the commit: neither the effect nor the end of the task
// was, and the next process makes both.
func TestKilledBeforeCommit(t *testing.T) {
	bothShops(t, quick, func(x *shop) {
		x.Handle("order.close", func(ctx context.Context, t *ax.Task) error {
			tx := x.begin(ctx)
			if err := x.closeOrder(ctx, tx, t); err != nil {
				return errors.Join(err, tx.Rollback())
			}
			return tx.Commit()
		})
		tx, res := x.place("1", ax.NewTask{Kind: "order.close", Key: "1"})
		if err := tx.Commit(); err != nil {
			x.Fatal(err)
		}
		log := filepath.Join(x.TempDir(), "log")
		spawn(x.T, x.dsn, log)
		x.await("the child's CompleteTx", func() bool {
			b, err := os.ReadFile(log)
			return err == nil && strings.HasPrefix(string(b), "completed "+res.ID.String())
		})
		x.start()
		row, details := x.ended(res.ID)
		if row.State != task.Succeeded || row.Attempt != 2 || row.Recoveries != 1 {
			x.Errorf("%s after attempt %d, %d recoveries:\n%s", row.State, row.Attempt, row.Recoveries,
				details)
		}
		if state, n := x.order("1"); state != "closed" || n != 1 {
			x.Errorf("the order is %s after %d changes; want one effect", state, n)
		}
	})
}

// An attempt that was lost and replaced cannot commit its effect.
func TestCompleteTxFenced(t *testing.T) {
	bothShops(t, ax.Config{}, func(x *shop) {
		started, replaced := make(chan *ax.Task, 1), make(chan struct{})
		said := make(chan error, 1)
		x.Handle("order.close", func(ctx context.Context, t *ax.Task) error {
			started <- t
			<-replaced
			tx := x.begin(ctx)
			defer tx.Rollback()
			err := x.closeOrder(ctx, tx, t)
			said <- err
			return err
		})
		x.start()
		tx, res := x.place("1", ax.NewTask{Kind: "order.close", Key: "1"})
		if err := tx.Commit(); err != nil {
			x.Fatal(err)
		}
		<-started
		row, err := x.Get(x.ctx, res.ID)
		if err != nil {
			x.Fatal(err)
		}
		tr := task.Begin(&row).Then(task.Lose, task.Lost, "").Then(task.Recover, 0, "")
		tr.Set.RunAt, tr.Set.RunIn = task.StoreNow, time.Hour
		out, err := x.st.Apply(x.ctx, store.Fence{}, []*task.Transition{tr.Keys(&row)})
		if err != nil || out[0].Status != store.Applied {
			x.Fatalf("%+v, %v", out, err)
		}
		close(replaced)
		if err := <-said; !errors.Is(err, ax.ErrFenced) {
			x.Errorf("CompleteTx of a lost execution: %v; want ErrFenced", err)
		}
		if state, n := x.order("1"); state != "open" || n != 0 {
			x.Errorf("the order is %s after %d changes", state, n)
		}
		if row, err := x.Get(x.ctx, res.ID); err != nil || row.State != task.Scheduled {
			x.Errorf("the task is %s, %v", row.State, err)
		}
	})
}

// On PostgreSQL an open transaction delays nobody else.
func TestOpenTxDelaysOnlyItself(t *testing.T) {
	x := onPostgres(t, ax.Config{})
	inside, finish := make(chan struct{}), make(chan struct{})
	x.Handle("slow", func(ctx context.Context, t *ax.Task) error {
		tx := x.begin(ctx)
		if err := x.closeOrder(ctx, tx, t); err != nil {
			return err
		}
		close(inside)
		<-finish
		return tx.Commit()
	})
	x.Handle("order.close", func(context.Context, *ax.Task) error { return nil })
	x.start()
	slow, err := x.Submit(x.ctx, ax.NewTask{Kind: "slow", Key: "s"})
	if err != nil {
		t.Fatal(err)
	}
	<-inside
	open, res := x.place("1", ax.NewTask{Kind: "order.close", Key: "1"})
	for i := range 50 {
		r, err := x.Submit(x.ctx, ax.NewTask{Kind: "order.close", Key: fmt.Sprint("k", i)})
		if err != nil {
			t.Fatal(err)
		}
		if row, _ := x.ended(r.ID); row.State != task.Succeeded {
			t.Errorf("task %d: %s", i, row.State)
		}
	}
	same := make(chan ax.Result, 1)
	go func() {
		r, err := x.Submit(x.ctx, ax.NewTask{Kind: "order.close", Key: "1"})
		if err != nil {
			t.Error(err)
		}
		same <- r
	}()
	if err := open.Commit(); err != nil {
		t.Fatal(err)
	}
	if r := <-same; r.ID != res.ID && r.Duplicate {
		t.Errorf("the same key: %+v; the first is %s", r, res.ID)
	}
	x.ended(res.ID)
	close(finish)
	if row, _ := x.ended(slow.ID); row.State != task.Succeeded {
		t.Errorf("the open one: %s", row.State)
	}
}

// On SQLite it holds up all writers: the scheduler says so, and nothing is lost.
func TestOpenTxWarns(t *testing.T) {
	x := onSQLite(t, ax.Config{})
	x.Handle("order.close", func(context.Context, *ax.Task) error { return nil })
	x.start()
	open, res := x.place("1", ax.NewTask{Kind: "order.close", Key: "1"})
	other := make(chan ax.Result, 1)
	go func() {
		r, err := x.Submit(x.ctx, ax.NewTask{Kind: "order.close", Key: "2"})
		if err != nil {
			t.Error(err)
		}
		other <- r
	}()
	x.await("a warning", func() bool {
		return strings.Contains(x.log.String(), "holds up all writers")
	})
	if err := open.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []ax.ID{res.ID, (<-other).ID} {
		if row, _ := x.ended(id); row.State != task.Succeeded {
			t.Errorf("task %s: %s", id, row.State)
		}
	}
}

// A transaction of pgx is taken as it is.
func TestTxOfPGX(t *testing.T) {
	x := onPostgres(t, ax.Config{})
	connect := func(ctx context.Context) *pgx.Conn {
		c, err := pgx.Connect(ctx, x.dsn)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	x.Handle("order.close", func(ctx context.Context, t *ax.Task) error {
		c := connect(ctx)
		defer c.Close(ctx)
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error { return ax.CompleteTx(ctx, tx) })
	})
	x.start()
	c := connect(x.ctx)
	defer c.Close(x.ctx)
	var res ax.Result
	err := pgx.BeginFunc(x.ctx, c, func(tx pgx.Tx) (err error) {
		res, err = x.SubmitTx(x.ctx, tx, ax.NewTask{Kind: "order.close", Key: "1"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if row, details := x.ended(res.ID); row.State != task.Succeeded || row.Attempt != 1 {
		t.Errorf("%s after attempt %d:\n%s", row.State, row.Attempt, details)
	}
}

func TestTxMisuse(t *testing.T) {
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	var input *ax.InputError
	_, err = a.SubmitTx(t.Context(), &sql.Tx{}, ax.NewTask{Kind: "k"})
	if !errors.As(err, &input) || input.Field != "tx" ||
		!strings.Contains(err.Error(), "store/sqlite") {
		t.Errorf("memory: %v", err)
	}
	if err := ax.CompleteTx(t.Context(), &sql.Tx{}); err == nil ||
		!strings.Contains(err.Error(), "handler") {
		t.Errorf("CompleteTx outside a handler: %v", err)
	}
	_, err = a.SubmitTx(t.Context(), &sql.Tx{}, ax.NewTask{})
	if !errors.As(err, &input) || input.Field != "kind" {
		t.Errorf("without a kind: %v", err)
	}
	bothShops(t, ax.Config{}, func(x *shop) {
		for _, tx := range []any{nil, x.db, (*sql.Tx)(nil)} {
			_, err := x.SubmitTx(x.ctx, tx, ax.NewTask{Kind: "k"})
			if !errors.As(err, &input) || input.Field != "tx" ||
				!strings.Contains(err.Error(), "*sql.Tx") {
				x.Errorf("%T: %v", tx, err)
			}
		}
		tx := x.begin(x.ctx)
		if err := tx.Commit(); err != nil {
			x.Fatal(err)
		}
		if _, err := x.SubmitTx(x.ctx, tx, ax.NewTask{Kind: "k"}); !errors.Is(err, sql.ErrTxDone) {
			x.Errorf("a transaction that has ended: %v", err)
		}
	})
}
