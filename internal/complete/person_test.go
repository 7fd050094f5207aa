package complete

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax/task"
)

var ana = By{Actor: "ana", Reason: "the bank is back"}

// acts are all acts by name, with the event each leads to from each state; states without one
// refuse it.
var acts = []struct {
	name   string
	act    Act
	events map[task.State]string
}{
	{"retry", Redrive, map[task.State]string{task.Dead: "redrive", task.Canceled: "redrive",
		task.Skipped: "redrive"}},
	{"trigger", Trigger, map[task.State]string{task.Pending: "trigger", task.Scheduled: "trigger",
		task.Held: "trigger", task.Succeeded: "trigger", task.Dead: "trigger",
		task.Canceled: "trigger", task.Skipped: "trigger"}},
	{"rerun", Resolve(Rerun), map[task.State]string{task.Held: "rerun"}},
	{"succeeded", Resolve(Succeeded), map[task.State]string{task.Held: "settle"}},
	{"dead", Resolve(GiveUp), map[task.State]string{task.Held: "give_up"}},
	{"reschedule", Reschedule(storeNow.Add(time.Hour)),
		map[task.State]string{task.Scheduled: "reschedule"}},
	{"cancel", CancelBy, map[task.State]string{task.Pending: "cancel", task.Scheduled: "cancel",
		task.Dispatching: "ask_cancel", task.Running: "ask_cancel", task.Held: "cancel",
		task.Canceled: "nothing"}},
}

// worn is a row that has been through much, with every counter set.
func worn(s task.State) *task.Task {
	k := row(s)
	k.LastOutcome, k.Run, k.Attempt, k.Failures = task.OutTimeout, 3, 9, 4
	if s.Final() || s == task.Held {
		k.Reason = task.Exhausted
	}
	k.Dispatches, k.Recoveries, k.Error, k.Result = 5, 2, "no answer", []byte("x")
	k.DispatchedAt, k.StartedAt, k.FinishedAt, k.LastRetryAt = 1, 2, 3, 4
	k.CancelAsked, k.StopAsked = 0, 5
	return k
}

// TestActs: every act from every state is in the table of moves or refused, names who and why, and
// changes the counters as a new run or the old one must.
func TestActs(t *testing.T) {
	for _, a := range acts {
		for _, s := range task.States() {
			if !s.Resting() {
				continue
			}
			k := worn(s)
			tr, err := a.act(k, ana)
			want := a.events[s]
			if want == "" {
				if !errors.Is(err, ErrConflict) || tr != nil {
					t.Errorf("%s of %s: %s, %v; want a conflict", a.name, s, events(tr), err)
				}
				continue
			}
			if err != nil || events(tr) != want {
				t.Errorf("%s of %s: %s, %v; want %s", a.name, s, events(tr), err, want)
				continue
			}
			if tr != nil {
				checkAct(t, a.name+" of "+s.String(), k, tr)
			}
		}
	}
}

const doneAlready = "it has done its work; trigger would do it once more"

// TestNothingIsLeftToDecide: who resolves a task that a late report or a colleague has settled is
// not led to run it again, whatever its end was.
func TestNothingIsLeftToDecide(t *testing.T) {
	for _, s := range task.States() {
		if !s.Final() {
			continue
		}
		for _, a := range []Answer{Rerun, Succeeded, GiveUp} {
			_, err := Resolve(a)(row(s), ana)
			if err == nil || !strings.HasSuffix(err.Error(),
				"resolve takes HELD; it was settled already, and nothing is left to decide") {
				t.Errorf("%s of %s: %v", a, s, err)
			}
		}
	}
}

// TestRefusalsSayTheFix: what the verb takes, and a verb that does take the task as it is.
func TestRefusalsSayTheFix(t *testing.T) {
	takes := map[string]map[task.State]string{}
	for _, a := range acts {
		takes[a.name] = a.events
	}
	takes["resolve"] = takes["rerun"]
	for _, a := range acts {
		for _, s := range task.States() {
			if !s.Resting() || a.events[s] != "" {
				continue
			}
			_, err := a.act(row(s), ana)
			for _, fix := range []string{"trigger", "retry", "resolve", "reschedule", "cancel"} {
				if strings.Contains(err.Error(), "use "+fix) && takes[fix][s] == "" {
					t.Errorf("%s of %s advises a verb that refuses too: %v", a.name, s, err)
				}
			}
		}
	}
	for _, c := range []struct {
		state task.State
		act   Act
		want  string
	}{
		{task.Succeeded, Redrive, "retry takes DEAD, CANCELED and SKIPPED; " + doneAlready},
		{task.Succeeded, Reschedule(storeNow), "reschedule takes SCHEDULED; " + doneAlready},
		{task.Succeeded, CancelBy,
			"cancel takes what has not ended; nothing is left to cancel"},
		{task.Scheduled, Resolve(Succeeded),
			"resolve takes HELD; it waits to run; use cancel if it must not"},
		{task.Dead, Reschedule(storeNow),
			"reschedule takes SCHEDULED; use retry, which runs it again"},
	} {
		if _, err := c.act(row(c.state), ana); !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
	want := "trigger takes all but DISPATCHING and RUNNING; wait for its end, or cancel it"
	if _, err := Trigger(row(task.Running), ana); !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v; want %s", err, want)
	}
}

