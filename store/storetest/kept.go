package storetest

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// keptTests are about keys that stay taken beyond the life of their task. Each has a store of its
// own, because Prune removes those of all.
var keptTests = []test{
	{"A01 a key is kept for ever, whatever became of the task", testKeptForever},
	{"A10 a window begins with its task", testKeptWindow},
	{"ALiveTaskHasItsKeyAfterItsWindow", testKeptWhileLive},
	{"ATaskWithoutAScopeKeepsNothing", testKeptByScopeOnly},
	{"DeletedTasks", testKeptDeleted},
	{"EndsAreRemoved", testKeptPrune},
	{"SameIDAgain", testKeptSameID},
	{"InOneCall", testKeptOneCall},
	{"Claimed", testKeptClaimed},
	{"NoMoveLooksAtThem", testKeptMoves},
	{"Refused", testKeptRefused},
	{"A05 one kept key, many submitters, one task", testKeptConcurrent},
}

const hour = task.Unique(time.Hour)

// keeping returns a new task whose key has a scope.
func keeping(t *testing.T, key string, u task.Unique) task.Task {
	tk := newTask(t.Name())
	tk.Key, tk.Unique = key, u
	return tk
}

// wantMade inserts a task, which must be made.
func wantMade(t *testing.T, s Full, what string, tk task.Task) {
	t.Helper()
	if in := insert(t, s, tk)[0]; in.ID != tk.ID || in.Duplicate || in.Version != 1 {
		t.Errorf("%s: %+v; want a new task %s", what, in, tk.ID)
	}
	if row := read(t, s, tk.ID); row.Unique != task.UniqueLive {
		t.Errorf("%s: its scope is read back", what)
	}
}

// wantTaken inserts a task, which must be a duplicate of row as it is; a row without a version is
// that of a deleted task.
func wantTaken(t *testing.T, s Full, what string, tk, row task.Task) {
	t.Helper()
	in := insert(t, s, tk)[0]
	want := store.Inserted{ID: row.ID, Duplicate: true, State: row.State, Version: row.Version,
		RunAt: row.RunAt, At: in.At}
	same(t, what, want, in)
	if rows, err := s.Tasks(t.Context(), []task.ID{tk.ID}); err != nil || len(rows) != 0 {
		t.Errorf("%s: the duplicate was stored, %v", what, err)
	}
	if h, err := s.History(t.Context(), tk.ID); err != nil || len(h) != 0 {
		t.Errorf("%s: the duplicate has a history, %v", what, err)
	}
}

// end cancels a task that was inserted.
func end(t *testing.T, s Full, id task.ID) task.Task {
	t.Helper()
	row := read(t, s, id)
	return mustApply(t, s, follow(&row, task.Cancel))
}

// await returns when the store's clock has reached an instant.
func await(t *testing.T, s Full, at task.Time) {
	t.Helper()
	if a, ok := s.(Advancer); ok {
		a.Advance(at.Sub(now(t, s)))
	}
	for now(t, s) < at {
		if t.Context().Err() != nil {
			t.Fatal("the store's clock stands still")
		}
	}
}

func testKeptForever(t *testing.T, s Full) {
	for _, state := range []task.State{task.Succeeded, task.Dead, task.Canceled, task.Skipped} {
		key := name("k")
		row := inState(t, s, state, func(tk *task.Task) {
			tk.Kind = newTask(t.Name()).Kind
			tk.Key, tk.Unique = key, task.UniqueForever
		})
		wantTaken(t, s, "for ever after "+state.String(), keeping(t, key, task.UniqueForever), row)
		wantTaken(t, s, "a window after "+state.String(), keeping(t, key, hour), row)
		other := keeping(t, key, hour)
		other.Kind += "2"
		wantMade(t, s, "another kind", other)
		// Who asks for nothing but what lives is not kept out, and changes nothing.
		live := keeping(t, key, task.UniqueLive)
		wantMade(t, s, "no scope after "+state.String(), live)
		wantTaken(t, s, "while that lives", keeping(t, key, hour), read(t, s, live.ID))
		end(t, s, live.ID)
		wantTaken(t, s, "after that has ended", keeping(t, key, hour), row)
		same(t, "row", row, read(t, s, row.ID))
	}
}

