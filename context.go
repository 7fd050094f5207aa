package ax

import (
	"context"
	"errors"
	"log/slog"

	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/internal/notes"
	"github.com/ax-sched/ax/seal"
	"github.com/ax-sched/ax/task"
)

type contextKey struct{}

// running is what a handler's context knows.
type running struct {
	task  *Task
	row   *task.Task // what task is a copy of; the handler may change that
	log   *slog.Logger
	store Store
	says  notes.Execution
}

// at returns what the context of a handler knows, or nil of any other.
func at(ctx context.Context) *running {
	r, _ := ctx.Value(contextKey{}).(*running)
	return r
}

// FromContext returns the task whose handler's context ctx is or descends from, or nil.
func FromContext(ctx context.Context) *Task {
	if r := at(ctx); r != nil {
		return r.task
	}
	return nil
}

// Logger returns the scheduler's logger with the task's id, kind, key, run, attempt and execution,
// or slog.Default() outside a handler. What is logged with it goes to Config.Logger and, from
// Config.LogLevel on, to the store, where [Scheduler.Logs] reads it about a second later: of each
// execution the first 32 KiB, and from its end on also the last 32 KiB, in lines of at most 4 KiB.
func Logger(ctx context.Context) *slog.Logger {
	r := at(ctx)
	if r == nil {
		return slog.Default()
	}
	t := r.task
	return slog.New(r.says.Handler(r.log.With("task_id", t.ID.String(), "kind", t.Kind,
		"key", t.Key, "run", t.Run, "attempt", t.Attempt,
		"execution_id", t.ExecutionID.String()).Handler()))
}

// Progress says how far a handler has come, in units of its own; a total of 0 is not known. It
// takes no time and cannot fail: what is said is written about once a second, and
// [Scheduler.Progress] reads it. Outside a handler, and after its end, it does nothing.
func Progress(ctx context.Context, done, total int) {
	if r := at(ctx); r != nil {
		r.says.Progress(int64(done), int64(total))
	}
}

// Output sets the output of a handler: bytes as they are, anything else as its JSON, at most
// 256 KiB or an [InputError] that matches [ErrTooLarge]. It may be called again and replaces what
// was set; [Scheduler.Progress] reads it while the handler runs. When the attempt succeeds its
// output is the task's Result, written in the same commit; that of an attempt which fails stays
// readable until another one says something, and so does that of a task that [CompleteTx] ends.
func Output(ctx context.Context, v any) error {
	if r := at(ctx); r != nil {
		return r.says.Output(v)
	}
	return errors.New("Output: the context is not that of a handler; pass on the one it got")
}

// call runs the handler of a claimed task.
func (s *Scheduler) call(ctx context.Context, t *task.Task) (r task.Report) {
	k := s.kinds.Find(t.Kind)
	if k == nil {
		return task.Report{Outcome: task.OutReleased, Error: "no handler here"}
	}
	own, err := seen(t), error(nil)
	if own.Payload, err = s.kinds.Open(s.cfg.Seal, t, s.cfg.Logger); err != nil {
		return complete.Report(err)
	}
	now := &running{task: own, row: t, log: s.cfg.Logger, store: s.store}
	now.says.C, now.says.Task = s.engine.Load().Notes(), t
	if s.cfg.Seal != nil {
		now.says.Seal = func(out []byte) []byte { return s.cfg.Seal.Seal(seal.Result(t.Kind), out) }
	}
	defer func() {
		if out := now.says.End(); r.Outcome == task.OutSucceeded {
			r.Result = out
		}
	}()
	return complete.Report(k.Handler(context.WithValue(ctx, contextKey{}, now), own))
}
