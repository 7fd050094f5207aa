package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

var applyTests = []test{
	{"EveryLegalMove", testEveryLegalMove},
	{"IllegalRefusesAll", testIllegal},
	{"TwoOfOneTask", testTwoOfOneTask},
	{"Conflict", testConflict},
	{"Gone", testGone},
	{"Execution", testExecution},
	{"WhenDue", testWhenDue},
	{"StoreNow", testApplyStoreNow},
	{"History", testHistory},
	{"MixedBatch", testMixedBatch},
	{"LargeUnsortedBatch", testLargeBatch},
	{"None", testApplyNone},
	{"S02 versions are compared, not times", testS02},
}

// testEveryLegalMove makes each move of the table that can be reached from a creation. A move that
// begins or ends in a state of attempts is joined to the shortest way out of it.
func testEveryLegalMove(t *testing.T, s Full) {
	applied := 0
	for _, l := range task.Moves() {
		if l.From == task.None || l.From == task.Pending {
			continue // made by Insert and Fire; nothing makes a PENDING task yet
		}
		from, events := l.From, []task.Event{l.Event}
		switch l.From {
		case task.Failed:
			from, events = task.Running, []task.Event{task.Fail, l.Event}
		case task.Timeout:
			from, events = task.Running, []task.Event{task.TimeOut, l.Event}
		}
		if !l.To.Resting() {
			events = append(events, task.Bury)
		}
		row := inState(t, s, from, nil)
		tr := follow(&row, events...)
		res := apply(t, s, tr)[0]
		want := row
		want.Mutable = tr.Set
		want.Resolve(res.At)
		want.Version += int64(len(events))
		want.UpdatedAt = res.At
		if res.Status != store.Applied || res.Version != want.Version {
			t.Errorf("%s by %s: %+v; want applied, version %d", l.From, l.Event, res, want.Version)
			continue
		}
		same(t, l.From.String()+" by "+l.Event.String(), want, read(t, s, row.ID))
		history(t, s, row.ID)
		applied++
	}
	if want := len(task.Moves()) - 5 - 6; applied != want {
		t.Errorf("%d moves were applied; want %d", applied, want)
	}
}

// One illegal transition refuses the whole call before anything is written.
func testIllegal(t *testing.T, s Full) {
	row := inState(t, s, task.Scheduled, nil)
	other := inState(t, s, task.Scheduled, nil)
	bent := func(bend func(*task.Transition)) *task.Transition {
		tr := follow(&row, task.Claim)
		bend(tr)
		return tr
	}
	for name, tr := range map[string]*task.Transition{
		"a move that is not in the table": follow(&row, task.Accept),
		"no move":                         task.Begin(&row),
		"an invented target":              bent(func(tr *task.Transition) { tr.Moves[0].To = task.Held }),
		"another state than the moves":    bent(func(tr *task.Transition) { tr.Set.State = task.Held }),
		"an invented event":               bent(func(tr *task.Transition) { tr.Moves[0].Event = 200 }),
		"another start": bent(func(tr *task.Transition) {
			tr.From, tr.Moves[0].From = task.Dead, task.Dead
		}),
		"a rest in FAILED": func() *task.Transition {
			r := inState(t, s, task.Running, nil)
			return follow(&r, task.Fail)
		}(),
	} {
		for _, trs := range [][]*task.Transition{{follow(&other, task.Claim), tr},
			{tr, follow(&other, task.Claim)}} {
			if _, err := s.Apply(t.Context(), store.Fence{}, trs); !errors.Is(err, task.ErrIllegal) {
				t.Errorf("%s gave %v; want ErrIllegal", name, err)
			}
		}
	}
	same(t, "the row of the illegal moves", row, read(t, s, row.ID))
	same(t, "the row beside them", other, read(t, s, other.ID))
}

func testTwoOfOneTask(t *testing.T, s Full) {
	row := inState(t, s, task.Scheduled, nil)
	other := inState(t, s, task.Scheduled, nil)
	_, err := s.Apply(t.Context(), store.Fence{}, []*task.Transition{
		follow(&row, task.Claim), follow(&other, task.Claim), follow(&row, task.Cancel)})
	if !errors.Is(err, task.ErrIllegal) {
		t.Errorf("two transitions of one task gave %v; want ErrIllegal", err)
	}
	same(t, "row", row, read(t, s, row.ID))
	same(t, "row beside it", other, read(t, s, other.ID))
}

func testConflict(t *testing.T, s Full) {
	old := inState(t, s, task.Scheduled, nil)
	row := mustApply(t, s, follow(&old, task.Reschedule))
	stale := follow(&old, task.Claim)
	wrongState := follow(&row, task.Claim)
	wrongState.Version = row.Version
	held := row
	held.State = task.Held
	early := row
	early.Version++
	for name, tr := range map[string]*task.Transition{
		"an older version": stale,
		"a later version":  follow(&early, task.Claim),
		"another state":    follow(&held, task.Settle),
	} {
		if res := apply(t, s, tr)[0]; res.Status != store.Conflict || res.At <= 0 {
			t.Errorf("%s: %+v; want conflict with the time", name, res)
		}
		same(t, "row after "+name, row, read(t, s, row.ID))
	}
	history(t, s, row.ID)
}

