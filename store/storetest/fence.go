package storetest

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

var fenceTests = []test{
	{"Install", testInstall},
	{"InstallIsCAS", testInstallIsCAS},
	{"StaleTokenWritesNothing", testStaleToken},
	{"H07 a token is issued and checked by the store", testH07},
	{"PartitionsAreApart", testPartitions},
	{"ZeroFence", testZeroFence},
}

func testInstall(t *testing.T, s Full) {
	p := partition()
	if token, err := s.Token(t.Context(), p); err != nil || token != 0 {
		t.Fatalf("the token of a partition that never had a leader: %d, %v", token, err)
	}
	for want := int64(1); want < 5; want++ {
		token, err := s.Install(t.Context(), p, want-1, "holder")
		if err != nil || token != want {
			t.Fatalf("install after %d gave %d, %v", want-1, token, err)
		}
		if token, err = s.Token(t.Context(), p); err != nil || token != want {
			t.Fatalf("token after the install of %d: %d, %v", want, token, err)
		}
	}
	for _, seen := range []int64{0, 1, 3, 5, 100, -1} {
		if token, err := s.Install(t.Context(), p, seen, "late"); !errors.Is(err, store.ErrFenced) {
			t.Errorf("install over %d while 4 is installed gave %d, %v", seen, token, err)
		}
	}
	if token, _ := s.Token(t.Context(), p); token != 4 {
		t.Errorf("refused installs moved the token to %d", token)
	}
}

// Of candidates that saw the same token, one is elected, also where the partition has no row yet.
func testInstallIsCAS(t *testing.T, s Full) {
	p := partition()
	for seen := range int64(10) {
		var won atomic.Int32
		async(4, func(int) {
			switch token, err := s.Install(t.Context(), p, seen, name("holder")); {
			case err == nil && token == seen+1:
				won.Add(1)
			case !errors.Is(err, store.ErrFenced):
				t.Errorf("install: %d, %v", token, err)
			}
		})
		if won.Load() != 1 {
			t.Fatalf("%d candidates installed token %d; want 1", won.Load(), seen+1)
		}
	}
}

// A stale token refuses the whole call, whatever else it holds.
func testStaleToken(t *testing.T, s Full) {
	old := lead(t, s)
	row := inState(t, s, task.Scheduled, nil)
	job := putJob(t, s, newJob(t.Name()))
	install(t, s, old.Partition)
	for _, f := range []store.Fence{old, {Partition: old.Partition, Token: old.Token + 2},
		{Partition: partition(), Token: 1}} {
		if _, err := s.Apply(t.Context(), f, []*task.Transition{follow(&row, task.Claim)}); !errors.Is(
			err, store.ErrFenced) {
			t.Errorf("apply under %+v gave %v; want ErrFenced", f, err)
		}
		plain, claimed := newTask(t.Name()), newTask(t.Name())
		claimed.State, claimed.Attempt, claimed.ExecutionID = task.Running, 1, newID()
		if _, err := s.Insert(t.Context(), f, []task.Task{plain, claimed}); !errors.Is(err,
			store.ErrFenced) {
			t.Errorf("insert under %+v gave %v; want ErrFenced", f, err)
		}
		if rows, err := s.Tasks(t.Context(), []task.ID{plain.ID, claimed.ID}); err != nil ||
			len(rows) != 0 {
			t.Errorf("the refused insert left %d rows, %v", len(rows), err)
		}
		if _, err := s.Fire(t.Context(), f, []store.Fire{fireOf(job, job.LastFire+1)}); !errors.Is(
			err, store.ErrFenced) {
			t.Errorf("fire under %+v gave %v; want ErrFenced", f, err)
		}
	}
	same(t, "row", row, read(t, s, row.ID))
	same(t, "job", job, findJob(t, s, job.ID))
}

// Whoever granted the lease, the old leader's writes are refused as soon as the new one installed
// its token, and the new one's are taken.
func testH07(t *testing.T, s Full) {
	old := lead(t, s)
	row := inState(t, s, task.Scheduled, nil)
	tr := follow(&row, task.Claim)
	next := store.Fence{Partition: old.Partition, Token: install(t, s, old.Partition)}
	if next.Token <= old.Token {
		t.Errorf("the new token is %d after %d", next.Token, old.Token)
	}
	for range 100 {
		if _, err := s.Apply(t.Context(), old, []*task.Transition{tr}); !errors.Is(err,
			store.ErrFenced) {
			t.Fatalf("a write by the old leader gave %v; want ErrFenced", err)
		}
	}
	if res, err := s.Apply(t.Context(), next, []*task.Transition{tr}); err != nil ||
		res[0].Status != store.Applied {
		t.Errorf("the new leader's write: %v, %v", res, err)
	}
	if h := history(t, s, row.ID); len(h) != 2 {
		t.Errorf("%d history rows; want 2", len(h))
	}
}

func testPartitions(t *testing.T, s Full) {
	a, b := lead(t, s), lead(t, s)
	install(t, s, a.Partition)
	row := inState(t, s, task.Scheduled, nil)
	if res, err := s.Apply(t.Context(), b, []*task.Transition{follow(&row, task.Claim)}); err != nil ||
		res[0].Status != store.Applied {
		t.Errorf("a write under the token of another partition: %v, %v", res, err)
	}
}

// Submits, outcomes and persons need no leader.
func testZeroFence(t *testing.T, s Full) {
	if seen, err := s.Token(t.Context(), 0); err != nil {
		t.Fatal(err)
	} else if _, err := s.Install(t.Context(), 0, seen, "storetest"); err != nil {
		t.Fatal(err)
	}
	row := inState(t, s, task.Running, nil)
	mustApply(t, s, follow(&row, task.Succeed))
}
