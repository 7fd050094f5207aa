package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ax-sched/ax/internal/testdb"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql"
	"github.com/ax-sched/ax/task"
)

func newID() task.ID {
	var rnd [10]byte
	for i := range rnd {
		rnd[i] = byte(rand.Uint32())
	}
	return task.NewID(time.Now().UnixMilli(), rnd)
}

func plainTask() task.Task {
	return task.Task{ID: newID(), Kind: "k", Group: "g", Bucket: task.Normal, MaxRetries: -1,
		FireTime: task.StoreNow, Mutable: task.Mutable{State: task.Scheduled, Run: 1,
			RunAt: task.StoreNow}}
}

func keyedTask() task.Task {
	t := plainTask()
	t.Key = t.ID.String()
	return t
}

func makeTasks(n int, one func() task.Task) []task.Task {
	out := make([]task.Task, n)
	for i := range out {
		out[i] = one()
	}
	return out
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
		tr := task.Begin(&tasks[i]).Then(task.ClaimLocal, task.NoReason, "")
		tr.Set.ExecutionID, tr.Set.Token, tr.Set.StartedAt = newID(), token, task.StoreNow
		trs[i] = tr.Keys(&tasks[i])
	}
	return trs
}

// soon ends a wait that would otherwise last for ever in a test that fails.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func exec(t *testing.T, tx *sql.Tx, query string, args ...any) {
	t.Helper()
	if _, err := tx.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// S17: a foreign session holds one row; all others of the batch go through, also those that take
// overlap keys, and the held one is told apart from a conflict.
func TestS17ForeignRowLockDelaysOnlyItself(t *testing.T) {
	for _, keyed := range []bool{false, true} {
		t.Run(fmt.Sprint("keyed=", keyed), func(t *testing.T) {
			t.Parallel()
			dsn := testdb.MySQL(t)
			s := openStore(t, dsn)
			n := 0
			tasks := stored(t, s, makeTasks(300, func() task.Task {
				t := plainTask()
				if n++; keyed {
					t.Overlap, t.OverlapKey = task.OverlapSkip, fmt.Sprint("key-", n)
				}
				return t
			}))
			foreign := begin(t, handle(t, dsn))
			exec(t, foreign, "SELECT 1 FROM ax_tasks WHERE id = ? FOR UPDATE", tasks[150].ID[:])

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
				if i == 150 {
					want = store.Locked
				}
				if r.Status != want {
					t.Fatalf("task %d: %v, want %v", i, r.Status, want)
				}
			}
			if err := foreign.Rollback(); err != nil {
				t.Fatal(err)
			}
			rs, err = s.Apply(soon(t), fence, claims(tasks[150:151], token))
			if err != nil || rs[0].Status != store.Applied {
				t.Errorf("after the foreign transaction: %v, %v", rs, err)
			}
		})
	}
}

// answer is that of an insert of one task.
type answer struct {
	in  []store.Inserted
	err error
}

