package complete

import (
	"errors"
	"fmt"

	"github.com/ax-sched/ax/task"
)

// ErrConflict is what a refused act of a person matches: the task's state does not allow it.
var ErrConflict = errors.New("the state of the task does not allow this")

// By says who acts, and why; both go to the history.
type By struct {
	Actor  string // a person or a program; empty for nobody in particular
	Reason string
}

// An Act decides what a person's wish means for a row as it was read: a transition, or nil if there
// is nothing to do, or an error that matches ErrConflict or names a field.
type Act func(t *task.Task, by By) (*task.Transition, error)

// refuse says what the verb takes, and what does fit the task as it is. No advice leads to work
// being done again without saying so: who reads it may be the second of two who decide.
func refuse(t *task.Task, verb, takes string) (*task.Transition, error) {
	fix := "use trigger" // of PENDING and SCHEDULED
	switch {
	case t.State.Live():
		fix = "wait for its end, or cancel it"
	case t.State == task.Held:
		fix = "use resolve"
	case verb == "cancel":
		fix = "nothing is left to cancel"
	case verb == "resolve" && t.State.Final():
		fix = "it was settled already, and nothing is left to decide"
	case verb == "resolve":
		fix = "it waits to run; use cancel if it must not"
	case t.State == task.Succeeded:
		fix = "it has done its work; trigger would do it once more"
	case t.State.Final():
		fix = "use retry, which runs it again"
	}
	return nil, fmt.Errorf("it is %s: %w: %s takes %s; %s", t.State, ErrConflict, verb, takes, fix)
}

// CancelBy ends a task at once where nothing runs, else its execution is asked. Twice is harmless.
func CancelBy(t *task.Task, by By) (*task.Transition, error) {
	if t.State.Final() && t.State != task.Canceled {
		return refuse(t, "cancel", "what has not ended")
	}
	return Cancel(t, by.Actor, by.Reason), nil
}

// Redrive begins a new run of a task that has ended without success.
func Redrive(t *task.Task, by By) (*task.Transition, error) {
	switch t.State {
	case task.Dead, task.Canceled, task.Skipped:
		return anew(t, by, task.Redrive), nil
	}
	return refuse(t, "retry", "DEAD, CANCELED and SKIPPED")
}

// Trigger makes a task due now: one that waits or is held as it is, one that has ended in a new
// run.
func Trigger(t *task.Task, by By) (*task.Transition, error) {
	switch {
	case t.State.Final():
		return anew(t, by, task.Trigger), nil
	case t.State.Live():
		return refuse(t, "trigger", "all but DISPATCHING and RUNNING")
	}
	return now(t, by, task.Trigger), nil
}

// anew begins a new run with fresh counters. The execution of the old run is forgotten: what it
// still reports says nothing about the new one.
func anew(t *task.Task, by By, e task.Event) *task.Transition {
	tr := task.Begin(t)
	tr.Set = task.Mutable{State: t.State, Run: t.Run + 1, RunAt: task.StoreNow,
		TriggeredAt: task.StoreNow}
	return tr.By(by.Actor, e, 0, by.Reason).Keys(t)
}

// now makes a waiting task due in the run it is in.
func now(t *task.Task, by By, e task.Event) *task.Transition {
	tr := task.Begin(t)
	m := &tr.Set
	m.RunAt, m.RunIn, m.TriggeredAt, m.Reason = task.StoreNow, 0, task.StoreNow, 0
	return tr.By(by.Actor, e, 0, by.Reason).Keys(t)
}

// Answer is a person's word on a held task.
type Answer string

// The answers.
const (
	Rerun     Answer = "rerun"     // run it again, in the same run: its effect may exist already
	Succeeded Answer = "succeeded" // it has done its work
	GiveUp    Answer = "dead"      // it will not run again: DEAD(given_up)
)

// Resolve answers the question what shall become of a held task.
func Resolve(a Answer) Act {
	return func(t *task.Task, by By) (*task.Transition, error) {
		if t.State != task.Held {
			return refuse(t, "resolve", "HELD")
		}
		tr := task.Begin(t)
		m := &tr.Set
		m.FinishedAt, m.Reason = task.StoreNow, 0
		switch a {
		case Rerun:
			return now(t, by, task.Rerun), nil
		case Succeeded:
			m.LastOutcome, m.Error = task.OutSucceeded, ""
			return tr.By(by.Actor, task.Settle, 0, by.Reason).Keys(t), nil
		case GiveUp:
			m.Reason = task.GivenUp
			return tr.By(by.Actor, task.GiveUp, task.GivenUp, by.Reason).Keys(t), nil
		}
		return nil, &task.InputError{Field: "as",
			Reason: fmt.Sprintf("%q is none of rerun, succeeded and dead", a)}
	}
}

// Reschedule gives a scheduled task another time; payload, priority and counters stay.
func Reschedule(at task.Time) Act {
	return func(t *task.Task, by By) (*task.Transition, error) {
		if t.State != task.Scheduled {
			return refuse(t, "reschedule", "SCHEDULED")
		}
		if end := expires(t); end != 0 && at > end {
			return nil, &task.InputError{Field: "run_at",
				Reason: "is after expires_at; use an earlier time"}
		}
		tr := task.Begin(t)
		tr.Set.RunAt, tr.Set.RunIn = at, 0
		return tr.By(by.Actor, task.Reschedule, 0, by.Reason).Keys(t), nil
	}
}