// A window is counted from the row's CreatedAt: a submit just before its end is a duplicate, one at
// its end is not, and then counts its own.
func testKeptWindow(t *testing.T, s Full) {
	const window = 50 * time.Millisecond
	key := name("k")
	for range 3 {
		tk := keeping(t, key, task.Unique(window))
		wantMade(t, s, "the window is over", tk)
		row := end(t, s, tk.ID)
		until := row.CreatedAt.Add(window)
		if a, ok := s.(Advancer); ok {
			a.Advance(until.Sub(now(t, s)) - time.Microsecond)
		}
		for {
			again := keeping(t, key, task.Unique(window))
			in := insert(t, s, again)[0]
			if in.Duplicate != (in.At < until) {
				t.Fatalf("%s from the end of the window: %+v", in.At.Sub(until), in)
			}
			if in.Duplicate && in.ID != row.ID {
				t.Fatalf("a duplicate of %s; want %s", in.ID, row.ID)
			}
			if !in.Duplicate {
				end(t, s, again.ID)
				until = read(t, s, again.ID).CreatedAt.Add(window)
				break
			}
			if a, ok := s.(Advancer); ok {
				a.Advance(time.Microsecond)
			}
		}
		await(t, s, until)
	}
	long := keeping(t, key, hour)
	wantMade(t, s, "a longer window", long)
	row := end(t, s, long.ID)
	wantTaken(t, s, "within the hour", keeping(t, key, task.Unique(window)), row)
}

func testKeptWhileLive(t *testing.T, s Full) {
	tk := keeping(t, name("k"), 1000)
	wantMade(t, s, "first", tk)
	row := read(t, s, tk.ID)
	await(t, s, row.CreatedAt.Add(time.Microsecond))
	for _, u := range []task.Unique{task.UniqueLive, 1000, task.UniqueForever} {
		wantTaken(t, s, "after the window, while it lives", keeping(t, tk.Key, u), row)
	}
	// A duplicate has kept nothing.
	end(t, s, tk.ID)
	wantMade(t, s, "after its end", keeping(t, tk.Key, hour))
}

// What a task keeps is said by its own submit, not by those it has turned away.
func testKeptByScopeOnly(t *testing.T, s Full) {
	tk := keeping(t, name("k"), task.UniqueLive)
	wantMade(t, s, "first", tk)
	wantTaken(t, s, "while it lives", keeping(t, tk.Key, task.UniqueForever), read(t, s, tk.ID))
	end(t, s, tk.ID)
	next := keeping(t, tk.Key, task.UniqueForever)
	wantMade(t, s, "after its end", next)
	wantTaken(t, s, "after that", keeping(t, tk.Key, hour), read(t, s, next.ID))
}

func testKeptDeleted(t *testing.T, s Full) {
	for _, u := range []task.Unique{hour, task.UniqueForever} {
		tk := keeping(t, name("k"), u)
		wantMade(t, s, "first", tk)
		end(t, s, tk.ID)
		keep := store.Prune{Keep: only(tk.Kind, keepNone)}
		if n := prune(t, s, store.Fence{}, keep); n != 1 {
			t.Fatalf("%d tasks were deleted; want 1", n)
		}
		isGone(t, s, tk.ID)
		gone := task.Task{ID: tk.ID}
		wantTaken(t, s, "after the task was deleted", keeping(t, tk.Key, u), gone)
		// The repeat of a submit whose answer was lost for very long.
		in := insert(t, s, tk)[0]
		same(t, "the same id again", store.Inserted{ID: tk.ID, At: in.At}, in)
		isGone(t, s, tk.ID)
		live := keeping(t, tk.Key, task.UniqueLive)
		wantMade(t, s, "no scope", live)
		end(t, s, live.ID)
		prune(t, s, store.Fence{}, keep)
		wantTaken(t, s, "after another one with the key", keeping(t, tk.Key, u), gone)
	}
}

// Ends that have passed are removed in small parts, and nothing else is.
func testKeptPrune(t *testing.T, s Full) {
	const n = 5
	var last task.Task
	var keys []string
	for i := range n {
		last = keeping(t, name("k"), 1000)
		wantMade(t, s, "short", last)
		keys = append(keys, last.Key)
		if i == 0 {
			continue // the first still lives, which does not matter
		}
		end(t, s, last.ID)
	}
	forever, window := keeping(t, name("k"), task.UniqueForever), keeping(t, name("k"), hour)
	wantMade(t, s, "for ever", forever)
	wantMade(t, s, "an hour", window)
	end(t, s, forever.ID)
	end(t, s, window.ID)
	await(t, s, read(t, s, last.ID).CreatedAt.Add(time.Microsecond))
	p := store.Prune{Limit: 2, Keep: only("none", keepAll)}
	stale := lead(t, s)
	f := store.Fence{Partition: stale.Partition, Token: install(t, s, stale.Partition)}
	if _, err := s.Prune(t.Context(), stale, p); !errors.Is(err, store.ErrFenced) {
		t.Errorf("under a stale token: %v; want ErrFenced", err)
	}
	var got []int
	for range n {
		out, err := s.Prune(t.Context(), f, p)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, out.Keys)
	}
	same(t, "keys removed in each call", []int{2, 2, 1, 0, 0}, got)
	for _, key := range keys[1:] {
		wantMade(t, s, "a key that was removed", keeping(t, key, hour))
	}
	wantTaken(t, s, "for ever", keeping(t, forever.Key, hour), read(t, s, forever.ID))
	wantTaken(t, s, "within the hour", keeping(t, window.Key, hour), read(t, s, window.ID))
}

