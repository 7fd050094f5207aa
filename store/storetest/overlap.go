package storetest

import (
	"slices"
	"testing"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

var overlapTests = []test{
	{"TakeAndFree", testTakeAndFree},
	{"QueueKeepsItsKey", testQueueKey},
	{"HeldKeepsItsKey", testHeldKey},
	{"ManyClaimsOfOneKey", testManyClaims},
	{"RefusedClaimTakesNoKey", testRefusedClaim},
	{"ManyKeysInOneBatch", testManyKeys},
	{"ConcurrentClaimsOfOneKey", testConcurrentClaims},
	{"CrossingKeys", testCrossingKeys},
	{"KeyAndUniqueAreApart", testKeyAndUnique},
}

// keyed makes a scheduled task with an overlap key.
func keyed(t *testing.T, s Full, key string) task.Task {
	t.Helper()
	return inState(t, s, task.Scheduled, func(tk *task.Task) {
		tk.Overlap, tk.OverlapKey = task.OverlapSkip, key
	})
}

func testTakeAndFree(t *testing.T, s Full) {
	key := name("o")
	ends := [][]task.Event{
		{task.Succeed}, {task.Fail, task.Retry}, {task.Fail, task.Bury}, {task.TimeOut, task.Retry},
		{task.Lose, task.Recover}, {task.Cancel}, {task.Snooze}, {task.HandBack},
	}
	waiting := keyed(t, s, key)
	for _, end := range ends {
		holder := keyed(t, s, key)
		if holder = mustApply(t, s, follow(&holder, task.ClaimLocal)); !holder.HoldsKey() {
			t.Fatalf("a running task holds no key: %+v", holder)
		}
		claim := follow(&waiting, task.Claim)
		if res := apply(t, s, claim)[0]; res.Status != store.KeyBusy {
			t.Fatalf("claim while the key is held: %s; want key_busy", res.Status)
		}
		same(t, "the waiting row", waiting, read(t, s, waiting.ID))
		mustApply(t, s, follow(&holder, end...))
		waiting = mustApply(t, s, claim)
		waiting = mustApply(t, s, follow(&waiting, task.Return))
	}
	history(t, s, waiting.ID)
	skip := follow(&waiting, task.Skip)
	mustApply(t, s, skip)
}

// A task of a queue keeps its key between its attempts and gives it back at its end, whatever that
// is.
func testQueueKey(t *testing.T, s Full) {
	between := [][]task.Event{{task.Fail, task.Retry}, {task.Snooze}, {task.HandBack},
		{task.Lose, task.Recover}, {task.TimeOut, task.Retry}}
	for i, end := range [][]task.Event{{task.Cancel}, {task.Expire}, {task.Succeed},
		{task.ClaimLocal, task.Fail, task.Bury}, {task.ClaimLocal, task.Succeed}} {
		key := name("o")
		holder := inState(t, s, task.Scheduled, func(tk *task.Task) {
			tk.Overlap, tk.OverlapKey = task.OverlapQueue, key
		})
		waiting := keyed(t, s, key)
		mustApply(t, s, follow(&holder, task.Reschedule)) // not begun: it holds nothing
		holder = read(t, s, holder.ID)
		holder = mustApply(t, s, follow(&holder, task.ClaimLocal))
		holder = mustApply(t, s, follow(&holder, between[i]...))
		claim := follow(&waiting, task.ClaimLocal)
		if res := apply(t, s, claim)[0]; res.Status != store.KeyBusy {
			t.Fatalf("claim between the attempts of another task, after %v: %s; want key_busy",
				between[i], res.Status)
		}
		for _, e := range end {
			if e == task.ClaimLocal {
				holder = mustApply(t, s, follow(&holder, e))
			}
		}
		if end[0] == task.ClaimLocal {
			end = end[1:]
		}
		mustApply(t, s, follow(&holder, end...))
		if mustApply(t, s, claim).State != task.Running {
			t.Fatalf("the key is not free after %v", end)
		}
	}
}

// Nobody knows whether a held execution still runs: it keeps the key until a person decides.
func testHeldKey(t *testing.T, s Full) {
	for _, answer := range []task.Event{task.Settle, task.GiveUp, task.Rerun, task.Cancel,
		task.Succeed, task.Trigger} {
		key := name("o")
		held := keyed(t, s, key)
		held = mustApply(t, s, follow(&held, task.Claim))
		held = mustApply(t, s, follow(&held, task.Hold))
		waiting := keyed(t, s, key)
		if res := apply(t, s, follow(&waiting, task.Claim))[0]; res.Status != store.KeyBusy {
			t.Errorf("claim while the key is with a held task: %s; want key_busy", res.Status)
		}
		mustApply(t, s, follow(&held, answer))
		mustApply(t, s, follow(&waiting, task.Claim))
	}
}

func testManyClaims(t *testing.T, s Full) {
	key := name("o")
	rows := make([]task.Task, 50)
	trs := make([]*task.Transition, len(rows))
	for i := range rows {
		rows[i] = keyed(t, s, key)
		trs[len(trs)-1-i] = follow(&rows[i], task.Claim)
	}
	won := 0
	for i, r := range apply(t, s, trs...) {
		switch r.Status {
		case store.Applied:
			won++
			row := read(t, s, trs[i].ID)
			defer mustApply(t, s, follow(&row, task.Return))
		case store.KeyBusy:
			history(t, s, trs[i].ID)
		default:
			t.Errorf("claim %d: %s", i, r.Status)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d claims of one key won; want 1", won, len(rows))
	}
}

// A claim that is refused for another cause takes no key: neither from a later call nor from
// another claim of the same one.
func testRefusedClaim(t *testing.T, s Full) {
	refused := map[string]func(*task.Transition){
		"conflict": func(tr *task.Transition) { tr.Version += 5 },
		"gone":     func(tr *task.Transition) { tr.ID = newID() },
		"not due":  func(tr *task.Transition) { tr.WhenDue = true },
	}
	for name, spoil := range refused {
		for _, badFirst := range []bool{true, false} {
			key := "o-" + newID().String()
			rows := []task.Task{keyed(t, s, key), keyed(t, s, key)}
			bad, good := 0, 1
			if !badFirst {
				bad, good = 1, 0
			}
			if name == "not due" {
				tr := follow(&rows[bad], task.Reschedule)
				tr.Set.RunAt = future(t, s)
				rows[bad] = mustApply(t, s, tr)
			}
			trs := []*task.Transition{follow(&rows[0], task.Claim), follow(&rows[1], task.Claim)}
			spoil(trs[bad])
			if got := apply(t, s, trs[bad])[0].Status; got == store.Applied || got == store.KeyBusy {
				t.Errorf("%s alone: %s", name, got)
			}
			res := apply(t, s, trs...)
			if res[good].Status != store.Applied || res[bad].Status == store.Applied {
				t.Errorf("%s beside a good claim of its key: %v, place %d is the bad one", name,
					statuses(res), bad)
			}
		}
	}
}

func testManyKeys(t *testing.T, s Full) {
	const n = 300
	trs := make([]*task.Transition, n)
	for i := range trs {
		row := keyed(t, s, name("o"))
		trs[i] = follow(&row, task.ClaimLocal)
	}
	slices.Reverse(trs)
	for i, r := range apply(t, s, trs...) {
		if r.Status != store.Applied {
			t.Fatalf("claim %d: %s", i, r.Status)
		}
		row := read(t, s, trs[i].ID)
		trs[i] = follow(&row, task.Succeed)
	}
	for i, r := range apply(t, s, trs...) {
		if r.Status != store.Applied {
			t.Fatalf("end %d: %s", i, r.Status)
		}
	}
}

func testConcurrentClaims(t *testing.T, s Full) {
	for range 10 {
		key := name("o")
		rows := make([]task.Task, 6)
		for i := range rows {
			rows[i] = keyed(t, s, key)
		}
		got := make([]store.Status, len(rows))
		async(len(rows), func(i int) {
			res, err := s.Apply(t.Context(), store.Fence{},
				[]*task.Transition{follow(&rows[i], task.Claim)})
			if err != nil {
				t.Errorf("claim: %v", err)
				return
			}
			got[i] = res[0].Status
		})
		slices.Sort(got)
		want := slices.Repeat([]store.Status{store.KeyBusy}, len(rows))
		want[0] = store.Applied
		same(t, "statuses", want, got)
	}
}

// Two callers that claim the same keys in opposite orders never deadlock, and each key has one
// holder.
func testCrossingKeys(t *testing.T, s Full) {
	const rounds, n = 10, 40
	for range rounds {
		var trs [2][]*task.Transition
		for range n {
			key := name("o")
			for side := range trs {
				row := keyed(t, s, key)
				trs[side] = append(trs[side], follow(&row, task.Claim))
			}
		}
		slices.Reverse(trs[1])
		var res [2][]store.Result
		async(2, func(side int) {
			var err error
			if res[side], err = s.Apply(t.Context(), store.Fence{}, trs[side]); err != nil {
				t.Errorf("claim: %v", err)
			}
		})
		if len(res[0]) != n || len(res[1]) != n {
			t.Fatalf("%d and %d results; want %d", len(res[0]), len(res[1]), n)
		}
		for i := range n {
			a, b := res[0][i].Status, res[1][n-1-i].Status
			if (a == store.Applied) == (b == store.Applied) {
				t.Fatalf("claims %d of one key: %s and %s; want one applied", i, a, b)
			}
		}
	}
}

// An overlap key that equals a unique key of its kind has nothing to do with it.
func testKeyAndUnique(t *testing.T, s Full) {
	key := name("k")
	a := inState(t, s, task.Running, func(tk *task.Task) { tk.Key, tk.OverlapKey = key, key })
	b := newTask(t.Name())
	b.Key, b.Kind = key, b.Kind+"2"
	if in := insert(t, s, b)[0]; in.Duplicate {
		t.Errorf("an overlap key blocks a unique key: %+v", in)
	}
	c := inState(t, s, task.Running, func(tk *task.Task) { tk.Kind += "3"; tk.Key = key })
	mustApply(t, s, follow(&c, task.Succeed))
	d := keyed(t, s, key)
	if res := apply(t, s, follow(&d, task.Claim))[0]; res.Status != store.KeyBusy {
		t.Errorf("the end of a task without the overlap key freed it: %s", res.Status)
	}
	mustApply(t, s, follow(&a, task.Succeed))
	mustApply(t, s, follow(&d, task.Claim))
}
