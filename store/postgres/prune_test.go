package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/ax-sched/ax/internal/testdb"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// pruned opens a store with n dead tasks and a waiting one.
func pruned(t *testing.T, n int) (*Store, []task.Task, store.Prune) {
	t.Helper()
	s, err := Open(t.Context(), testdb.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	rows := make([]task.Task, n+1)
	trs := make([]*task.Transition, n)
	for i := range rows {
		rows[i] = task.Task{ID: task.NewID(int64(i+1), [10]byte{}), Kind: "k", Group: "g",
			Bucket: task.Normal, MaxRetries: -1,
			Mutable: task.Mutable{State: task.Scheduled, Run: 1, RunAt: task.StoreNow}}
		if i < n {
			row := rows[i]
			row.Version = 1
			trs[i] = task.Begin(&row).Then(task.Expire, task.Expired, "")
		}
	}
	if _, err := s.Insert(t.Context(), store.Fence{}, rows); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), store.Fence{}, trs); err != nil {
		t.Fatal(err)
	}
	return s, rows, store.Prune{Limit: 1000, Keep: store.Retention{
		Default: store.Keep{Dead: time.Nanosecond}}}
}

// TestPruneMeanwhile: between the reading and the deleting a task comes back and is dead again, and
// later a newer leader is elected.
func TestPruneMeanwhile(t *testing.T) {
	s, rows, p := pruned(t, 2)
	f := store.Fence{}
	var err error
	if f.Token, err = s.Install(t.Context(), 0, 0, "old"); err != nil {
		t.Fatal(err)
	}
	over, _, err := s.readEnded(t.Context(), f, &p)
	if err != nil || len(over) != 2 {
		t.Fatalf("%d tasks are over, %v; want 2", len(over), err)
	}
	back, err := s.Tasks(t.Context(), []task.ID{rows[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	tr := task.Begin(&back[0]).Then(task.Redrive, task.NoReason, "").
		Then(task.Expire, task.Expired, "")
	if res, err := s.Apply(t.Context(), store.Fence{}, []*task.Transition{tr}); err != nil ||
		res[0].Status != store.Applied {
		t.Fatal(res, err)
	}
	if n, err := s.deleteEnded(t.Context(), f, over); err != nil || n != 1 {
		t.Errorf("%d tasks were deleted, %v; want 1", n, err)
	}
	if h, err := s.History(t.Context(), rows[0].ID); err != nil || len(h) != 4 {
		t.Errorf("the task that came back has %d history rows, %v; want 4", len(h), err)
	}
	if over, _, err = s.readEnded(t.Context(), f, &p); err != nil || len(over) != 1 {
		t.Fatalf("%d tasks are over, %v; want 1", len(over), err)
	}
	if _, err := s.Install(t.Context(), 0, f.Token, "new"); err != nil {
		t.Fatal(err)
	}
	if n, err := s.deleteEnded(t.Context(), f, over); !errors.Is(err, store.ErrFenced) {
		t.Errorf("the old leader deleted %d tasks, %v; want ErrFenced", n, err)
	}
	if h, err := s.History(t.Context(), rows[0].ID); err != nil || len(h) != 4 {
		t.Errorf("%d history rows, %v; want 4", len(h), err)
	}
}