// A repeat keeps nothing anew, and is answered as every repeat.
func testKeptSameID(t *testing.T, s Full) {
	tk := keeping(t, name("k"), hour)
	first := insert(t, s, tk)[0]
	again := insert(t, s, tk)[0]
	again.At = first.At
	same(t, "second answer", first, again)
	row := end(t, s, tk.ID)
	in := insert(t, s, tk)[0]
	if in.ID != tk.ID || in.Duplicate || in.State != task.Canceled || in.Version != row.Version {
		t.Errorf("the same id after its end: %+v", in)
	}
	wantTaken(t, s, "another id", keeping(t, tk.Key, hour), row)
	for i, in := range insert(t, s, tk, tk) {
		if in.ID != tk.ID || in.Duplicate || in.State != task.Canceled {
			t.Errorf("row %d of the same id in one call: %+v", i, in)
		}
	}

	plain := keeping(t, name("k"), task.UniqueLive)
	wantMade(t, s, "no scope", plain)
	end(t, s, plain.ID)
	plain.Unique = task.UniqueForever
	insert(t, s, plain)
	wantMade(t, s, "after a repeat with a scope", keeping(t, plain.Key, hour))

	twice := keeping(t, name("k"), hour)
	for i, in := range insert(t, s, twice, twice) {
		if in.ID != twice.ID || in.Duplicate || in.Version != 1 {
			t.Errorf("answer %d of two equal rows in one call: %+v", i, in)
		}
	}
	history(t, s, twice.ID)
}

func testKeptOneCall(t *testing.T, s Full) {
	held := keeping(t, name("k"), task.UniqueForever)
	wantMade(t, s, "held", held)
	end(t, s, held.ID)
	key, mixed := name("k"), name("k")
	var tasks []task.Task
	want := make(map[int]task.ID) // of the duplicates
	add := func(tk task.Task, of task.ID) {
		if !of.IsZero() {
			want[len(tasks)] = of
		}
		tasks = append(tasks, tk)
	}
	first := keeping(t, key, hour)
	live := keeping(t, mixed, task.UniqueLive)
	for i := range 20 {
		var of, ofLive task.ID
		f, l := first, live
		if i > 0 {
			of, ofLive = first.ID, live.ID
			f, l = keeping(t, key, hour), keeping(t, mixed, task.Unique(i%2)*hour)
		}
		add(f, of)
		add(newTask(t.Name()), task.ID{})
		add(keeping(t, held.Key, hour), held.ID)
		add(l, ofLive)
		add(keeping(t, name("k"), hour), task.ID{})
	}
	for i, in := range insert(t, s, tasks...) {
		of, dup := want[i]
		if !dup {
			of = tasks[i].ID
		}
		if in.ID != of || in.Duplicate != dup {
			t.Errorf("row %d: %+v; want %s, duplicate %t", i, in, of, dup)
		}
	}
	row := end(t, s, first.ID)
	wantTaken(t, s, "after the end", keeping(t, key, hour), row)
	end(t, s, live.ID)
	wantMade(t, s, "after the end of one without a scope", keeping(t, mixed, hour))
	// More than one statement takes.
	tasks = tasks[:0]
	for range 1500 {
		tasks = append(tasks, keeping(t, name("k"), hour))
	}
	for i, in := range insert(t, s, tasks...) {
		if in.ID != tasks[i].ID || in.Duplicate || in.Version != 1 {
			t.Fatalf("row %d of many: %+v", i, in)
		}
	}
	for i := range tasks {
		tasks[i].ID = newID()
	}
	for i, in := range insert(t, s, tasks...) {
		if in.ID == tasks[i].ID || !in.Duplicate {
			t.Fatalf("row %d of many again: %+v", i, in)
		}
	}
}

