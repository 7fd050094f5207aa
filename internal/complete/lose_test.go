package complete

import (
	"testing"
	"time"

	"github.com/ax-sched/ax/task"
)

// fate is what becomes of a lost row.
type fate struct {
	state      task.State
	recoveries int
	in         time.Duration
}

func back(n int, in time.Duration) fate { return fate{task.Scheduled, n, in} }

var dead = fate{task.Dead, 3, 0}

// lost is a running row that was lost so often before, and whose executor died so long after its
// start.
func lost(recoveries int, ran time.Duration) task.Task {
	k := row(task.Running)
	k.Recoveries, k.StartedAt = recoveries, storeNow.Add(-ran)
	k.DispatchedAt = k.StartedAt
	return *k
}

// byDefault retries what is lost.
func byDefault(*task.Task) Policy { return policy() }

// wantFates loses the rows together and compares what becomes of them.
func wantFates(t *testing.T, name string, rows []task.Task, want []fate) {
	t.Helper()
	trs := Lose(rows, storeNow, byDefault)
	if len(trs) != len(rows) {
		t.Fatalf("%s: %d transitions for %d rows", name, len(trs), len(rows))
	}
	for i, tr := range trs {
		m := tr.Set
		if got := (fate{m.State, m.Recoveries, m.RunIn}); got != want[i] || tr.Check() != nil {
			t.Errorf("%s: row %d becomes %+v, want %+v; %v", name, i, got, want[i], tr.Check())
		}
		if m.State == task.Dead && (m.Reason != task.Poison || events(tr) != "lose bury") {
			t.Errorf("%s: poison: %s, %s", name, m.Reason, events(tr))
		}
		if m.State == task.Scheduled && (m.RunAt != task.StoreNow || events(tr) != "lose recover") {
			t.Errorf("%s: due at %d, %s", name, m.RunAt, events(tr))
		}
		if m.Failures != 0 || m.LastOutcome != task.OutLost || tr.FreeKey != "job/1" {
			t.Errorf("%s: %d failures, last %s, frees %q", name, m.Failures, m.LastOutcome,
				tr.FreeKey)
		}
	}
}

// TestR04Lose: two recoveries, the second as a suspect after a pause, then DEAD(poison); if a
// suspect was among the lost, bystanders are not counted.
func TestR04Lose(t *testing.T) {
	for name, c := range map[string]struct {
		before []int
		after  []fate
	}{
		"nothing":     {nil, nil},
		"first":       {[]int{0}, []fate{back(1, 0)}},
		"second":      {[]int{1}, []fate{back(2, time.Second)}},
		"third":       {[]int{2}, []fate{dead}},
		"no suspect":  {[]int{0, 0, 1}, []fate{back(1, 0), back(1, 0), back(2, time.Second)}},
		"one suspect": {[]int{0, 2, 1}, []fate{back(0, 0), dead, back(1, 0)}},
	} {
		var rows []task.Task
		for _, n := range c.before {
			rows = append(rows, lost(n, 10*time.Second))
		}
		wantFates(t, name, rows, c.after)
	}
}

// TestR04SuspectTime: a suspect that has run longer than its time, or that others have followed,
// was not in its place. It is one again, as often as that happens, and the others count.
func TestR04SuspectTime(t *testing.T) {
	const most, more = SuspectTime, SuspectTime + time.Microsecond
	again := back(2, time.Second)
	unanswered := lost(2, 0)
	unanswered.State, unanswered.StartedAt = task.Dispatching, 0
	canceled := lost(2, time.Second)
	canceled.CancelAsked = storeNow
	for name, c := range map[string]struct {
		rows []task.Task
		want []fate
	}{
		"in its place":   {[]task.Task{lost(2, most)}, []fate{dead}},
		"out of it":      {[]task.Task{lost(2, more)}, []fate{again}},
		"for hours":      {[]task.Task{lost(2, 9*time.Hour)}, []fate{again}},
		"not started":    {[]task.Task{unanswered}, []fate{dead}},
		"clock set back": {[]task.Task{lost(2, -time.Second)}, []fate{dead}},
		"followed": {[]task.Task{lost(2, most-time.Second), lost(2, time.Second)},
			[]fate{again, dead}},
		"followed, in another order": {[]task.Task{lost(2, time.Second), lost(2, more)},
			[]fate{dead, again}},
		"followed, all out": {[]task.Task{lost(2, time.Hour), lost(2, more), lost(0, 0)},
			[]fate{again, again, back(1, 0)}},
		"others beside one that is out": {[]task.Task{lost(1, 0), lost(2, more), lost(0, 0)},
			[]fate{again, again, back(1, 0)}},
	} {
		wantFates(t, name, c.rows, c.want)
	}
	trs := Lose([]task.Task{canceled, lost(1, 0)}, storeNow, byDefault)
	if trs[0].Set.State != task.Canceled || trs[1].Set.Recoveries != 1 {
		t.Errorf("beside a canceled suspect in its place: %s, %d recoveries", trs[0].Set.State,
			trs[1].Set.Recoveries)
	}
}

// TestLoseCanceled: what somebody asked to cancel does not come back.
func TestLoseCanceled(t *testing.T) {
	for _, s := range []task.State{task.Running, task.Dispatching} {
		k := row(s)
		k.CancelAsked, k.Recoveries = storeNow, 2
		tr := Lose([]task.Task{*k}, storeNow, byDefault)[0]
		if err := tr.Check(); err != nil || tr.Set.State != task.Canceled ||
			tr.Set.Reason != task.ByRequest || !tr.FreeUnique {
			t.Errorf("%s: %s, %v", s, events(tr), err)
		}
	}
}

// TestLoseHolds: what nobody knows the end of waits for a person where the policy says so, keeps
// its keys, and counts against nobody.
func TestLoseHolds(t *testing.T) {
	hold := func(k *task.Task) Policy {
		p := policy()
		if k.OnUnknown == task.UnknownHold {
			p.OnUnknown = task.UnknownHold
		}
		if k.MaxRetries == 0 {
			p.MaxRetries = 0
		}
		return p
	}
	held, plain := lost(0, time.Second), lost(0, time.Second)
	held.OnUnknown = task.UnknownHold
	canceled, once := held, held
	canceled.CancelAsked, once.CancelAsked = storeNow, storeNow
	held.MaxRetries, plain.MaxRetries, canceled.MaxRetries, once.MaxRetries = -1, -1, -1, 0
	trs := Lose([]task.Task{held, plain, canceled, once}, storeNow, hold)
	for i, want := range []struct {
		events string
		state  task.State
		reason task.Reason
		frees  string
	}{
		{"hold", task.Held, task.Lost, ""},
		{"lose recover", task.Scheduled, 0, "job/1"},
		{"cancel", task.Canceled, task.ByRequest, "job/1"},
		{"hold", task.Held, task.Lost, ""}, // at most once: it may have done its work
	} {
		tr := trs[i]
		if tr.Check() != nil || events(tr) != want.events || tr.Set.State != want.state ||
			tr.Set.Reason != want.reason || tr.FreeKey != want.frees ||
			tr.FreeUnique != want.state.Final() || tr.Set.LastOutcome == 0 {
			t.Errorf("row %d: %s, %s(%s), frees %q, %v; want %+v", i, events(tr), tr.Set.State,
				tr.Set.Reason, tr.FreeKey, tr.Check(), want)
		}
		if want.state == task.Held && tr.Set.Recoveries != 0 {
			t.Errorf("row %d: a held task counts as recovered", i)
		}
	}
}
