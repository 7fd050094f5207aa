package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

var pruneTests = []test{
	{"OnlyFinalOnes", testPruneFinal},
	{"Rules", testPruneRules},
	{"TheLastMoveCounts", testPruneLastMove},
	{"Pages", testPrunePages},
	{"StaleToken", testPruneFenced},
	{"KeysAndIDsAreFree", testPruneKeys},
	{"JobsKeepTheirCursors", testPruneJob},
	{"RedrivenMeanwhile", testPruneRedriven},
}

// atOnce is over as soon as a task is final.
const atOnce = time.Nanosecond

var (
	keepAll  = store.Keep{Succeeded: -1, Skipped: -1, Canceled: -1, Dead: -1}
	keepNone = store.Keep{Succeeded: atOnce, Skipped: atOnce, Canceled: atOnce, Dead: atOnce}
)

// only is a rule for the tasks of one kind; all others stay.
func only(kind string, k store.Keep) store.Retention {
	return store.Retention{Default: keepAll, Kinds: map[string]store.Keep{kind: k}}
}

// prune prunes page by page and returns how many tasks were deleted.
func prune(t *testing.T, s store.Pruner, f store.Fence, p store.Prune) (deleted int) {
	t.Helper()
	for {
		out, err := s.Prune(t.Context(), f, p)
		if err != nil {
			t.Fatalf("prune: %v", err)
		}
		deleted += out.Deleted
		switch {
		case p.Limit > 0 && out.Deleted > p.Limit:
			t.Fatalf("a page of %d deleted %d", p.Limit, out.Deleted)
		case out.Next.IsZero():
			return deleted
		case compareIDs(out.Next, p.After) <= 0:
			t.Fatalf("the page after %s goes on after %s", p.After, out.Next)
		}
		p.After = out.Next
	}
}

// isGone checks that nothing is left of tasks.
func isGone(t *testing.T, s store.Reader, ids ...task.ID) {
	t.Helper()
	rows, err := s.Tasks(t.Context(), ids)
	if err != nil || len(rows) != 0 {
		t.Errorf("%d of %d deleted tasks are there, %v", len(rows), len(ids), err)
	}
	for _, id := range ids {
		if h, err := s.History(t.Context(), id); err != nil || len(h) != 0 {
			t.Errorf("%d history rows of a deleted task, %v", len(h), err)
		}
	}
}

// stays checks that rows are as they were, with their history.
func stays(t *testing.T, s store.Reader, rows ...task.Task) {
	t.Helper()
	for _, r := range rows {
		same(t, "kept row in "+r.State.String(), r, read(t, s, r.ID))
		history(t, s, r.ID)
	}
}

// testPruneFinal: whatever the rules say, what is not final stays.
func testPruneFinal(t *testing.T, s Full) {
	kind := name("kind")
	var over []task.ID
	var kept []task.Task
	for _, state := range task.States() {
		if !state.Resting() || state == task.Pending {
			continue
		}
		row := inState(t, s, state, func(tk *task.Task) {
			tk.Kind, tk.Key, tk.Payload = kind, name("key"), []byte("payload")
			tk.Overlap, tk.OverlapKey = task.OverlapSkip, name("overlap")
		})
		if state.Final() {
			over = append(over, row.ID)
		} else {
			kept = append(kept, row)
		}
	}
	if n := prune(t, s, store.Fence{}, store.Prune{Keep: only(kind, keepNone)}); n != 4 {
		t.Errorf("%d tasks were deleted; want 4", n)
	}
	isGone(t, s, over...)
	stays(t, s, kept...)
	if n := prune(t, s, store.Fence{}, store.Prune{Keep: only(kind, keepNone)}); n != 0 {
		t.Errorf("%d tasks were deleted a second time", n)
	}
	if got := list(t, s, store.Query{Kind: kind}); len(got) != len(kept) {
		t.Errorf("%d tasks are listed; want %d", len(got), len(kept))
	}
}

// testPruneRules: the rule of the job goes before that of the kind, and each state has its own.
func testPruneRules(t *testing.T, s Full) {
	kind, other, job := name("kind"), name("kind"), name("job")
	keep := store.Retention{Default: keepAll,
		Kinds: map[string]store.Keep{kind: {Succeeded: atOnce, Canceled: atOnce,
			Skipped: time.Hour}},
		Jobs: map[string]store.Keep{job: {Succeeded: -1, Dead: atOnce}}}
	var over []task.ID
	var kept []task.Task
	for _, c := range []struct {
		kind, job string
		state     task.State
		over      bool
	}{
		{kind, "", task.Succeeded, true},
		{kind, "", task.Canceled, true},
		{kind, "", task.Skipped, false},
		{kind, "", task.Dead, false},
		{kind, job, task.Succeeded, false},
		{kind, job, task.Canceled, true},
		{kind, job, task.Skipped, false},
		{kind, job, task.Dead, true},
		{other, job, task.Canceled, false},
		{other, job, task.Dead, true},
		{other, "", task.Succeeded, false},
		{other, "", task.Dead, false},
	} {
		row := inState(t, s, c.state, func(tk *task.Task) {
			tk.Kind = c.kind
			if c.job != "" {
				tk.Job, tk.JobID = c.job, newID()
			}
		})
		if c.over {
			over = append(over, row.ID)
		} else {
			kept = append(kept, row)
		}
	}
	if n := prune(t, s, store.Fence{}, store.Prune{Keep: keep}); n != len(over) {
		t.Errorf("%d tasks were deleted; want %d", n, len(over))
	}
	isGone(t, s, over...)
	stays(t, s, kept...)
}

