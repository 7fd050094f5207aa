package storetest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

var insertTests = []test{
	{"Plain", testInsertPlain},
	{"None", testInsertNone},
	{"SameIDAgain", testSameIDAgain},
	{"Duplicate", testDuplicate},
	{"DuplicateInOneCall", testDuplicateInOneCall},
	{"NoKeyNoDuplicate", testNoKey},
	{"SameKeyOtherKind", testSameKeyOtherKind},
	{"Claimed", testInsertClaimed},
	{"RefusedStates", testRefusedStates},
	{"Many", testInsertMany},
	{"A01 a canceled task frees its key", testA01},
	{"A02 a finished id is answered, never dropped", testA02},
	{"A04 every final state frees the key", testA04},
	{"A05 one key, many submitters, one task", testA05},
	{"RedriveTakesTheKeyAgain", testRedriveKey},
}

func testInsertPlain(t *testing.T, s Full) {
	tk := newTask(t.Name())
	tk.Version, tk.CreatedAt, tk.UpdatedAt = 9, 10, 11 // are not the caller's to set
	in := insert(t, s, tk)[0]
	want := store.Inserted{ID: tk.ID, State: task.Scheduled, Version: 1, RunAt: in.At, At: in.At}
	same(t, "answer", want, in)
	row := tk
	row.Version, row.CreatedAt, row.UpdatedAt, row.RunAt, row.FireTime = 1, in.At, in.At, in.At, in.At
	same(t, "row", row, read(t, s, tk.ID))
	same(t, "history", []task.Entry{{TaskID: tk.ID, Version: 1, At: in.At, To: task.Scheduled,
		Event: task.Submit}}, history(t, s, tk.ID))
}

func testInsertNone(t *testing.T, s Full) {
	insert(t, s)
	if rows, err := s.Tasks(t.Context(), nil); err != nil || len(rows) != 0 {
		t.Errorf("no ids gave %d rows, %v", len(rows), err)
	}
	if rows, err := s.Tasks(t.Context(), []task.ID{newID()}); err != nil || len(rows) != 0 {
		t.Errorf("an unknown id gave %d rows, %v", len(rows), err)
	}
	if h, err := s.History(t.Context(), newID()); err != nil || len(h) != 0 {
		t.Errorf("an unknown id gave %d entries, %v", len(h), err)
	}
	if _, err := s.ByKey(t.Context(), t.Name(), "nobody"); !isNotFound(err) {
		t.Errorf("an unknown key gave %v; want ErrNotFound", err)
	}
}

// A repeat after a lost answer must say what it would have said: this task exists, and not that it
// is somebody else's. Nothing of it is written, whatever the row has become.
func testSameIDAgain(t *testing.T, s Full) {
	tk := newTask(t.Name())
	tk.Key = name("k")
	first := insert(t, s, tk)[0]
	again := insert(t, s, tk)[0]
	again.At = first.At
	same(t, "second answer", first, again)

	row := read(t, s, tk.ID)
	row = mustApply(t, s, follow(&row, task.Claim))
	again = insert(t, s, tk)[0]
	if again.Duplicate || again.State != task.Dispatching || again.Version != 2 {
		t.Errorf("a repeat after the claim gave %+v", again)
	}
	same(t, "row", row, read(t, s, tk.ID))

	twice := newTask(t.Name())
	for i, in := range insert(t, s, twice, twice) {
		if in.ID != twice.ID || in.Duplicate || in.Version != 1 {
			t.Errorf("answer %d of two equal rows in one call: %+v", i+1, in)
		}
	}
	history(t, s, twice.ID)
}

func testDuplicate(t *testing.T, s Full) {
	first := newTask(t.Name())
	first.Key = name("k")
	a := insert(t, s, first)[0]
	second := newTask(t.Name())
	second.Key = first.Key
	third := newTask(t.Name())
	in := insert(t, s, second, third)
	same(t, "answer of the duplicate", store.Inserted{ID: first.ID, Duplicate: true,
		State: task.Scheduled, Version: 1, RunAt: a.RunAt, At: in[0].At}, in[0])
	if in[1].ID != third.ID || in[1].Duplicate {
		t.Errorf("the row after the duplicate: %+v", in[1])
	}
	if rows, err := s.Tasks(t.Context(), []task.ID{second.ID}); err != nil || len(rows) != 0 {
		t.Errorf("the duplicate was stored too: %v, %v", rows, err)
	}
	if h, err := s.History(t.Context(), second.ID); err != nil || len(h) != 0 {
		t.Errorf("the duplicate has a history: %v, %v", h, err)
	}
	byKey, err := s.ByKey(t.Context(), first.Kind, first.Key)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "task by key", read(t, s, first.ID), byKey)
}

