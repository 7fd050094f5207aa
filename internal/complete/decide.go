// Package complete decides what an outcome means for a task, and records it.
//
// The deciding half is pure: a row as it was read and a report give a transition. The recording
// half ([Completer]) applies what waits as one batch, and decides again where the row has moved on.
package complete

import (
	"time"

	"github.com/ax-sched/ax/internal/plant"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
)

// Policy is what applies to one task after its own options and its kind's are merged.
type Policy struct {
	MaxRetries int
	Retry      retry.Policy
	Timeout    time.Duration // hard time-out; task.NoTimeout: none
	// OnUnknown says what follows an execution whose end nobody knows; UnknownByKind is a retry.
	OnUnknown   task.Unknown
	MaxLateness time.Duration // later than this after RunAt the task is not begun; 0: any time
	MaxLifetime time.Duration // from assignment to result; 0: any time
}

// holds reports whether a person decides about an execution whose end nobody knows.
func (p *Policy) holds() bool {
	return p.OnUnknown == task.UnknownHold && !plant.On(plant.HoldIgnored)
}

// once reports whether the delivery is at most once: then nothing that may have begun runs again
// unless its handler or a person says so.
func (p *Policy) once() bool { return p.holds() && p.MaxRetries == 0 }

// Claim assigns a scheduled task to an execution in the leader's own process.
func Claim(t *task.Task, execution task.ID, executor string, epoch, token int64) *task.Transition {
	tr := task.Begin(t)
	tr.WhenDue = true
	Assign(&tr.Set, execution, executor, epoch, token)
	return tr.Then(task.ClaimLocal, 0, "").Keys(t)
}

// Assign writes an execution into a row: the start of an attempt.
func Assign(m *task.Mutable, execution task.ID, executor string, epoch, token int64) {
	m.Attempt++
	m.ExecutionID, m.Executor, m.Epoch, m.Token = execution, executor, epoch, token
	m.DispatchedAt, m.StartedAt, m.FinishedAt = task.StoreNow, task.StoreNow, 0
	m.CancelAsked, m.StopAsked = 0, 0
}

// rolledBack is the error of an attempt that succeeded in a transaction which was not committed.
const rolledBack = "CompleteTx rolled back"

// Decide says what report r means for row t, or nil if it means nothing any more: the execution is
// not the row's last one, or its end is known already. With r.InTx the row was read after the
// handler's end: if it says then that it runs, its success was rolled back with its effect. now is
// an estimate of the store's time and rnd lies in [0,1); both only place a retry.
func Decide(t *task.Task, r task.Report, p Policy, now task.Time, rnd float64) *task.Transition {
	if plant.On(plant.OutcomeUnchecked) {
		r.Execution = t.ExecutionID
	}
	if t.ExecutionID != r.Execution || r.Execution.IsZero() {
		return nil
	}
	if r.InTx && r.Outcome == task.OutSucceeded {
		r.Outcome, r.Error = task.OutFailed, rolledBack
	}
	tr := task.Begin(t)
	tr.Execution = r.Execution
	switch t.State {
	case task.Dispatching: // the report overtook the acceptance
		tr.Then(task.Accept, 0, "")
	case task.Running:
	case task.Scheduled:
		// It was given up as lost or timed out and waits for a retry; only success still counts.
		if r.Outcome != task.OutSucceeded ||
			t.LastOutcome != task.OutLost && t.LastOutcome != task.OutTimeout {
			return nil
		}
	case task.Held:
		if r.Outcome != task.OutSucceeded && r.Outcome != task.OutFailed {
			return nil
		}
	default:
		return nil
	}
	ended(tr, r, t, p, now, rnd)
	tr.Keys(t)
	if plant.On(plant.QueueLetsGo) && tr.Set.State == task.Scheduled {
		tr.FreeKey = t.OverlapKey
	}
	return tr
}

