package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	"github.com/ax-sched/ax/observe"
	"github.com/ax-sched/ax/task"
)

// Guard returns o with panics contained: a broken observer must not take the scheduler down. The
// first panic of each function is logged, because one that panics may do so a thousand times a
// second; the function is called again all the same.
func Guard(o observe.Observer, log *slog.Logger) observe.Observer {
	return observe.Observer{
		Started:    guard("started", o.Started, log),
		Ended:      guard("ended", o.Ended, log),
		Retried:    guard("retried", o.Retried, log),
		Dead:       guard("dead", o.Dead, log),
		Held:       guard("held", o.Held, log),
		Skipped:    guard("skipped", o.Skipped, log),
		Recovered:  guard("recovered", o.Recovered, log),
		HandedBack: guard("handed_back", o.HandedBack, log),
		Failed:     guard("failed", o.Failed, log),
		Refused:    guard("refused", o.Refused, log),
		StoreCall:  guard("store_call", o.StoreCall, log),
		Leader:     guard("leader", o.Leader, log),
		Clock:      guard("clock", o.Clock, log),
	}
}

func guard[E any](event string, f func(E), log *slog.Logger) func(E) {
	if f == nil {
		return nil
	}
	var told atomic.Bool
	return func(e E) {
		defer func() {
			if p := recover(); p != nil && !told.Swap(true) {
				log.Error("the observer panicked; events of this kind may be lost", "event", event,
					"error", fmt.Sprint(p), "stack", string(debug.Stack()))
			}
		}()
		f(e)
	}
}

// call runs a handler after its start was told.
func (e *Engine) call(ctx context.Context, t *task.Task) task.Report {
	if f := e.cfg.Observer.Started; f != nil {
		f(observe.Started{Task: observe.Of(t), Due: t.RunAt.Go(),
			Late: max(e.cfg.now().Sub(t.RunAt), 0)})
	}
	return e.cfg.Call(ctx, t)
}

// ended tells what a recorded report says of its execution, and where it has led the task.
func (e *Engine) ended(t *task.Task, r task.Report) {
	o := &e.cfg.Observer
	if r.Unstarted {
		if o.HandedBack != nil {
			o.HandedBack(observe.HandedBack{Task: observe.Of(t)})
		}
		return
	}
	if o.Ended != nil {
		o.Ended(observe.Ended{Task: observe.Of(t), Outcome: t.LastOutcome, Took: r.Took,
			Permanent: r.Permanent, Failures: t.Failures, Error: t.Error})
	}
	failed := t.LastOutcome == task.OutFailed || t.LastOutcome == task.OutTimeout
	if o.Retried != nil && failed && t.State == task.Scheduled {
		o.Retried(observe.Retried{Task: observe.Of(t), Outcome: t.LastOutcome,
			Failures: t.Failures, In: max(t.RunAt.Sub(t.LastRetryAt), 0)})
	}
	e.rests(t)
}

// rests tells of a task that has come to rest where somebody may want to know of it.
func (e *Engine) rests(t *task.Task) {
	o := &e.cfg.Observer
	switch {
	case t.State == task.Dead && o.Dead != nil:
		o.Dead(observe.Dead{Task: observe.Of(t), Reason: t.Reason, Error: t.Error})
	case t.State == task.Held && o.Held != nil:
		o.Held(observe.Held{Task: observe.Of(t), Reason: t.Reason, Error: t.Error})
	case t.State == task.Skipped && o.Skipped != nil:
		o.Skipped(observe.Skipped{Task: observe.Of(t), Reason: t.Reason})
	}
}

// recovered tells of a task of a lost executor.
func (e *Engine) recovered(t *task.Task) {
	if f := e.cfg.Observer.Recovered; f != nil {
		f(observe.Recovered{Task: observe.Of(t), Executor: t.Executor, Epoch: t.Epoch})
	}
	e.rests(t)
}

// met tells of an error of a part.
func (e *Engine) met(part string, err error) {
	o := &e.cfg.Observer
	if o.Refused != nil && errors.Is(err, task.ErrIllegal) {
		o.Refused(observe.Failed{Part: part, Err: err})
	}
	if o.Failed != nil {
		o.Failed(observe.Failed{Part: part, Err: err})
	}
}

// led tells of the begin or the end of a term.
func (t *term) led(leading bool, cause error) {
	if f := t.e.cfg.Observer.Leader; f != nil {
		f(observe.Leader{Leading: leading, Token: t.fence.Token, Since: t.since.Go(), Cause: cause})
	}
}

// Stats looks at the parts; it may be called at any time, also on a nil Engine, and does no I/O.
func (e *Engine) Stats() observe.Stats {
	if e == nil {
		return observe.Stats{}
	}
	s := observe.Stats{Slots: e.cfg.Slots, Unrecorded: e.completer.Backlog()}
	s.Used, s.Zombies = e.local.Load()
	if t := e.leading(); t != nil {
		s.Leading, s.Token, s.Since = true, t.fence.Token, t.since.Go()
		s.Wheel = t.trigger.Wheel()
		var oldest task.Time
		s.Waiting, oldest = t.dispatch.Queue()
		s.OldestDue = oldest.Go()
		s.RetriesDelayed = t.dispatch.Delayed()
	}
	return s
}
