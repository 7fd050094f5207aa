package ax

import (
	"context"
	"log/slog"
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

type contextKey struct{}

// running is what a handler's context knows.
type running struct {
	task  *Task
	row   *task.Task // what task is a copy of; the handler may change that
	log   *slog.Logger
	store Store
}

// FromContext returns the task whose handler's context ctx is or descends from, or nil.
func FromContext(ctx context.Context) *Task {
	if r, ok := ctx.Value(contextKey{}).(*running); ok {
		return r.task
	}
	return nil
}

// Logger returns the scheduler's logger with the task's id, kind, key, run, attempt and execution,
// or slog.Default() outside a handler.
func Logger(ctx context.Context) *slog.Logger {
	r, ok := ctx.Value(contextKey{}).(*running)
	if !ok {
		return slog.Default()
	}
	t := r.task
	return r.log.With("task_id", t.ID.String(), "kind", t.Kind, "key", t.Key, "run", t.Run,
		"attempt", t.Attempt, "execution_id", t.ExecutionID.String())
}

// call runs the handler of a claimed task.
func (s *Scheduler) call(ctx context.Context, t *task.Task) task.Report {
	r := s.kinds.Find(t.Kind)
	if r == nil {
		return task.Report{Outcome: task.OutReleased, Error: "no handler here"}
	}
	own := seen(t)
	now := &running{task: own, row: t, log: s.cfg.Logger, store: s.store}
	return complete.Report(r.Handler(context.WithValue(ctx, contextKey{}, now), own))
}