func ended(tr *task.Transition, r task.Report, t *task.Task, p Policy, now task.Time,
	rnd float64) {
	m := &tr.Set
	silent := r.Outcome == task.OutTimeout // given up: it may still run
	o := r.Outcome.Counts(t.CancelAsked != 0,
		t.State != task.Held && (silent || t.StopAsked != 0 || r.Stopped), false)
	m.FinishedAt, m.LastOutcome, m.Reason = task.StoreNow, o, 0
	switch {
	case o == task.OutSucceeded:
		m.Error, m.Result = "", r.Result
		if plant.On(plant.OutputForgotten) {
			m.Result = nil
		}
		tr.Then(task.Succeed, 0, "")
	case t.CancelAsked != 0 && silent && p.once():
		m.Error, m.LastOutcome = r.Error, task.OutTimeout
		hold(tr, task.Unreported, r.Error)
	case o == task.OutCanceled:
		m.Error, m.Reason = r.Error, task.ByHandler
		if t.CancelAsked != 0 {
			m.Reason = task.ByRequest
		}
		tr.Then(task.Cancel, m.Reason, r.Error)
	case o == task.OutTimeout:
		m.Error = r.Error
		tr.Then(task.TimeOut, 0, r.Error)
		if silent && p.holds() {
			hold(tr, task.Unreported, "") // its late report counts as the failure that it is
			return
		}
		again(tr, r, t, p, now, rnd)
	case o == task.OutSnoozed:
		m.RunAt, m.RunIn = task.StoreNow, r.Delay
		if r.Error != "" {
			m.Error = r.Error // why it has to wait
		}
		tr.Then(task.Snooze, 0, r.Error)
	case o == task.OutReleased && r.Interrupted && p.once():
		m.Error = r.Error
		hold(tr, task.Interrupted, r.Error)
	case o == task.OutReleased:
		m.RunAt, m.RunIn = task.StoreNow, 0
		tr.Then(task.HandBack, 0, r.Error)
	default:
		m.Error, m.LastOutcome = r.Error, task.OutFailed
		tr.Then(task.Fail, 0, r.Error)
		again(tr, r, t, p, now, rnd)
	}
}

// hold leaves the decision to a person.
func hold(tr *task.Transition, why task.Reason, words string) {
	tr.Set.Reason = why
	tr.Then(task.Hold, why, words)
}

// again decides between a retry and DEAD after an attempt that failed or timed out.
func again(tr *task.Transition, r task.Report, t *task.Task, p Policy, now task.Time,
	rnd float64) {
	m := &tr.Set
	if !plant.On(plant.FailureUncounted) {
		m.Failures++
	}
	if r.Permanent {
		m.Reason = task.Permanent
		tr.Then(task.Bury, task.Permanent, "")
		return
	}
	delay := r.Delay
	if !r.HasDelay {
		delay = backoff(p.Retry, m.Failures, rnd)
	}
	// The budget runs from the first RunAt, and anew from where a person has begun a new run.
	deadline := p.Retry.Deadline(int64(max(t.FireTime, t.TriggeredAt)))
	at := int64(now.Add(delay))
	if !retry.Allowed(m.Failures, p.MaxRetries) || !retry.Allows(at, deadline, 0) {
		m.Reason = task.Exhausted
		tr.Then(task.Bury, task.Exhausted, "")
		return
	}
	if !retry.Allows(at, 0, int64(expires(t))) {
		m.Reason = task.Expired
		tr.Then(task.Bury, task.Expired, "a retry would start after expires_at")
		return
	}
	m.RunAt, m.RunIn, m.LastRetryAt = task.StoreNow, delay, task.StoreNow
	tr.Then(task.Retry, 0, "")
}

// backoff is the policy's delay. A custom function that panics must not take the recording of all
// other outcomes down with it: then the policy's fields decide.
func backoff(p retry.Policy, n int, rnd float64) (d time.Duration) {
	defer func() {
		if recover() != nil {
			p.Func = nil
			d = p.Delay(n, rnd)
		}
	}()
	return p.Delay(n, rnd)
}

// Stop marks a running execution as told to stop.
func Stop(t *task.Task) *task.Transition {
	if t.State != task.Running || t.StopAsked != 0 {
		return nil
	}
	tr := task.Begin(t)
	tr.Execution = t.ExecutionID
	tr.Set.StopAsked = task.StoreNow
	return tr.Then(task.Stop, 0, "past the hard time-out")
}

// Cancel ends a task on request: at once where nothing runs, else it asks the execution to end.
// It returns nil if the task is final already.
func Cancel(t *task.Task, actor, words string) *task.Transition {
	tr := task.Begin(t)
	switch {
	case t.State.Final():
		return nil
	case t.State.Live():
		if t.CancelAsked != 0 {
			return nil
		}
		tr.Set.CancelAsked = task.StoreNow
		return tr.By(actor, task.AskCancel, task.ByRequest, words)
	}
	tr.Set.Reason, tr.Set.FinishedAt = task.ByRequest, task.StoreNow
	return tr.By(actor, task.Cancel, task.ByRequest, words).Keys(t)
}

// Skip does not run a due task because of a policy.
func Skip(t *task.Task, why task.Reason) *task.Transition {
	tr := task.Begin(t)
	tr.Set.Reason, tr.Set.FinishedAt = why, task.StoreNow
	return tr.Then(task.Skip, why, "").Keys(t)
}

// Supersede moves the waiting fire of a job aside for a newer one: skipped, or dead if it has
// failed already, so that a job that never succeeds is seen. nil: it no longer waits.
func Supersede(t *task.Task) *task.Transition {
	switch {
	case t.State != task.Scheduled:
		return nil
	case t.Failures == 0:
		return Skip(t, task.Superseded)
	}
	tr := task.Begin(t)
	tr.Set.Reason, tr.Set.FinishedAt = task.Superseded, task.StoreNow
	return tr.Then(task.Supersede, task.Superseded, "").Keys(t)
}
