package mysql_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/ax-sched/ax/internal/testdb"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// TestServerCrash kills the server in the middle of work: what was acknowledged is there when it is
// back, no row is half written, a repeat of what failed is no second task, and the store goes on by
// itself.
func TestServerCrash(t *testing.T) {
	server := testdb.StartMariaDB(t, testdb.Options{})
	s := openStore(t, server.Database(t))
	for round := range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var made, failed []task.Task
		enough := make(chan struct{})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for ctx.Err() == nil {
					ts := makeTasks(3, keyedTask)
					_, err := s.Insert(ctx, store.Fence{}, ts)
					if err == nil {
						_, err = s.Apply(ctx, store.Fence{}, claims(withVersion(ts), 1))
					}
					mu.Lock()
					if err == nil {
						if made = append(made, ts...); len(made) == 60 {
							close(enough)
						}
					} else {
						failed = append(failed, ts...)
					}
					mu.Unlock()
					if err != nil {
						return
					}
				}
			})
		}
		<-enough
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		cancel()
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		settled(t, s)
		checkCrash(t, s, made, failed)
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
}

func withVersion(ts []task.Task) []task.Task {
	for i := range ts {
		ts[i].Version = 1
	}
	return ts
}

// settled waits until the store works again.
func settled(t *testing.T, s store.Store) {
	t.Helper()
	ctx := soon(t)
	for {
		_, err := s.Insert(ctx, store.Fence{}, makeTasks(1, plainTask))
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the store does not come back: %v", err)
		}
	}
}

func checkCrash(t *testing.T, s store.Store, made, failed []task.Task) {
	t.Helper()
	for i := range made {
		row, err := s.ByKey(t.Context(), made[i].Kind, made[i].Key)
		if err != nil || row.ID != made[i].ID || row.State != task.Running {
			t.Fatalf("task %s was acknowledged: %+v, %v", made[i].ID, row, err)
		}
		if h, err := s.History(t.Context(), row.ID); err != nil || int64(len(h)) != row.Version {
			t.Fatalf("history %+v of version %d, %v", h, row.Version, err)
		}
	}
	for i := range failed {
		in, err := s.Insert(t.Context(), store.Fence{}, failed[i:i+1])
		if err != nil || in[0].Duplicate || in[0].ID != failed[i].ID {
			t.Fatalf("repeat of task %s: %+v, %v", failed[i].ID, in, err)
		}
		h, err := s.History(t.Context(), failed[i].ID)
		if err != nil || int64(len(h)) != in[0].Version {
			t.Fatalf("history %+v of version %d, %v", h, in[0].Version, err)
		}
	}
}

// TestRestart: after the server was stopped and started, the store works without an error that a
// caller sees, because dead connections are noticed before they are used; while it is down calls
// fail at once.
func TestRestart(t *testing.T) {
	server := testdb.StartMariaDB(t, testdb.Options{Fast: true})
	s := openStore(t, server.Database(t))
	tk := stored(t, s, makeTasks(1, keyedTask))[0]
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tasks(soon(t), []task.ID{tk.ID}); err == nil {
		t.Error("a stopped server answers")
	}
	if err := s.Leases().Acquire(soon(t), 0, "me", time.Minute); err == nil {
		t.Error("a stopped server gives a lease")
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	rows, err := s.Tasks(soon(t), []task.ID{tk.ID})
	if err != nil || len(rows) != 1 {
		t.Errorf("%v, %v", rows, err)
	}
	rs, err := s.Apply(soon(t), store.Fence{}, claims(rows, 1))
	if err != nil || rs[0].Status != store.Applied {
		t.Errorf("%v, %v", rs, err)
	}
	if err := s.Leases().Acquire(soon(t), 0, "me", time.Minute); err != nil {
		t.Error(err)
	}
}

// TestKilledConnections: an administrator ends all sessions in the middle of nothing.
func TestKilledConnections(t *testing.T) {
	dsn := testdb.MySQL(t)
	s := openStore(t, dsn)
	stored(t, s, makeTasks(1, plainTask))
	db := handle(t, dsn)
	rows, err := db.QueryContext(t.Context(), `SELECT id FROM information_schema.processlist
		WHERE db = database() AND id <> connection_id()`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		t.Fatal("the store has no connection")
	}
	for _, id := range ids {
		if _, err := db.ExecContext(t.Context(), "KILL ?", id); err != nil {
			t.Fatal(err)
		}
	}
	stored(t, s, makeTasks(1, plainTask))
}

// TestContextEndsAWait: a call that waits for a lock ends with its context.
func TestContextEndsAWait(t *testing.T) {
	dsn := testdb.MySQL(t)
	s := openStore(t, dsn)
	if _, err := s.PutJob(t.Context(), task.Job{ID: newID(), Name: "j", Kind: "k"}); err != nil {
		t.Fatal(err)
	}
	foreign := begin(t, handle(t, dsn))
	exec(t, foreign, "SELECT 1 FROM ax_jobs FOR UPDATE")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := s.DeleteJob(ctx, "j"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if err := s.DeleteJob(soon(t), "j"); !errors.Is(err, store.ErrBusy) {
		t.Errorf("without an end of its own the call gave %v; want ErrBusy", err)
	}
	if err := foreign.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteJob(soon(t), "j"); err != nil {
		t.Error(err)
	}
}
