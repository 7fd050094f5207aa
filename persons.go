package ax

import (
	"context"
	"fmt"
	"time"

	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/task"
)

// By says who acts, and why; both go to the history.
type By struct {
	Actor  string // a person or a program
	Reason string
}

// Answer is a person's word on a task in HELD.
type Answer = complete.Answer

// The answers to Resolve.
const (
	AnswerRerun     = complete.Rerun     // run it again, in the same run: its effect may exist
	AnswerSucceeded = complete.Succeeded // it has done its work
	AnswerDead      = complete.GiveUp    // it will not run again: DEAD(given_up)
)

// LiveError refuses a new run of a task because another live one has its kind and key. It matches
// [ErrConflict] and has the id of the live task.
type LiveError = complete.LiveError

// Cancel ends a task: at once where it does not run, else its context ends with [ErrCanceled] and
// its report decides; success is still success, anything else is CANCELED and never retried.
// A task that has ended already gives [ErrConflict]; canceling twice is harmless.
func (s *Scheduler) Cancel(ctx context.Context, id ID, by By) error {
	return s.act(ctx, "cancel", id, by, complete.CancelBy)
}

// CancelKey cancels the live task with this kind and key, or returns [ErrNotFound].
func (s *Scheduler) CancelKey(ctx context.Context, kind, key string, by By) error {
	t, err := s.store.ByKey(ctx, kind, key)
	if err != nil {
		return fmt.Errorf("cancel %s %q: %w", kind, key, err)
	}
	return s.Cancel(ctx, t.ID, by)
}

// Retry runs a task that is DEAD, CANCELED or SKIPPED again: a new run, with all its retries.
// Handlers see a Run one higher. Another state gives [ErrConflict], and so does a live task with
// the same kind and key: see [LiveError].
func (s *Scheduler) Retry(ctx context.Context, id ID, by By) error {
	return s.act(ctx, "retry", id, by, complete.Redrive)
}

// Trigger makes a task due now: one that waits, is held, or has ended, which begins a new run as
// Retry does. In the process that leads it is claimed before all priorities; overlap keys and slots
// hold. A task that runs gives [ErrConflict].
func (s *Scheduler) Trigger(ctx context.Context, id ID, by By) error {
	return s.act(ctx, "trigger", id, by, complete.Trigger)
}

// Resolve says what shall become of a task in HELD, whose outcome nobody knows. Another state gives
// [ErrConflict].
func (s *Scheduler) Resolve(ctx context.Context, id ID, as Answer, by By) error {
	return s.act(ctx, "resolve", id, by, complete.Resolve(as))
}

// Reschedule gives a task in SCHEDULED another time to run at; nothing else changes. Another state
// gives [ErrConflict].
func (s *Scheduler) Reschedule(ctx context.Context, id ID, at time.Time, by By) error {
	if !task.ValidTime(at) {
		return fmt.Errorf("reschedule task %s: %w", id, &InputError{Field: "run_at",
			Reason: "is not set or not from 1970 to 9999"})
	}
	return s.act(ctx, "reschedule", id, by, complete.Reschedule(task.FromGo(at)))
}

// act does what a person wishes, and tells the engine.
func (s *Scheduler) act(ctx context.Context, verb string, id ID, by By, do complete.Act) error {
	t, err := complete.Perform(ctx, s.store, id, complete.By(by), do)
	if err != nil {
		return fmt.Errorf("%s task %s: %w", verb, id, err)
	}
	if t != nil {
		s.engine.Load().Moved(t)
	}
	return nil
}
