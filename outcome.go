package ax

import (
	"time"

	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
)

// Permanent says that no retry can help: the task becomes DEAD(permanent). An error type with the
// method of retry.Classed can say so itself.
func Permanent(err error) error { return retry.Permanent(complete.Named(err)) }

// Cancel ends the task as CANCELED: the work is not wanted any more.
func Cancel(err error) error {
	return &complete.Steer{Outcome: task.OutCanceled, Err: complete.Named(err)}
}

// Snooze puts the task back for d without spending a retry: it is too early.
func Snooze(d time.Duration) error {
	return &complete.Steer{Outcome: task.OutSnoozed, Delay: max(d, 0)}
}

// RetryIn fails the attempt with err and retries after d instead of the policy's backoff; the
// retry counts as any other.
func RetryIn(d time.Duration, err error) error {
	return &complete.Steer{Outcome: task.OutFailed, Delay: max(d, 0), HasDelay: true,
		Err: complete.Named(err)}
}

// Release hands the task back at once without spending a retry, as a process does that stops.
func Release() error { return &complete.Steer{Outcome: task.OutReleased} }