func checkAct(t *testing.T, name string, k *task.Task, tr *task.Transition) {
	t.Helper()
	if err := tr.Check(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if m := tr.Moves[0]; m.Actor != ana.Actor || m.Detail != ana.Reason {
		t.Errorf("%s: the history says %+v", name, m)
	}
	m := tr.Set
	if m.State == task.Scheduled && m.Reason != 0 {
		t.Errorf("%s: a scheduled task has the reason %s", name, m.Reason)
	}
	if freed := tr.FreeKey != ""; freed != (k.State == task.Held && m.State != task.Held) {
		t.Errorf("%s: frees %q", name, tr.FreeKey)
	}
	if tr.FreeUnique != (!k.State.Final() && m.State.Final()) {
		t.Errorf("%s: frees the unique key: %v", name, tr.FreeUnique)
	}
	if !k.State.Final() {
		if m.Run != 3 || m.Attempt != 9 || m.Failures != 4 || m.ExecutionID != theRun {
			t.Errorf("%s: the run goes on, but %+v", name, m)
		}
		return
	}
	want := task.Mutable{State: task.Scheduled, Run: 4, RunAt: task.StoreNow,
		TriggeredAt: task.StoreNow}
	if fmt.Sprint(m) != fmt.Sprint(want) {
		t.Errorf("%s: a new run begins with %+v", name, m)
	}
}

func TestActDetails(t *testing.T) {
	k := worn(task.Scheduled)
	tr, _ := Trigger(k, ana)
	if tr.Set.RunAt != task.StoreNow || tr.Set.TriggeredAt != task.StoreNow || tr.Set.RunIn != 0 {
		t.Errorf("triggered: due %d, %+v", tr.Set.RunAt, tr.Set)
	}
	tr, _ = Reschedule(storeNow.Add(time.Hour))(k, ana)
	if tr.Set.RunAt != storeNow.Add(time.Hour) || tr.Set.TriggeredAt != 0 {
		t.Errorf("rescheduled: %+v", tr.Set)
	}
	k.ExpiresAt = storeNow
	var input *task.InputError
	if _, err := Reschedule(storeNow+1)(k, ana); !errors.As(err, &input) || input.Field != "run_at" {
		t.Errorf("rescheduled past its end: %v", err)
	}
	if _, err := Resolve("perhaps")(worn(task.Held), ana); !errors.As(err, &input) {
		t.Errorf("an answer that is none: %v", err)
	}
	tr, _ = Resolve(GiveUp)(worn(task.Held), ana)
	if tr.Set.Reason != task.GivenUp || tr.Set.FinishedAt != task.StoreNow {
		t.Errorf("given up: %+v", tr.Set)
	}
	tr, _ = Resolve(Succeeded)(worn(task.Held), ana)
	if tr.Set.LastOutcome != task.OutSucceeded || tr.Set.Error != "" || tr.Set.Reason != 0 {
		t.Errorf("settled: %+v", tr.Set)
	}
}

// TestOldRunIsSilent: what an execution reports after a person has begun a new run changes nothing;
// the success of one that a person only runs again does.
func TestOldRunIsSilent(t *testing.T) {
	late := task.Report{ID: theTask, Execution: theRun, Outcome: task.OutSucceeded}
	for name, c := range map[string]struct {
		state task.State
		act   Act
		want  string
	}{
		"retried":   {task.Dead, Redrive, "nothing"},
		"triggered": {task.Dead, Trigger, "nothing"},
		"rerun":     {task.Held, Resolve(Rerun), "succeed"},
	} {
		k := worn(c.state)
		tr, err := c.act(k, ana)
		if err != nil {
			t.Fatal(err)
		}
		k.Mutable = tr.Set
		k.Resolve(storeNow)
		if got := events(Decide(k, late, policy(), storeNow, 0)); got != c.want {
			t.Errorf("%s: the late success gives %s, want %s", name, got, c.want)
		}
	}
}