func testGone(t *testing.T, s Full) {
	ghost := newTask(t.Name())
	ghost.Version = 1
	if res := apply(t, s, follow(&ghost, task.Claim))[0]; res.Status != store.Gone {
		t.Errorf("a task that never was: %s; want gone", res.Status)
	}
	if h, err := s.History(t.Context(), ghost.ID); err != nil || len(h) != 0 {
		t.Errorf("it got a history: %v, %v", h, err)
	}
}

// An outcome carries its execution instead of a token.
func testExecution(t *testing.T, s Full) {
	row := inState(t, s, task.Running, nil)
	wrong := follow(&row, task.Succeed)
	wrong.Execution = newID()
	if res := apply(t, s, wrong)[0]; res.Status != store.Conflict {
		t.Errorf("the outcome of another execution: %s; want conflict", res.Status)
	}
	same(t, "row", row, read(t, s, row.ID))
	right := follow(&row, task.Succeed)
	right.Execution = row.ExecutionID
	mustApply(t, s, right)

	fresh := inState(t, s, task.Scheduled, nil)
	early := follow(&fresh, task.Cancel)
	early.Execution = newID()
	if res := apply(t, s, early)[0]; res.Status != store.Conflict {
		t.Errorf("an execution of a row that has none: %s; want conflict", res.Status)
	}
}

// Only the store's clock decides what is due.
func testWhenDue(t *testing.T, s Full) {
	later := inState(t, s, task.Scheduled, func(tk *task.Task) { tk.RunAt = future(t, s) })
	due := inState(t, s, task.Scheduled, func(tk *task.Task) { tk.RunAt = past(t, s) })
	exact := inState(t, s, task.Scheduled, nil)
	trs := []*task.Transition{follow(&later, task.Claim), follow(&due, task.Claim),
		follow(&exact, task.Claim)}
	for _, tr := range trs {
		tr.WhenDue = true
	}
	got := statuses(apply(t, s, trs...))
	same(t, "statuses", []store.Status{store.NotDue, store.Applied, store.Applied}, got)
	same(t, "the row that is not due", later, read(t, s, later.ID))
	mustApply(t, s, follow(&later, task.Claim))

	if a, ok := s.(Advancer); ok {
		soon := inState(t, s, task.Scheduled, func(tk *task.Task) {
			tk.RunAt = now(t, s).Add(time.Second)
		})
		tr := follow(&soon, task.Claim)
		tr.WhenDue = true
		a.Advance(time.Second - time.Microsecond)
		if res := apply(t, s, tr)[0]; res.Status != store.NotDue {
			t.Errorf("a microsecond early: %s; want not_due", res.Status)
		}
		a.Advance(time.Microsecond)
		mustApply(t, s, tr)
	}
}

func testApplyStoreNow(t *testing.T, s Full) {
	row := inState(t, s, task.Running, nil)
	tr := task.Begin(&row).Then(task.Fail, task.NoReason, "").Then(task.Retry, task.NoReason, "")
	m := &tr.Set
	for _, f := range []*task.Time{&m.RunAt, &m.DispatchedAt, &m.StartedAt, &m.FinishedAt,
		&m.LastRetryAt, &m.TriggeredAt, &m.CancelAsked, &m.StopAsked} {
		*f = task.StoreNow
	}
	m.RunIn = 1500*time.Millisecond + time.Microsecond
	before := now(t, s)
	res := apply(t, s, tr)[0]
	after := now(t, s)
	if res.At < before || res.At > after {
		t.Errorf("applied at %d, outside of %d to %d", res.At, before, after)
	}
	want := tr.Set
	want.Resolve(res.At)
	got := read(t, s, row.ID)
	same(t, "mutable part", want, got.Mutable)
	if got.UpdatedAt != res.At || got.CreatedAt != row.CreatedAt {
		t.Errorf("updated %d, created %d; want %d and %d", got.UpdatedAt, got.CreatedAt, res.At,
			row.CreatedAt)
	}
	// RunIn counts only with StoreNow.
	tr = follow(&got, task.Reschedule)
	tr.Set.RunAt, tr.Set.RunIn = 12_345, time.Hour
	if got = mustApply(t, s, tr); got.RunAt != 12_345 || got.RunIn != 0 {
		t.Errorf("an absolute run_at became %d with run_in %s", got.RunAt, got.RunIn)
	}
}