func testDuplicateInOneCall(t *testing.T, s Full) {
	var tasks []task.Task
	key := name("k")
	for range 5 {
		tk := newTask(t.Name())
		tk.Key = key
		tasks = append(tasks, tk, newTask(t.Name()))
	}
	// The order of the call decides, not that of the ids.
	tasks[0], tasks[4] = tasks[4], tasks[0]
	for i, in := range insert(t, s, tasks...) {
		switch {
		case i%2 == 1:
			if in.ID != tasks[i].ID || in.Duplicate {
				t.Errorf("row %d without a key: %+v", i, in)
			}
		case in.ID != tasks[0].ID || in.Duplicate != (i > 0) || in.Version != 1:
			t.Errorf("row %d: %+v; want task %s, duplicate %t", i, in, tasks[0].ID, i > 0)
		}
	}
}

func testNoKey(t *testing.T, s Full) {
	for _, in := range insert(t, s, newTask(t.Name()), newTask(t.Name())) {
		if in.Duplicate {
			t.Errorf("two tasks without a key: %+v", in)
		}
	}
}

func testSameKeyOtherKind(t *testing.T, s Full) {
	a, b := newTask(t.Name()), newTask(t.Name()+"2")
	a.Key = name("k")
	b.Key = a.Key
	for _, in := range insert(t, s, a, b) {
		if in.Duplicate {
			t.Errorf("a key of another kind: %+v", in)
		}
	}
}

func testInsertClaimed(t *testing.T, s Full) {
	f := lead(t, s)
	tk := newTask(t.Name())
	tk.Mutable = task.Mutable{State: task.Running, Run: 1, Attempt: 1, RunAt: task.StoreNow,
		Executor: "here", Epoch: number(), ExecutionID: newID(), Token: f.Token,
		DispatchedAt: task.StoreNow, StartedAt: task.StoreNow}
	in := insertFenced(t, s, f, tk, newTask(t.Name()))[0]
	want := tk
	want.Resolve(in.At)
	want.FireTime, want.Version, want.CreatedAt, want.UpdatedAt = in.At, 1, in.At, in.At
	got := read(t, s, tk.ID)
	same(t, "row", want, got)
	same(t, "history", []task.Entry{{TaskID: tk.ID, Version: 1, At: in.At, To: task.Running,
		Event: task.SubmitClaimed, ExecutionID: tk.ExecutionID, Attempt: 1, Executor: "here",
		Epoch: tk.Epoch, Token: f.Token}}, history(t, s, tk.ID))
	done := mustApply(t, s, follow(&got, task.Succeed))
	if done.State != task.Succeeded || done.Version != 2 {
		t.Errorf("after its end: %s, version %d", done.State, done.Version)
	}
}

// What cannot be made by an insert is refused with the whole call.
func testRefusedStates(t *testing.T, s Full) {
	for _, state := range append(task.States(), task.None) {
		good, bad := newTask(t.Name()), newTask(t.Name())
		bad.State = state
		if state == task.Running {
			bad.Attempt, bad.ExecutionID, bad.OverlapKey = 1, newID(), name("o")
		}
		if state == task.Scheduled {
			continue
		}
		if in, err := s.Insert(t.Context(), lead(t, s), []task.Task{good, bad}); err == nil {
			t.Errorf("a task in %s was inserted: %+v", state, in)
		}
		rows, err := s.Tasks(t.Context(), []task.ID{good.ID, bad.ID})
		if err != nil || len(rows) != 0 {
			t.Errorf("the refused call with %s left %d rows, %v", state, len(rows), err)
		}
	}
}

// One call may be larger than any transaction or statement; its answers are in its order.
func testInsertMany(t *testing.T, s Full) {
	const n = 3000
	tasks := make([]task.Task, n)
	ids := make([]task.ID, n)
	for i := range tasks {
		tasks[n-1-i] = newTask(t.Name()) // ids descend
		ids[n-1-i] = tasks[n-1-i].ID
	}
	for i, in := range insert(t, s, tasks...) {
		if in.ID != ids[i] || in.Duplicate || in.State != task.Scheduled || in.Version != 1 {
			t.Fatalf("answer %d: %+v", i, in)
		}
	}
	readAll(t, s, ids)
	history(t, s, ids[0])
	history(t, s, ids[n-1])
}

func testA01(t *testing.T, s Full) {
	row := inState(t, s, task.Canceled, func(tk *task.Task) { tk.Key = name("k") })
	next := newTask(t.Name())
	next.Key = row.Key
	if in := insert(t, s, next)[0]; in.ID != next.ID || in.Duplicate {
		t.Errorf("submit after the cancel: %+v; want the new id %s", in, next.ID)
	}
}