// testPruneLastMove: a task that was canceled just now stays, though its last attempt ended long
// ago.
func testPruneLastMove(t *testing.T, s Full) {
	kind := name("kind")
	row := inState(t, s, task.Scheduled, func(tk *task.Task) { tk.Kind = kind })
	tr := follow(&row, task.Cancel)
	tr.Set.FinishedAt = 1
	row = mustApply(t, s, tr)
	if n := prune(t, s, store.Fence{}, store.Prune{Keep: only(kind,
		store.Keep{Canceled: time.Hour})}); n != 0 {
		t.Error("it was deleted")
	}
	stays(t, s, row)
}

// testPruneBoundary: a task goes when it has been final for the whole time, by the store's clock.
func testPruneBoundary(t *testing.T, s Full) {
	kind := name("kind")
	row := inState(t, s, task.Succeeded, func(tk *task.Task) { tk.Kind = kind })
	p := store.Prune{Keep: only(kind, store.Keep{Succeeded: time.Hour})}
	if n := prune(t, s, store.Fence{}, p); n != 0 {
		t.Error("it was deleted at once")
	}
	stays(t, s, row)
	a, ok := s.(Advancer)
	if !ok {
		return
	}
	a.Advance(time.Hour - time.Microsecond)
	if n := prune(t, s, store.Fence{}, p); n != 0 {
		t.Error("it was deleted a microsecond too early")
	}
	a.Advance(time.Microsecond)
	if n := prune(t, s, store.Fence{}, p); n != 1 {
		t.Error("it was not deleted when its time was over")
	}
	isGone(t, s, row.ID)
}

// testPrunePages: a page looks at so many tasks, kept ones too, and none outside of its bounds.
func testPrunePages(t *testing.T, s Full) {
	kind := name("kind")
	var ids []task.ID
	for i := range 25 {
		state := task.Succeeded
		if i%5 == 3 {
			state = task.Scheduled
		}
		row := inState(t, s, state, func(tk *task.Task) { tk.Kind = kind })
		ids = append(ids, row.ID)
	}
	p := store.Prune{After: ids[1], Until: ids[21], Limit: 10, Keep: only(kind, keepNone)}
	out, err := s.Prune(t.Context(), store.Fence{}, p)
	if err != nil || out.Deleted > 8 || out.Next.IsZero() {
		t.Errorf("the first page of 10 with at most 8 finished tasks: %+v, %v", out, err)
	}
	p.After = out.Next
	if n := prune(t, s, store.Fence{}, p) + out.Deleted; n != 16 {
		t.Errorf("%d tasks were deleted; want 16", n)
	}
	var want []task.ID
	for i, id := range ids {
		if i <= 1 || i > 21 || i%5 == 3 {
			want = append(want, id)
		}
	}
	slices.Reverse(want)
	same(t, "what is left", want, list(t, s, store.Query{Kind: kind}))
	p = store.Prune{After: ids[21], Until: ids[21], Keep: p.Keep}
	if n := prune(t, s, store.Fence{}, p); n != 0 {
		t.Errorf("an empty range: %d tasks were deleted", n)
	}
}

// testPruneFenced: a leader that was replaced deletes nothing, and learns it also where there is
// nothing to delete.
func testPruneFenced(t *testing.T, s Full) {
	kind := name("kind")
	old := lead(t, s)
	row := inState(t, s, task.Succeeded, func(tk *task.Task) { tk.Kind = kind })
	p := store.Prune{Keep: only(kind, keepNone)}
	next := store.Fence{Partition: old.Partition, Token: install(t, s, old.Partition)}
	for range 2 {
		for _, f := range []store.Fence{old, {Partition: partition(), Token: 1}} {
			if out, err := s.Prune(t.Context(), f, p); !errors.Is(err, store.ErrFenced) {
				t.Errorf("prune under %+v: %+v, %v; want ErrFenced", f, out, err)
			}
		}
		p.Keep.Default, p.Keep.Kinds = keepAll, nil
	}
	stays(t, s, row)
	if n := prune(t, s, next, store.Prune{Keep: only(kind, keepNone)}); n != 1 {
		t.Errorf("the leader deleted %d tasks; want 1", n)
	}
}

