package task

import "time"

// Execution is one attempt of a task, as its history tells it.
type Execution struct {
	ID       ID
	Run      int // the life of the task it belongs to, from 1
	Attempt  int // from 1 in each run
	Executor string
	Epoch    int64
	Token    int64
	// Outcome is how it ended: NoOutcome while it runs, and where nobody knows. A report that came
	// late replaces OutLost and OutTimeout.
	Outcome    Outcome
	Permanent  bool   // of a failure: its handler said that no retry can help
	Error      string // of an end that was not a success
	StartedAt  Time   // 0: an executor was asked, and did not say that it has begun
	FinishedAt Time   // 0: not known
}

// Took is how long it ran, or 0 where that is not known.
func (x *Execution) Took() time.Duration {
	if x.StartedAt == 0 || x.FinishedAt == 0 {
		return 0
	}
	return max(x.FinishedAt.Sub(x.StartedAt), 0)
}

// Class is "retryable" or "permanent" of a failure, else "".
func (x *Execution) Class() string {
	switch {
	case x.Outcome != OutFailed:
		return ""
	case x.Permanent:
		return "permanent"
	}
	return "retryable"
}

// Executions returns the executions that a task's history tells of, the first one first. h is in
// the order of versions; where its beginning is missing, so are the executions that began there.
func Executions(h []Entry) []Execution {
	var all []Execution
	at := map[ID]int{}
	run := 1
	for i := range h {
		e := &h[i]
		if e.NewRun() {
			run++
		}
		switch e.Event {
		case Claim, ClaimLocal, SubmitClaimed:
			x := Execution{ID: e.ExecutionID, Run: run, Attempt: e.Attempt, Executor: e.Executor,
				Epoch: e.Epoch, Token: e.Token}
			if e.Event != Claim {
				x.StartedAt = e.At
			}
			at[e.ExecutionID] = len(all)
			all = append(all, x)
		default:
			if n, ok := at[e.ExecutionID]; ok {
				all[n].follow(e)
			}
		}
	}
	return all
}

// NewRun reports whether a person began another run of the task with this entry.
func (e *Entry) NewRun() bool {
	return e.Event == Redrive || e.Event == Trigger && e.From.Final()
}

// follow takes a later entry of the execution.
func (x *Execution) follow(e *Entry) {
	switch e.Event {
	case Accept:
		x.StartedAt = e.At
	case Succeed:
		x.end(e, OutSucceeded)
		x.Error = ""
	case Fail:
		x.end(e, OutFailed)
	case TimeOut:
		x.end(e, OutTimeout)
	case Lose:
		x.end(e, OutLost)
	case Snooze:
		x.end(e, OutSnoozed)
	case HandBack, Return, Undeliver:
		x.end(e, OutReleased)
	case Cancel:
		if e.From.Live() { // else it had ended before, or nobody knows how
			x.end(e, OutCanceled)
		}
	case Bury:
		x.Permanent = e.Reason == Permanent
	}
}

func (x *Execution) end(e *Entry, o Outcome) {
	x.Outcome, x.Error, x.FinishedAt = o, e.Detail, e.At
}
