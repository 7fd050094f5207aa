package task_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/ax-sched/ax/task"
)

func running() *task.Task {
	return &task.Task{ID: task.ID{1}, Kind: "k", Key: "key", OverlapKey: "o", Version: 7,
		Mutable: task.Mutable{State: task.Running, Attempt: 2, Result: []byte("r")}}
}

func TestTransitionOfTwoMoves(t *testing.T) {
	row := running()
	tr := task.Begin(row).Then(task.Fail, task.NoReason, "boom").
		By("ann", task.Retry, task.Exhausted, "again").Keys(row)
	if err := tr.Check(); err != nil {
		t.Fatal(err)
	}
	if tr.ID != row.ID || tr.Version != 7 || tr.From != task.Running {
		t.Errorf("condition: task %s, version %d, %s", tr.ID, tr.Version, tr.From)
	}
	want := []task.Move{
		{Event: task.Fail, From: task.Running, To: task.Failed, Detail: "boom"},
		{Event: task.Retry, From: task.Failed, To: task.Scheduled, Reason: task.Exhausted,
			Actor: "ann", Detail: "again"},
	}
	if len(tr.Moves) != 2 || tr.Moves[0] != want[0] || tr.Moves[1] != want[1] {
		t.Errorf("moves %+v; want %+v", tr.Moves, want)
	}
	if tr.Set.State != task.Scheduled || tr.Set.Attempt != 2 || string(tr.Set.Result) != "r" {
		t.Errorf("set %+v; want SCHEDULED and the rest of the row", tr.Set)
	}
	if tr.FreeKey != "o" || tr.TakeKey != "" || tr.FreeUnique {
		t.Errorf("takes %q, frees %q, unique %t", tr.TakeKey, tr.FreeKey, tr.FreeUnique)
	}
	if row.State != task.Running || row.Version != 7 {
		t.Errorf("the row was changed: %+v", row)
	}
}

// The first illegal step is what Check reports, and later legal ones do not hide it.
func TestIllegalStepIsRemembered(t *testing.T) {
	tr := task.Begin(running()).Then(task.Accept, task.NoReason, "").
		Then(task.Succeed, task.NoReason, "")
	if tr.Set.State != task.Succeeded || len(tr.Moves) != 1 {
		t.Errorf("after the illegal step: %s by %d moves", tr.Set.State, len(tr.Moves))
	}
	err := tr.Check()
	if !errors.Is(err, task.ErrIllegal) {
		t.Fatalf("check gave %v; want ErrIllegal", err)
	}
	want := "task 01000000-0000-0000-0000-000000000000: illegal move: accept in state RUNNING"
	if err.Error() != want {
		t.Errorf("check says %q; want %q", err, want)
	}
}

func TestCheckRefuses(t *testing.T) {
	end := func(bend func(*task.Transition)) *task.Transition {
		tr := task.Begin(running()).Then(task.Succeed, task.NoReason, "")
		bend(tr)
		return tr
	}
	for what, tr := range map[string]*task.Transition{
		"the zero value": {},
		"no move":        task.Begin(running()),
		"a rest in FAILED": task.Begin(running()).
			Then(task.Fail, task.NoReason, ""),
		"another start":      end(func(tr *task.Transition) { tr.From = task.Dispatching }),
		"an invented target": end(func(tr *task.Transition) { tr.Moves[0].To = task.Dead }),
		"an invented event":  end(func(tr *task.Transition) { tr.Moves[0].Event = 250 }),
		"an invented state":  end(func(tr *task.Transition) { tr.Moves[0].From = 250 }),
		"another end":        end(func(tr *task.Transition) { tr.Set.State = task.Dead }),
		"a broken chain": end(func(tr *task.Transition) {
			tr.Moves = append(tr.Moves, task.Move{Event: task.Claim, From: task.Scheduled,
				To: task.Dispatching})
			tr.Set.State = task.Dispatching
		}),
		"a move from before the task": end(func(tr *task.Transition) {
			tr.Moves[0] = task.Move{Event: task.Submit, From: task.None, To: task.Scheduled}
			tr.Set.State = task.Scheduled
		}),
	} {
		if err := tr.Check(); !errors.Is(err, task.ErrIllegal) {
			t.Errorf("%s: check gave %v; want ErrIllegal", what, err)
		}
	}
}

// TestKeysFollowTheStates compares the keys of random chains with what the states say.
func TestKeysFollowTheStates(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		row := &task.Task{ID: task.ID{1}, Version: 1,
			Key:        rapid.SampledFrom([]string{"", "key"}).Draw(rt, "key"),
			OverlapKey: rapid.SampledFrom([]string{"", "o"}).Draw(rt, "overlap")}
		row.State = rapid.SampledFrom(task.States()).Draw(rt, "state")
		tr := task.Begin(row)
		for range rapid.IntRange(1, 4).Draw(rt, "moves") {
			tr.Then(rapid.SampledFrom(task.Events()).Draw(rt, "event"), task.NoReason, "")
		}
		tr.Keys(row)
		holds := func(s task.State) bool {
			return row.OverlapKey != "" && (s == task.Dispatching || s == task.Running ||
				s == task.Held)
		}
		before, after := row.State, tr.Set.State
		if took := tr.TakeKey != ""; took != (!holds(before) && holds(after)) {
			rt.Errorf("%s to %s takes %q", before, after, tr.TakeKey)
		}
		if freed := tr.FreeKey != ""; freed != (holds(before) && !holds(after)) {
			rt.Errorf("%s to %s frees %q", before, after, tr.FreeKey)
		}
		final := row.Key != "" && !before.Final() && after.Final()
		if tr.FreeUnique != final {
			rt.Errorf("%s to %s gives the unique key back: %t", before, after, tr.FreeUnique)
		}
		if err := tr.Check(); err == nil {
			at := row.State
			for _, m := range tr.Moves {
				if m.From != at {
					rt.Errorf("the chain breaks at %+v", m)
				}
				at = m.To
			}
			if at != after || !at.Resting() {
				rt.Errorf("the chain ends in %s; the row in %s", at, after)
			}
		}
	})
}

func TestResolve(t *testing.T) {
	const now = task.Time(1_000_000)
	all := func(v task.Time) task.Mutable {
		return task.Mutable{RunAt: v, DispatchedAt: v, StartedAt: v, FinishedAt: v, LastRetryAt: v,
			TriggeredAt: v, CancelAsked: v, StopAsked: v}
	}
	for _, c := range []struct{ in, want task.Time }{
		{task.StoreNow, now}, {0, 0}, {5, 5}, {task.MaxTime, task.MaxTime},
	} {
		m, want := all(c.in), all(c.want)
		m.Resolve(now)
		if got, w := times(m), times(want); got != w {
			t.Errorf("%d became %v; want %v", c.in, got, w)
		}
	}
	m := task.Mutable{RunAt: task.StoreNow, RunIn: 1500}
	m.Resolve(now)
	if m.RunAt != now+1 || m.RunIn != 0 {
		t.Errorf("now plus 1.5 microseconds became %d with run_in %d", m.RunAt, m.RunIn)
	}
	m = task.Mutable{RunAt: 77, RunIn: 1500}
	m.Resolve(now)
	if m.RunAt != 77 || m.RunIn != 0 {
		t.Errorf("an absolute time became %d with run_in %d", m.RunAt, m.RunIn)
	}
}

func times(m task.Mutable) [8]task.Time {
	return [8]task.Time{m.RunAt, m.DispatchedAt, m.StartedAt, m.FinishedAt, m.LastRetryAt,
		m.TriggeredAt, m.CancelAsked, m.StopAsked}
}