// testPruneKeys: a finished task takes no key with it when it goes, neither its own, which another
// task may have by now, nor its id.
func testPruneKeys(t *testing.T, s Full) {
	kind, key, overlap := name("kind"), name("key"), name("overlap")
	keyed := func(tk *task.Task) {
		tk.Kind, tk.Key = kind, key
		tk.Overlap, tk.OverlapKey = task.OverlapSkip, overlap
	}
	p := store.Prune{Keep: only(kind, keepNone)}
	old := inState(t, s, task.Succeeded, keyed)
	live := inState(t, s, task.Running, keyed)
	if n := prune(t, s, store.Fence{}, p); n != 1 {
		t.Fatalf("%d tasks were deleted; want 1", n)
	}
	isGone(t, s, old.ID)
	stays(t, s, live)
	again := newTask(kind)
	keyed(&again)
	if in := insert(t, s, again)[0]; !in.Duplicate || in.ID != live.ID {
		t.Errorf("the key of a live task gave %+v", in)
	}
	rival := inState(t, s, task.Scheduled, func(tk *task.Task) {
		keyed(tk)
		tk.Key = ""
	})
	if got := apply(t, s, follow(&rival, task.Claim))[0]; got.Status != store.KeyBusy {
		t.Errorf("the overlap key of a live task: %s", got.Status)
	}
	mustApply(t, s, follow(&live, task.Succeed))
	if n := prune(t, s, store.Fence{}, p); n != 1 {
		t.Errorf("%d tasks were deleted; want 1", n)
	}
	again.ID = old.ID
	if in := insert(t, s, again)[0]; in.Duplicate || in.ID != old.ID || in.Version != 1 {
		t.Errorf("insert with the id of a deleted task gave %+v", in)
	}
	if h := history(t, s, old.ID); len(h) != 1 {
		t.Errorf("the new task has %d history rows", len(h))
	}
}

// testPruneJob: that a fire's record is gone does not make it fire again.
func testPruneJob(t *testing.T, s Full) {
	j := putJob(t, s, newJob(t.Name()))
	first := fireOf(j, j.LastFire.Add(time.Minute))
	id := fire(t, s, store.Fence{}, first)[0].Row.ID
	row := read(t, s, id)
	row = mustApply(t, s, follow(&row, task.Skip))
	j = findJob(t, s, j.ID)
	keep := store.Retention{Default: keepAll, Jobs: map[string]store.Keep{j.Name: keepNone}}
	if n := prune(t, s, store.Fence{}, store.Prune{Keep: keep}); n != 1 {
		t.Errorf("%d tasks were deleted; want 1", n)
	}
	isGone(t, s, row.ID)
	same(t, "job", j, findJob(t, s, j.ID))
	first.Task.ID = newID()
	if got := fire(t, s, store.Fence{}, first)[0]; got.Status != store.AlreadyFired {
		t.Errorf("the fire of the deleted task: %v; want AlreadyFired", got.Status)
	}
	next := fire(t, s, store.Fence{}, fireOf(j, j.LastFire.Add(time.Minute)))[0]
	if next.Status != store.Fired {
		t.Errorf("the next fire: %v", next.Status)
	}
}

// testPruneRedriven: a task comes back from a final state, or it is deleted; never both, and never
// a part of it.
func testPruneRedriven(t *testing.T, s Full) {
	kind := name("kind")
	const n, parts = 120, 12
	trs := make([]*task.Transition, n)
	for i := range trs {
		row := inState(t, s, task.Dead, func(tk *task.Task) { tk.Kind = kind })
		trs[i] = follow(&row, task.Redrive)
	}
	results := make([][]store.Result, parts)
	deleted := make([]int, 2)
	async(4, func(i int) {
		if i < 2 {
			deleted[i] = prune(t, s, store.Fence{}, store.Prune{Limit: 30, Keep: only(kind, keepNone)})
			return
		}
		for part := i - 2; part < parts; part += 2 {
			results[part] = apply(t, s, trs[part*n/parts:(part+1)*n/parts]...)
		}
	})
	applied := 0
	for i, r := range slices.Concat(results...) {
		id := trs[i].ID
		switch rows, err := s.Tasks(t.Context(), []task.ID{id}); {
		case err != nil:
			t.Fatal(err)
		case len(rows) == 0:
			isGone(t, s, id)
			if r.Status != store.Gone {
				t.Errorf("a deleted task: %s", r.Status)
			}
			continue
		case r.Status != store.Applied || rows[0].State != task.Scheduled:
			t.Errorf("a task in %s is left: %s", rows[0].State, r.Status)
		}
		applied++
		history(t, s, id)
	}
	if got := deleted[0] + deleted[1]; got+applied != n {
		t.Errorf("%d tasks were deleted and %d came back, of %d", got, applied, n)
	}
}
