package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

var liveTests = []test{
	{"Epochs", testLiveEpochs},
	{"Pages", testLivePages},
	{"Asked", testLiveAsked},
	{"WithoutPayload", testLiveLight},
	{"D07 a task without a living executor is seen", testD07},
	{"All", testLiveAll},
}

func live(t *testing.T, s store.Watcher, q store.LiveQuery) []task.Task {
	t.Helper()
	rows, err := s.Live(t.Context(), q)
	if err != nil {
		t.Fatalf("live: %v", err)
	}
	return rows
}

func idsOf(rows []task.Task) []task.ID {
	ids := make([]task.ID, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	return ids
}

// claimed makes n live tasks of one epoch, every second one in RUNNING, and returns their ids.
func claimed(t *testing.T, s Full, epoch int64, n int) []task.ID {
	t.Helper()
	ids := make([]task.ID, n)
	trs := make([]*task.Transition, n)
	tasks := make([]task.Task, n)
	for i := range tasks {
		tasks[i] = newTask(t.Name())
		tasks[i].Payload = []byte("payload")
		ids[i] = tasks[i].ID
		row := tasks[i]
		row.Version, row.RunAt = 1, 1
		trs[i] = follow(&row, []task.Event{task.Claim, task.ClaimLocal}[i%2])
		trs[i].Set.Epoch = epoch
	}
	slices.Reverse(tasks)
	insert(t, s, tasks...)
	for i, r := range apply(t, s, trs...) {
		if r.Status != store.Applied {
			t.Fatalf("claim %d: %s", i, r.Status)
		}
	}
	return ids
}

func testLiveEpochs(t *testing.T, s Full) {
	a, b := number(), number()
	idsA, idsB := claimed(t, s, a, 5), claimed(t, s, b, 3)
	same(t, "tasks of epoch a", idsA, idsOf(live(t, s, store.LiveQuery{Epoch: a})))
	same(t, "tasks of epoch b", idsB, idsOf(live(t, s, store.LiveQuery{Epoch: b})))
	for _, e := range []task.Event{task.Succeed, task.Hold, task.Return} {
		row := read(t, s, idsA[0])
		if row.State == task.Dispatching && e == task.Succeed {
			row = mustApply(t, s, follow(&row, task.Accept))
		}
		if row.State == task.Running && e == task.Return {
			e = task.HandBack
		}
		mustApply(t, s, follow(&row, e))
		idsA = idsA[1:]
		same(t, "tasks of epoch a after some ended", idsA,
			idsOf(live(t, s, store.LiveQuery{Epoch: a})))
	}
	if got := live(t, s, store.LiveQuery{Epoch: number()}); len(got) != 0 {
		t.Errorf("an epoch without tasks has %d", len(got))
	}
}

func testLivePages(t *testing.T, s Full) {
	epoch := number()
	ids := claimed(t, s, epoch, 1100)
	same(t, "default page", ids[:1000], idsOf(live(t, s, store.LiveQuery{Epoch: epoch})))
	var got []task.ID
	q := store.LiveQuery{Epoch: epoch, Limit: 300}
	for {
		page := idsOf(live(t, s, q))
		got = append(got, page...)
		if len(page) < q.Limit {
			break
		}
		q.After = page[len(page)-1]
	}
	same(t, "all pages", ids, got)
}

func testLiveAsked(t *testing.T, s Full) {
	epoch := number()
	ids := claimed(t, s, epoch, 6)
	if got := live(t, s, store.LiveQuery{Epoch: epoch, Asked: true}); len(got) != 0 {
		t.Errorf("nobody asked, but %d are listed", len(got))
	}
	for _, i := range []int{4, 1} {
		row := read(t, s, ids[i])
		mustApply(t, s, follow(&row, task.AskCancel))
	}
	want := []task.ID{ids[1], ids[4]}
	same(t, "asked", want, idsOf(live(t, s, store.LiveQuery{Epoch: epoch, Asked: true})))
	same(t, "asked, second page", want[1:],
		idsOf(live(t, s, store.LiveQuery{Epoch: epoch, Asked: true, After: want[0]})))
	found := 0
	for _, r := range live(t, s, store.LiveQuery{Asked: true, Limit: 1_000_000}) {
		if slices.Contains(want, r.ID) {
			found++
		}
		if r.CancelAsked == 0 {
			t.Errorf("task %s was not asked", r.ID)
		}
	}
	if found != 2 {
		t.Errorf("%d of 2 asked tasks over all epochs", found)
	}
}

func testLiveLight(t *testing.T, s Full) {
	epoch := number()
	tk := fullTask(t.Name())
	insert(t, s, tk)
	row := read(t, s, tk.ID)
	tr := follow(&row, task.ClaimLocal)
	tr.Set.Epoch, tr.Set.Result = epoch, []byte("result")
	want := mustApply(t, s, tr)
	want.Payload, want.Result = nil, nil
	same(t, "live", []task.Task{want}, live(t, s, store.LiveQuery{Epoch: epoch}))
}

// Recovery goes by the living epochs, so a task whose executor has no entry at all is found.
func testD07(t *testing.T, s Full) {
	epoch, err := s.Registry().Register(t.Context(), registry.Member{Name: name("exec"),
		Instance: name("i"), Group: "default", Slots: 1}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	ids := claimed(t, s, epoch, 2)
	if err := s.Registry().Leave(t.Context(), epoch); err != nil {
		t.Fatal(err)
	}
	members, err := s.Registry().Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(members, func(m registry.Member) bool { return m.Epoch == epoch }) {
		t.Errorf("epoch %d has left and is still listed", epoch)
	}
	same(t, "its tasks", ids, idsOf(live(t, s, store.LiveQuery{Epoch: epoch})))
	for _, id := range ids {
		row := read(t, s, id)
		if row = mustApply(t, s, follow(&row, task.Lose, task.Recover)); row.State != task.Scheduled {
			t.Errorf("recovered into %s", row.State)
		}
	}
	if got := live(t, s, store.LiveQuery{Epoch: epoch}); len(got) != 0 {
		t.Errorf("%d tasks are still live", len(got))
	}
}

func testLiveAll(t *testing.T, s Full) {
	ids := append(claimed(t, s, number(), 2), claimed(t, s, number(), 2)...)
	all := idsOf(live(t, s, store.LiveQuery{Limit: 1_000_000}))
	if !slices.IsSortedFunc(all, compareIDs) {
		t.Error("live tasks are not in the order of their ids")
	}
	for _, id := range ids {
		if !slices.Contains(all, id) {
			t.Errorf("task %s is missing among all live ones", id)
		}
	}
}
