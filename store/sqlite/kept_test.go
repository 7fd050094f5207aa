package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite"
	"github.com/ax-sched/ax/task"
)

// TestWindowToTheMicrosecond: a key is kept until the end of its window, and neither a microsecond
// less nor more; the same for a transaction of the caller's and for Prune.
func TestWindowToTheMicrosecond(t *testing.T) {
	at := time.Now()
	path := filepath.Join(t.TempDir(), "ax.db")
	s := open(t, path, sqlite.Clock(func() time.Time { return at }))
	db := handle(t, path, "_txlock=immediate")
	insert := func(tx bool) store.Inserted {
		t.Helper()
		tk := newTask()
		tk.Key, tk.Unique = "k", task.UniqueFor(time.Hour)
		if !tx {
			in, err := s.Insert(t.Context(), store.Fence{}, []task.Task{tk})
			if err != nil {
				t.Fatal(err)
			}
			return in[0]
		}
		c, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		in, err := s.InsertTx(t.Context(), c, []task.Task{tk})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Commit(); err != nil {
			t.Fatal(err)
		}
		return in[0]
	}
	prune := func(keys int) {
		t.Helper()
		out, err := s.Prune(t.Context(), store.Fence{}, store.Prune{})
		if err != nil || out.Keys != keys {
			t.Errorf("pruned %+v, %v; want %d keys", out, err, keys)
		}
	}
	for _, tx := range []bool{false, true, false, true} {
		first := insert(tx)
		if first.Duplicate {
			t.Fatalf("in a transaction %t: at the end of the window: %+v", tx, first)
		}
		row := task.Task{ID: first.ID, Version: 1, Kind: "k", Key: "k"}
		row.State = task.Scheduled
		mustApply(t, s, store.Fence{},
			[]*task.Transition{task.Begin(&row).Then(task.Cancel, 0, "").Keys(&row)})
		at = at.Add(time.Hour - time.Microsecond)
		prune(0)
		if in := insert(tx); !in.Duplicate || in.ID != first.ID {
			t.Errorf("in a transaction %t: a microsecond before the end: %+v", tx, in)
		}
		at = at.Add(time.Microsecond)
	}
	prune(1)
	prune(0)
}
