package storetest

import (
	"testing"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// follow builds the transition of t by events, sets what a scheduler would set, and the keys.
func follow(t *task.Task, events ...task.Event) *task.Transition {
	tr := task.Begin(t)
	for _, e := range events {
		tr.Then(e, task.NoReason, "")
		effect(&tr.Set, e)
	}
	return tr.Keys(t)
}

// effect sets the fields that a move by event e concerns.
func effect(m *task.Mutable, e task.Event) {
	switch e {
	case task.Claim, task.ClaimLocal:
		m.Attempt++
		m.Executor, m.Epoch, m.ExecutionID = "exec", number(), newID()
		m.Token, m.DispatchedAt = 1, task.StoreNow
		if e == task.ClaimLocal {
			m.StartedAt = task.StoreNow
		}
	case task.Accept:
		m.StartedAt = task.StoreNow
	case task.Return:
		m.Attempt--
		m.Dispatches++
		m.RunAt, m.RunIn = task.StoreNow, 0
	case task.Succeed, task.Settle:
		m.LastOutcome, m.FinishedAt, m.Reason = task.OutSucceeded, task.StoreNow, task.NoReason
	case task.Fail:
		m.LastOutcome, m.FinishedAt = task.OutFailed, task.StoreNow
		m.Failures++
	case task.TimeOut:
		m.LastOutcome, m.FinishedAt = task.OutTimeout, task.StoreNow
		m.Failures++
	case task.Lose:
		m.LastOutcome, m.FinishedAt = task.OutLost, task.StoreNow
		m.Recoveries++
	case task.AskCancel:
		m.CancelAsked = task.StoreNow
	case task.Stop:
		m.StopAsked = task.StoreNow
	case task.Cancel, task.ParentCancel:
		m.Reason, m.FinishedAt = task.ByRequest, task.StoreNow
	case task.Skip, task.ParentSkip:
		m.Reason, m.FinishedAt = task.Overlapped, task.StoreNow
	case task.Bury, task.Expire, task.Undeliver, task.Supersede, task.GiveUp:
		m.Reason, m.FinishedAt = task.Exhausted, task.StoreNow
	case task.Hold:
		m.Reason = task.Lost
	case task.Retry, task.Recover, task.Snooze, task.HandBack:
		m.RunAt, m.RunIn = task.StoreNow, time.Second
		m.LastRetryAt = task.StoreNow
	case task.Rerun, task.Redrive, task.Trigger, task.Release:
		*m = task.Mutable{State: m.State, Run: m.Run + 1, RunAt: task.StoreNow,
			TriggeredAt: task.StoreNow}
	}
}

// route returns the shortest list of events from one state to another; nil if there is none, and
// an empty one from a state to itself.
func route(from, to task.State) []task.Event {
	type stop struct {
		at  task.State
		way []task.Event
	}
	seen := map[task.State]bool{from: true}
	for queue := []stop{{from, []task.Event{}}}; len(queue) > 0; queue = queue[1:] {
		p := queue[0]
		if p.at == to {
			return p.way
		}
		for _, l := range task.Moves() {
			if l.From == p.at && !seen[l.To] {
				seen[l.To] = true
				way := append(append([]task.Event{}, p.way...), l.Event)
				queue = append(queue, stop{l.To, way})
			}
		}
	}
	return nil
}

// inState makes a task, changed by mod, and leads it to a resting state.
func inState(t *testing.T, s Full, want task.State, mod func(*task.Task)) task.Task {
	t.Helper()
	tk := newTask(t.Name())
	if mod != nil {
		mod(&tk)
	}
	insert(t, s, tk)
	row := read(t, s, tk.ID)
	var chain []task.Event
	at := row.State
	for _, e := range route(row.State, want) {
		chain = append(chain, e)
		at, _ = task.Next(at, e)
		if at.Resting() {
			row = mustApply(t, s, follow(&row, chain...))
			chain = nil
		}
	}
	if row.State != want {
		t.Fatalf("the task is in %s; want %s", row.State, want)
	}
	return row
}

// statuses returns the status of each result.
func statuses(res []store.Result) []store.Status {
	out := make([]store.Status, len(res))
	for i, r := range res {
		out[i] = r.Status
	}
	return out
}