func testA02(t *testing.T, s Full) {
	row := inState(t, s, task.Succeeded, func(tk *task.Task) { tk.Key = name("k") })
	again := newTask(t.Name())
	again.ID, again.Key = row.ID, row.Key
	in := insert(t, s, again)[0]
	if in.ID != row.ID || in.State != task.Succeeded || in.Version != row.Version {
		t.Errorf("second submit of a finished id: %+v; want its state", in)
	}
	same(t, "row", row, read(t, s, row.ID))
	// Also when another task has taken the key since.
	next := newTask(t.Name())
	next.Key = row.Key
	insert(t, s, next)
	if in := insert(t, s, again)[0]; in.ID != row.ID || in.State != task.Succeeded {
		t.Errorf("second submit of a finished id: %+v; want %s", in, row.ID)
	}
}

func testA04(t *testing.T, s Full) {
	for _, state := range task.States() {
		if !state.Resting() || state == task.Pending {
			continue
		}
		row := inState(t, s, state, func(tk *task.Task) { tk.Key = name("k") })
		next := newTask(t.Name())
		next.Key = row.Key
		in := insert(t, s, next)[0]
		if state.Final() && (in.ID != next.ID || in.Duplicate) {
			t.Errorf("submit after %s: %+v; want a new task", state, in)
		}
		if !state.Final() && (in.ID != row.ID || !in.Duplicate || in.State != state) {
			t.Errorf("submit during %s: %+v; want a duplicate of %s", state, in, row.ID)
		}
		byKey, err := s.ByKey(t.Context(), row.Kind, row.Key)
		if err != nil || byKey.ID != in.ID {
			t.Errorf("the live task by key after %s is %s, %v; want %s", state, byKey.ID, err, in.ID)
		}
	}
	// Attempts that end without success free nothing while a retry is due.
	for _, e := range []task.Event{task.Fail, task.TimeOut} {
		row := inState(t, s, task.Running, func(tk *task.Task) { tk.Key = name("k") })
		row = mustApply(t, s, follow(&row, e, task.Retry))
		next := newTask(t.Name())
		next.Key = row.Key
		if in := insert(t, s, next)[0]; in.ID != row.ID || !in.Duplicate {
			t.Errorf("submit while a retry waits: %+v", in)
		}
	}
}

func testA05(t *testing.T, s Full) {
	const callers, rounds = 8, 25
	for range rounds {
		key := name("k")
		var made atomic.Int32
		answers := make([]task.ID, callers)
		async(callers, func(i int) {
			tasks := []task.Task{newTask(t.Name()), newTask(t.Name()), newTask(t.Name())}
			mine := i % 3 // single submits and batches take the same way
			tasks[mine].Key = key
			if i%2 == 0 {
				tasks, mine = tasks[mine:mine+1], 0
			}
			in, err := s.Insert(t.Context(), store.Fence{}, tasks)
			if err != nil {
				t.Errorf("insert: %v", err)
				return
			}
			answers[i] = in[mine].ID
			if !in[mine].Duplicate {
				made.Add(1)
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
		history(t, s, answers[0])
	}
}

// A person's retry of a finished task needs its key again, and waits if another has it.
func testRedriveKey(t *testing.T, s Full) {
	for _, e := range []task.Event{task.Redrive, task.Trigger} {
		row := inState(t, s, task.Dead, func(tk *task.Task) { tk.Key = name("k") })
		next := newTask(t.Name())
		next.Key = row.Key
		insert(t, s, next)
		res := apply(t, s, follow(&row, e))[0]
		if res.Status != store.KeyBusy {
			t.Errorf("%s while another task has the key: %s; want key_busy", e, res.Status)
		}
		same(t, "row", row, read(t, s, row.ID))

		other := read(t, s, next.ID)
		mustApply(t, s, follow(&other, task.Cancel))
		mustApply(t, s, follow(&row, e))
		late := newTask(t.Name())
		late.Key = row.Key
		if in := insert(t, s, late)[0]; in.ID != row.ID || !in.Duplicate {
			t.Errorf("submit after %s: %+v; want a duplicate of %s", e, in, row.ID)
		}
		history(t, s, row.ID)
	}
}

// past and future are instants relative to the store's clock, whole to the microsecond.
func past(t *testing.T, s store.Clock) task.Time   { return now(t, s).Add(-time.Hour) }
func future(t *testing.T, s store.Clock) task.Time { return now(t, s).Add(time.Hour) }