// A foreign transaction holds a key, of a live task or one that is to stay taken, and stays open:
// the insert that wants the same key waits, or gives up with its context; the others of its
// flush do not wait for it.
func TestOpenKeyDelaysOnlyItself(t *testing.T) {
	for name, unique := range map[string]task.Unique{"unique": 0, "kept": task.UniqueForever} {
		for _, commits := range []bool{true, false} {
			t.Run(fmt.Sprint(name, commits), func(t *testing.T) {
				t.Parallel()
				dsn := testdb.MySQL(t)
				s := openStore(t, dsn)
				foreign := begin(t, handle(t, dsn))
				theirs, mine := keyedTask(), keyedTask()
				mine.Kind, mine.Key = theirs.Kind, theirs.Key
				mine.Unique, theirs.Unique = unique, unique
				if _, err := s.InsertTx(t.Context(), foreign, []task.Task{theirs}); err != nil {
					t.Fatal(err)
				}
				short, cancel := context.WithTimeout(t.Context(), 1300*time.Millisecond)
				defer cancel()
				if _, err := s.Insert(short, store.Fence{}, []task.Task{mine}); !errors.Is(err,
					context.DeadlineExceeded) {
					t.Errorf("while it is open: %v", err)
				}
				insert := func(tk task.Task, to chan answer) {
					in, err := s.Insert(soon(t), store.Fence{}, []task.Task{tk})
					to <- answer{in, err}
				}
				waits, others := make(chan answer, 1), make(chan answer, 16)
				go insert(mine, waits)
				for range cap(others) {
					go insert(keyedTask(), others)
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
				end, want := foreign.Rollback, mine.ID
				if commits {
					end, want = foreign.Commit, theirs.ID
				}
				if err := end(); err != nil {
					t.Fatal(err)
				}
				if a := <-waits; a.err != nil || a.in[0].ID != want ||
					a.in[0].Duplicate != commits {
					t.Errorf("after its end: %+v; want task %s", a, want)
				}
			})
		}
	}
}

// A leader that was stopped in the middle of a write holds its fence; the next one gets it, and
// what the first one had written is gone.
func TestInstallEndsAStuckHolder(t *testing.T) {
	t.Run("own", func(t *testing.T) {
		dsn := testdb.MySQL(t)
		endsAStuckHolder(t, openStore(t, dsn), openStore(t, dsn))
	})
	t.Run("over a handle", func(t *testing.T) {
		dsn := testdb.MySQL(t)
		db := handle(t, dsn)
		first, err := mysql.New(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		endsAStuckHolder(t, first, openStore(t, dsn))
		// A session of the handle is not known by a fence when it is given back.
		f := store.Fence{Partition: 8}
		if f.Token, err = first.Install(t.Context(), f.Partition, 0, "me"); err != nil {
			t.Fatal(err)
		}
		if _, err := first.Apply(t.Context(), f, nil); err != nil {
			t.Fatal(err)
		}
		if ids, err := mysql.Marked(soon(t), first, f); err != nil || len(ids) != 0 {
			t.Errorf("sessions %v, %v", ids, err)
		}
	})
}

func endsAStuckHolder(t *testing.T, first, second *mysql.Store) {
	t.Helper()
	if _, err := first.Install(t.Context(), 7, 0, "first"); err != nil {
		t.Fatal(err)
	}
	entered, leave := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- mysql.HoldFence(soon(t), first, store.Fence{Partition: 7, Token: 1}, func() {
			close(entered)
			<-leave
		})
	}()
	<-entered
	token, err := second.Install(soon(t), 7, 1, "second")
	if err != nil || token != 2 {
		t.Fatalf("token %d, %v", token, err)
	}
	close(leave)
	if err := <-done; err == nil {
		t.Error("the write of the stopped leader was committed")
	}
	if _, err := first.Apply(soon(t), store.Fence{Partition: 7, Token: 1}, nil); !errors.Is(err,
		store.ErrFenced) {
		t.Errorf("the stopped leader goes on: %v", err)
	}
	// The connections of the new leader are found under its own token alone.
	next := store.Fence{Partition: 7, Token: 2}
	if _, err := second.Apply(soon(t), next, nil); err != nil {
		t.Error(err)
	}
	ids, err := mysql.Marked(soon(t), second, next)
	old, oldErr := mysql.Marked(soon(t), second, store.Fence{Partition: 7, Token: 1})
	if err != nil || oldErr != nil || len(ids) != 1 || slices.Contains(old, ids[0]) {
		t.Errorf("sessions %v of the new token, %v of the old one; %v, %v", ids, old, err, oldErr)
	}
}

// Two programs whose batches cross, in the order of rows, of unique keys and of overlap keys, see
// neither a deadlock nor a lock time-out.
func TestCrossingBatchesSurfaceNoDeadlock(t *testing.T) {
	dsn := testdb.MySQL(t)
	stores := [2]store.Store{openStore(t, dsn), openStore(t, dsn)}
	n := 0
	tasks := stored(t, stores[0], makeTasks(100, func() task.Task {
		t := plainTask()
		n++
		t.Overlap, t.OverlapKey = task.OverlapSkip, fmt.Sprint("key-", n%25)
		return t
	}))
	done := make(chan error, 6)
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
	for round := range 6 {
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
		fresh := makeTasks(40, plainTask)
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
