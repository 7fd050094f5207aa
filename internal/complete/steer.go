package complete

import (
	"errors"
	"fmt"
	"time"

	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
)

// Steer is an error by which a handler says what shall happen.
type Steer struct {
	Outcome  task.Outcome
	Delay    time.Duration
	HasDelay bool
	Err      error // of a snooze and a release that a handler asks for nil
}

func (e *Steer) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return fmt.Sprintf("%s for %s", e.Outcome, e.Delay)
}

func (e *Steer) Unwrap() error { return e.Err }

// Named returns err, or an error that says that none was given.
func Named(err error) error {
	if err == nil {
		return errors.New("no reason given")
	}
	return err
}

// Report says what a handler's error means.
func Report(err error) task.Report {
	if err == nil {
		return task.Report{Outcome: task.OutSucceeded}
	}
	r := task.Report{Outcome: task.OutFailed, Error: err.Error(),
		Permanent: retry.ClassOf(err) == retry.ClassPermanent}
	var s *Steer
	if errors.As(err, &s) {
		r.Outcome, r.Delay, r.HasDelay = s.Outcome, s.Delay, s.HasDelay
		if s.Outcome == task.OutSnoozed && s.Err == nil {
			r.Error = "" // a wish, and no error
		}
	}
	return r
}