func testKeptClaimed(t *testing.T, s Full) {
	f := lead(t, s)
	running := func(key string) task.Task {
		tk := keeping(t, key, hour)
		tk.Mutable = task.Mutable{State: task.Running, Run: 1, Attempt: 1, RunAt: task.StoreNow,
			Executor: "here", Epoch: number(), ExecutionID: newID(), Token: f.Token,
			DispatchedAt: task.StoreNow, StartedAt: task.StoreNow}
		return tk
	}
	tk := running(name("k"))
	in := insertFenced(t, s, f, tk)[0]
	if in.Duplicate || in.State != task.Running || in.Version != 1 {
		t.Errorf("a task that starts at once: %+v", in)
	}
	row := read(t, s, tk.ID)
	row = mustApply(t, s, follow(&row, task.Succeed))
	if in := insertFenced(t, s, f, running(tk.Key))[0]; !in.Duplicate || in.ID != tk.ID ||
		in.State != task.Succeeded || in.Version != row.Version {
		t.Errorf("its key again: %+v", in)
	}
	stale := f
	stale.Token--
	other := running(name("k"))
	if _, err := s.Insert(t.Context(), stale, []task.Task{other}); !errors.Is(err, store.ErrFenced) {
		t.Errorf("under a stale token: %v; want ErrFenced", err)
	}
	if _, err := s.Insert(t.Context(), stale, []task.Task{running(tk.Key)}); !errors.Is(err,
		store.ErrFenced) {
		t.Errorf("a duplicate under a stale token: %v; want ErrFenced", err)
	}
	wantMade(t, s, "the key of a refused call", keeping(t, other.Key, hour))
}

// The id of a task is its own: what a person runs again is kept out by what lives, as ever, and by
// no kept key, be it its own or that of another.
func testKeptMoves(t *testing.T, s Full) {
	for _, e := range []task.Event{task.Redrive, task.Trigger} {
		kept := keeping(t, name("k"), task.UniqueForever)
		wantMade(t, s, "first", kept)
		row := end(t, s, kept.ID)
		live := keeping(t, kept.Key, task.UniqueLive)
		wantMade(t, s, "no scope", live)
		if res := apply(t, s, follow(&row, e))[0]; res.Status != store.KeyBusy {
			t.Errorf("%s while another task lives: %s; want key_busy", e, res.Status)
		}
		other := end(t, s, live.ID)
		other = mustApply(t, s, follow(&other, e))
		mustApply(t, s, follow(&other, task.Cancel))
		row = mustApply(t, s, follow(&row, e))
		wantTaken(t, s, "while it runs again", keeping(t, kept.Key, hour), row)
		row = end(t, s, kept.ID)
		wantTaken(t, s, "after it ran again", keeping(t, kept.Key, hour), row)
	}
}

func testKeptRefused(t *testing.T, s Full) {
	good := newTask(t.Name())
	for what, bad := range map[string]task.Task{
		"no key":   keeping(t, "", hour),
		"no scope": keeping(t, name("k"), -2),
	} {
		var input *task.InputError
		_, err := s.Insert(t.Context(), store.Fence{}, []task.Task{good, bad})
		if !errors.As(err, &input) || input.Field != "unique" {
			t.Errorf("%s: %v; want an InputError of unique", what, err)
		}
	}
	if rows, err := s.Tasks(t.Context(), []task.ID{good.ID}); err != nil || len(rows) != 0 {
		t.Errorf("half of a refused call was written: %v", err)
	}
}

// testKeptConcurrent: also while tasks end at once, so that no live task is in the way.
func testKeptConcurrent(t *testing.T, s Full) {
	const callers, rounds = 8, 25
	for round := range rounds {
		key := name("k")
		u := []task.Unique{hour, task.UniqueForever}[round%2]
		if round%5 == 0 { // in the place of one whose end has passed
			old := keeping(t, key, 1000)
			wantMade(t, s, "a short window", old)
			await(t, s, end(t, s, old.ID).CreatedAt.Add(time.Microsecond))
		}
		var made atomic.Int32
		answers := make([]task.ID, callers)
		async(callers, func(i int) {
			tasks := []task.Task{newTask(t.Name()), newTask(t.Name()), newTask(t.Name())}
			mine := i % 3
			tasks[mine].Key, tasks[mine].Unique = key, u
			if i%2 == 0 {
				tasks, mine = tasks[mine:mine+1], 0
			}
			in, err := s.Insert(t.Context(), store.Fence{}, tasks)
			if err != nil {
				t.Errorf("insert: %v", err)
				return
			}
			answers[i] = in[mine].ID
			if in[mine].Duplicate {
				return
			}
			made.Add(1)
			row := tasks[mine]
			row.Version, row.RunAt = 1, in[mine].RunAt
			tr := follow(&row, task.Cancel)
			if res, err := s.Apply(t.Context(), store.Fence{}, []*task.Transition{tr}); err != nil ||
				res[0].Status != store.Applied {
				t.Errorf("cancel: %v, %v", res, err)
			}
		})
		for _, id := range answers {
			if id != answers[0] {
				t.Fatalf("submits of one key answer %v", answers)
			}
		}
		if made.Load() != 1 {
			t.Fatalf("%d submits of one key made a task; want 1", made.Load())
		}
	}
}
