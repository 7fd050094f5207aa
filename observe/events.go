package observe

import (
	"time"

	"github.com/ax-sched/ax/task"
)

// Task says which task an event is about, as its row is after the event.
type Task struct {
	ID        task.ID
	Kind      string
	Key       string
	Job       string // the job whose fire it is, or ""
	Priority  task.Bucket
	Run       int
	Attempt   int     // starts in this run
	Execution task.ID // of the last attempt; zero if there was none
	State     task.State
}

// Of returns what events say of a task.
func Of(t *task.Task) Task {
	return Task{ID: t.ID, Kind: t.Kind, Key: t.Key, Job: t.Job, Priority: t.Bucket, Run: t.Run,
		Attempt: t.Attempt, Execution: t.ExecutionID, State: t.State}
}

// Started is the start of an attempt.
type Started struct {
	Task
	Due time.Time // when this attempt was due
	// Late is how much later than Due the handler is called, by the estimate of the store's clock.
	Late time.Duration
}

// Ended is the recorded end of an attempt.
type Ended struct {
	Task
	// Outcome is what was recorded: of a handler that returns an error after it was told to cancel
	// it is task.OutCanceled, for example.
	Outcome task.Outcome
	// Took is how long the handler ran; of one that was given up, until then.
	Took      time.Duration
	Permanent bool // of a failure: the handler says that no retry can help
	Failures  int  // attempts of this run that ended in failure or time-out, this one included
	Error     string
}

// Retried is the decision to try again.
type Retried struct {
	Task
	Outcome  task.Outcome // task.OutFailed or task.OutTimeout
	Failures int          // so far; the first retry follows the first failure
	In       time.Duration
}

// Dead is the end of a task that did not succeed.
type Dead struct {
	Task
	Reason task.Reason
	Error  string // of its last attempt
}

// Held is a task that waits for a person.
type Held struct {
	Task
	Reason task.Reason
	Error  string
}

// Skipped is a due task that does not run.
type Skipped struct {
	Task
	Reason task.Reason
}

// Recovered is a task whose executor is gone; State says where that has led it.
type Recovered struct {
	Task
	Executor string // the one that is gone
	Epoch    int64  // its epoch
}

// HandedBack is a task that was claimed and not started.
type HandedBack struct{ Task }

// Failed is an error of a part of the scheduler.
type Failed struct {
	// Part is one of few names: complete, dispatch, executor, hints, jobs, kinds, leader, sweep,
	// trigger and the like.
	Part string
	Err  error
}

// StoreCall is one call of the store.
type StoreCall struct {
	// Verb is the name of the method in snake case; those of leases begin with lease_, those of
	// the registry with executor_.
	Verb string
	Took time.Duration
	Err  error // as the store returned it; some are answers, such as store.ErrNotFound
}

// Leader is a change of leadership.
type Leader struct {
	Leading bool
	Token   int64     // the fencing token of the term that begins or ends
	Since   time.Time // when it began, by the store's clock
	Cause   error     // why it ended; nil when it begins, and after an orderly stop
}

// Clock is a reading of the store's clock.
type Clock struct {
	Offset time.Duration // how far the store's clock is ahead of this machine's
}