// Each move is one history row. What identifies the execution is that of the row after the
// transition.
func testHistory(t *testing.T, s Full) {
	tk := newTask(t.Name())
	in := insert(t, s, tk)[0]
	row := read(t, s, tk.ID)
	claim := follow(&row, task.ClaimLocal)
	claimed := apply(t, s, claim)[0]
	row = read(t, s, tk.ID)
	end := task.Begin(&row).By("ann", task.TimeOut, task.Lost, "too slow").
		By("", task.Hold, task.Poison, "Ünknown")
	effect(&end.Set, task.TimeOut)
	held := apply(t, s, end.Keys(&row))[0]
	exec := task.Entry{TaskID: tk.ID, ExecutionID: row.ExecutionID, Attempt: 1,
		Executor: row.Executor, Epoch: row.Epoch, Token: row.Token}
	entry := func(v int64, at task.Time, from, to task.State, e task.Event) task.Entry {
		x := exec
		x.Version, x.At, x.From, x.To, x.Event = v, at, from, to, e
		return x
	}
	want := []task.Entry{
		{TaskID: tk.ID, Version: 1, At: in.At, To: task.Scheduled, Event: task.Submit},
		entry(2, claimed.At, task.Scheduled, task.Running, task.ClaimLocal),
		entry(3, held.At, task.Running, task.Timeout, task.TimeOut),
		entry(4, held.At, task.Timeout, task.Held, task.Hold),
	}
	want[2].Actor, want[2].Reason, want[2].Detail = "ann", task.Lost, "too slow"
	want[3].Reason, want[3].Detail = task.Poison, "Ünknown"
	same(t, "history", want, history(t, s, tk.ID))
}

// A refused row does not disturb the others; the answers come in the order of the call.
func testMixedBatch(t *testing.T, s Full) {
	key := name("o")
	inState(t, s, task.Running, func(tk *task.Task) { tk.OverlapKey = key })
	rows := make([]task.Task, 6)
	for i := range rows {
		rows[i] = inState(t, s, task.Scheduled, func(tk *task.Task) {
			switch i {
			case 2:
				tk.OverlapKey = key
			case 3:
				tk.RunAt = future(t, s)
			}
		})
	}
	trs := make([]*task.Transition, len(rows))
	for i := range rows {
		trs[i] = follow(&rows[i], task.Claim)
		trs[i].WhenDue = true
	}
	mustApply(t, s, follow(&rows[1], task.Reschedule))
	trs[4].ID = newID()
	want := []store.Status{store.Applied, store.Conflict, store.KeyBusy, store.NotDue, store.Gone,
		store.Applied}
	for _, i := range []int{4, 1, 0} { // some order that is not that of the ids
		trs = append(trs[:i], append(trs[i+1:], trs[i])...)
		want = append(want[:i], append(want[i+1:], want[i])...)
	}
	res := apply(t, s, trs...)
	same(t, "statuses", want, statuses(res))
	for _, r := range res {
		if r.Status == store.Applied && r.Version != 2 || r.At != res[0].At || r.At <= 0 {
			t.Errorf("result %+v; want version 2 if applied and one time for all", r)
		}
	}
	for _, r := range rows[:4] {
		history(t, s, r.ID)
	}
}

func testLargeBatch(t *testing.T, s Full) {
	const n = 3000
	tasks := make([]task.Task, n)
	for i := range tasks {
		tasks[i] = newTask(t.Name())
	}
	insert(t, s, tasks...)
	trs := make([]*task.Transition, n)
	ids := make([]task.ID, n)
	for i := range tasks {
		row := tasks[(i*1237)%n] // 1237 and n have no common factor: a permutation
		row.Version, row.RunAt = 1, 5
		trs[i] = follow(&row, task.ClaimLocal)
		trs[i].Set.Attempt = i
		ids[i] = row.ID
		if i%10 == 3 {
			trs[i].Version = 7
		}
	}
	for i, r := range apply(t, s, trs...) {
		want := store.Applied
		if i%10 == 3 {
			want = store.Conflict
		}
		if r.Status != want {
			t.Fatalf("result %d: %s; want %s", i, r.Status, want)
		}
	}
	rows := readAll(t, s, ids)
	for i, id := range ids {
		if r := rows[id]; i%10 != 3 && (r.Attempt != i || r.Version != 2 || r.State != task.Running) ||
			i%10 == 3 && (r.Version != 1 || r.State != task.Scheduled) {
			t.Fatalf("row %d: attempt %d, version %d, %s", i, r.Attempt, r.Version, r.State)
		}
	}
	history(t, s, ids[0])
	history(t, s, ids[3])
}

func testApplyNone(t *testing.T, s Full) { apply(t, s) }

// The row's times have digits that a client might lose; the versions decide.
func testS02(t *testing.T, s Full) {
	for _, at := range []task.Time{1_700_000_000_000_001, 1_700_000_000_999_999} {
		row := inState(t, s, task.Scheduled, func(tk *task.Task) { tk.RunAt = at })
		row.RunAt, row.UpdatedAt = row.RunAt/1000*1000, row.UpdatedAt/1_000_000*1_000_000
		tr := follow(&row, task.ClaimLocal)
		tr.WhenDue = true
		if got := mustApply(t, s, tr); got.State != task.Running {
			t.Errorf("a row due at %d is in %s; want RUNNING", at, got.State)
		}
	}
}
