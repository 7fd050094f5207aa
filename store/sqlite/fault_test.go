package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite"
	"github.com/ax-sched/ax/task"
)

// S04: another process holds the write lock. Writes wait for it, reads do not, and nothing is
// lost.
func TestS04(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ax.db")
	s := open(t, path, sqlite.BusyTimeout(time.Hour))
	other := foreign(t, path)
	for range 5 {
		if err := other.Exec("BEGIN IMMEDIATE"); err != nil {
			t.Fatal(err)
		}
		ts := newTasks(40, true)
		var wg sync.WaitGroup
		for i := range ts {
			wg.Go(func() { mustInsert(t, s, ts[i:i+1]) })
		}
		for s.Waiting() < len(ts)-1 { // the first waits for the lock, the others for the first
			if _, err := s.Count(t.Context(), 0); err != nil {
				t.Fatalf("a read while another process writes: %v", err)
			}
		}
		if err := other.Exec("COMMIT"); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		for i := range ts {
			if got, err := s.ByKey(t.Context(), ts[i].Kind, ts[i].Key); err != nil ||
				got.ID != ts[i].ID {
				t.Errorf("task %d: %v, %v", i, got.ID, err)
			}
		}
	}
}

// Beyond the time-out the error says so, nothing is written, and the store goes on.
func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ax.db")
	s := open(t, path, sqlite.BusyTimeout(20*time.Millisecond))
	other := foreign(t, path)
	if err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	ts := newTasks(8, false)
	var wg sync.WaitGroup
	for i := range ts {
		wg.Go(func() {
			if _, err := s.Insert(t.Context(), store.Fence{}, ts[i:i+1]); !errors.Is(err,
				store.ErrBusy) {
				t.Errorf("insert beyond the time-out gave %v; want ErrBusy", err)
			}
		})
	}
	wg.Wait()
	if err := other.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Count(t.Context(), 0); err != nil || len(n) != 0 {
		t.Errorf("the refused inserts left %v, %v", n, err)
	}
	mustInsert(t, s, ts)
}

// A caller whose context ends while it waits leaves, and the others are served.
func TestLeaveTheQueue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ax.db")
	s := open(t, path, sqlite.BusyTimeout(time.Hour))
	other := foreign(t, path)
	if err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	ts := newTasks(10, false)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range ts {
		wg.Go(func() {
			c, want := t.Context(), error(nil)
			if i%2 == 0 {
				c, want = ctx, context.Canceled
			}
			if _, err := s.Insert(c, store.Fence{}, ts[i:i+1]); !errors.Is(err, want) {
				t.Errorf("insert %d: %v; want %v", i, err, want)
			}
		})
	}
	for s.Waiting() < len(ts)-1 {
		if _, err := s.Now(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	for s.Waiting() > 4 { // five of ten remain, and one of them waits for the lock
		if _, err := s.Now(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	rows, err := s.List(t.Context(), store.Query{})
	if err != nil || len(rows) != 5 {
		t.Errorf("%d rows, %v; want those of the five that stayed", len(rows), err)
	}
}

// Calls that are refused or fail do not disturb the others of their group.
func TestGroupWithRefusals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ax.db")
	s := open(t, path, sqlite.BusyTimeout(time.Hour))
	fence := lead(t, s)
	// The constraint fails after the task's row is written: a failure in the middle of a call.
	twice := newTasks(2, false)
	twice[0].JobID, twice[0].FireTime, twice[0].FireCount = twice[0].ID, 5, 1
	twice[1].JobID, twice[1].FireTime, twice[1].FireCount = twice[0].ID, 5, 1
	mustInsert(t, s, twice[:1])

	other := foreign(t, path)
	if err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	ts := newTasks(20, false)
	var wg sync.WaitGroup
	for i := range ts {
		wg.Go(func() { mustInsert(t, s, ts[i:i+1]) })
	}
	wg.Go(func() {
		stale := store.Fence{Token: fence.Token + 1}
		if _, err := s.Insert(t.Context(), stale, newTasks(1, false)); !errors.Is(err,
			store.ErrFenced) {
			t.Errorf("a stale fence gave %v", err)
		}
	})
	wg.Go(func() {
		if in, err := s.Insert(t.Context(), store.Fence{}, twice[1:]); err == nil {
			t.Errorf("a second fire of one time was inserted: %+v", in)
		}
	})
	wg.Go(func() {
		if err := s.DeleteJob(t.Context(), "none"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("delete of a job that is not there gave %v", err)
		}
	})
	for s.Waiting() < len(ts)+2 {
		if _, err := s.Now(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	rows, err := s.List(t.Context(), store.Query{Limit: 1000})
	if err != nil || len(rows) != len(ts)+1 {
		t.Errorf("%d rows, %v; want %d", len(rows), err, len(ts)+1)
	}
	for _, r := range rows {
		if h, err := s.History(t.Context(), r.ID); err != nil || len(h) != 1 {
			t.Errorf("history of %s: %v, %v", r.ID, h, err)
		}
	}
}

// A full file refuses what does not fit, as a whole, and takes what fits later.
func TestFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ax.db")
	s := open(t, path, sqlite.MaxPages(60))
	var ids []task.ID
	for {
		ts := newTasks(50, true)
		ts[0].Payload = make([]byte, 20_000)
		_, err := s.Insert(t.Context(), store.Fence{}, ts)
		if err != nil {
			if !errors.Is(err, store.ErrFull) {
				t.Fatalf("insert into a full file gave %v; want ErrFull", err)
			}
			for i := range ts {
				if rows, err := s.Tasks(t.Context(), []task.ID{ts[i].ID}); err != nil ||
					len(rows) != 0 {
					t.Fatalf("the refused call left task %d: %v", i, err)
				}
			}
			break
		}
		for i := range ts {
			ids = append(ids, ts[i].ID)
		}
	}
	if len(ids) == 0 {
		t.Fatal("nothing fitted into the file")
	}
	if rows, err := s.Tasks(t.Context(), ids); err != nil || len(rows) != len(ids) {
		t.Errorf("%d of %d acknowledged tasks, %v", len(rows), len(ids), err)
	}
	if err := s.WriterExec("PRAGMA max_page_count = 100000"); err != nil {
		t.Fatal(err)
	}
	mustInsert(t, s, newTasks(50, true))
}

func TestReadOnly(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "ax.db"))
	ts := newTasks(2, false)
	mustInsert(t, s, ts[:1])
	if err := s.WriterExec("PRAGMA query_only = 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Insert(t.Context(), store.Fence{}, ts[1:]); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("insert gave %v; want ErrReadOnly", err)
	}
	if rows, err := s.Tasks(t.Context(), []task.ID{ts[0].ID, ts[1].ID}); err != nil ||
		len(rows) != 1 {
		t.Errorf("%d rows, %v; want the one from before", len(rows), err)
	}
}

// A read is ended by its context, and its connection serves the next read.
func TestReadIsInterrupted(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "ax.db"))
	mustInsert(t, s, newTasks(20_000, false))
	for i := range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*100*time.Microsecond)
		rows, err := s.List(ctx, store.Query{Key: "none"})
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("list gave %d rows, %v", len(rows), err)
		}
		cancel()
		if n, err := s.Count(t.Context(), 0); err != nil || n[task.Scheduled] != 20_000 {
			t.Fatalf("count after an interrupted read: %v, %v", n, err)
		}
	}
}
