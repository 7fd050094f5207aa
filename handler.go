package ax

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/ax-sched/ax/internal/kinds"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
)

// Handler runs one attempt of a task. A nil error is success; any other is retried by the kind's
// policy, unless it says otherwise (see [Permanent], [Cancel], [Snooze], [RetryIn], [Release]).
// The context ends when the attempt should: see context.Cause. A panic is an error with its stack.
type Handler func(ctx context.Context, t *Task) error

// Middleware wraps a handler: it may look at the task, change the context, the handler's copy of
// the task or the error, or not call the handler at all. It is called once, when the handler is
// registered; what it returns runs for every attempt, many at the same time. In a list the first
// is outermost: it starts first and ends last. A panic in it is like one in the handler.
type Middleware = func(Handler) Handler

// Task is what a handler sees of the task it runs. It is the handler's own copy.
type Task struct {
	ID          ID
	Run         int // with ID the idempotency key of the effect: the same in every attempt
	Kind        string
	Key         string
	Payload     []byte
	Labels      map[string]string
	Attempt     int // from 1
	ExecutionID ID  // of this attempt
	// Token is the fencing token of the leader that claimed the task: a target that keeps the
	// highest token it has seen can refuse older ones.
	Token int64
	// FireTime is the nominal time of the fire; of a plain task its first RunAt, of a run of
	// [Scheduler.TriggerJob] the time of the call.
	FireTime time.Time
	RunAt    time.Time // when this attempt was due
	Job      string    // the job whose fire this is, or that somebody has triggered, or ""
	// FireCount is how many fires of the job this task stands for: 1 for an ordinary fire, more
	// where fires were missed, 0 for a plain task and for a run of [Scheduler.TriggerJob].
	FireCount int
	// FireFrom is the first of several; it is zero for an ordinary fire and where FireCount is 0.
	FireFrom time.Time
}

// Defaults of a kind.
const (
	// DefaultTimeout is the hard time-out of one attempt.
	DefaultTimeout = 30 * time.Second
	// DefaultMaxRetries makes six executions at most.
	DefaultMaxRetries = retry.DefaultMaxRetries
	// NoTimeout lets an attempt take for ever.
	NoTimeout = task.NoTimeout
)

// registration is one kind with its handler and options.
type registration = kinds.Kind[Handler]

// HandleOption is an option of Handle.
type HandleOption func(*registration) error

// Timeout sets the hard time-out of one attempt, counted from its start. Default: 30 s;
// [NoTimeout] is none. An attempt past it has its context ended with [ErrTimeout] and its slot
// freed; when it ends with an error, or after Config.ZombieWait, it counts as timed out.
func Timeout(d time.Duration) HandleOption {
	return func(r *registration) error {
		if d <= 0 && d != NoTimeout {
			return &InputError{Field: "Timeout", Reason: "is " + d.String() +
				"; use a positive duration or ax.NoTimeout"}
		}
		r.Policy.Timeout = d
		return nil
	}
}

// MaxRetries sets how often an attempt that failed is retried: n retries are n+1 executions.
// Default: 5.
func MaxRetries(n int) HandleOption {
	return func(r *registration) error {
		if err := task.CheckRetries("MaxRetries", n); err != nil {
			return err
		}
		r.Policy.MaxRetries = n
		return nil
	}
}

// Retry sets the backoff between attempts. Default: retry.Default(), 5 s, 25 s, 125 s ... up to an
// hour, plus up to 20 %.
func Retry(p retry.Policy) HandleOption {
	return func(r *registration) error {
		if err := p.Validate(); err != nil {
			return &InputError{Field: "Retry", Reason: err.Error(), Err: err}
		}
		r.Policy.Retry = p
		return nil
	}
}

// Unknown says what follows an attempt whose end nobody knows: it was lost with its process, or
// goes on after its hard time-out and Config.ZombieWait.
type Unknown = task.Unknown

// The policies for unknown ends.
const (
	RetryUnknown = task.UnknownRetry // run it again: it may run twice
	HoldUnknown  = task.UnknownHold  // HELD: a person decides, or its late report does
)

// OnUnknown sets what follows an attempt whose end nobody knows. Default: [RetryUnknown].
func OnUnknown(u Unknown) HandleOption {
	return func(r *registration) error {
		r.Policy.OnUnknown = u
		return task.CheckUnknown(u)
	}
}

// AtMostOnce never calls the handler again for a task by itself: no retries, and [HoldUnknown].
// Only [Snooze], [Release] and persons run a task again. It does not go with MaxRetries or
// [RetryUnknown]; those of a task replace it.
func AtMostOnce() HandleOption {
	return func(r *registration) error {
		r.Once, r.Policy.MaxRetries, r.Policy.OnUnknown = true, 0, HoldUnknown
		return nil
	}
}

// MaxLateness skips tasks that are not begun within so long of when they were due: SKIPPED(late).
// Default: 0, none.
func MaxLateness(d time.Duration) HandleOption {
	return func(r *registration) error {
		r.Policy.MaxLateness = d
		return task.CheckSpan("MaxLateness", d)
	}
}

// MaxLifetime makes a task HELD whose attempt gives no result within so long of its start. Its late
// report still counts. Default: 0, none.
func MaxLifetime(d time.Duration) HandleOption {
	return func(r *registration) error {
		r.Policy.MaxLifetime = d
		return task.CheckSpan("MaxLifetime", d)
	}
}

// Concurrency limits how many tasks of the kind run in this process at the same time. Default: no
// limit but Config.Slots.
func Concurrency(n int) HandleOption {
	return func(r *registration) error {
		if n < 1 {
			return &InputError{Field: "Concurrency", Reason: fmt.Sprintf("is %d; use 1 or more", n)}
		}
		r.Limit = n
		return nil
	}
}

// Use puts middleware round the handler of this kind, inside that of [Config.Middleware].
func Use(ms ...Middleware) HandleOption {
	return func(r *registration) error {
		r.Middleware = append(r.Middleware, ms...)
		return nil
	}
}

// Handle registers the handler of a kind, before or while Run runs. Registering a kind twice is an
// error that matches [ErrDuplicateKind]. An error that the caller ignores is returned by Run.
func (s *Scheduler) Handle(kind string, h Handler, opts ...HandleOption) error {
	err := s.register(kind, h, opts)
	if err != nil {
		err = fmt.Errorf("handle %q: %w", kind, err)
		s.kinds.Fail(err)
	}
	return err
}

func (s *Scheduler) register(kind string, h Handler, opts []HandleOption) error {
	if err := task.CheckName("kind", kind, false); err != nil {
		return err
	}
	if h == nil {
		return &InputError{Field: "handler", Reason: "is nil"}
	}
	r := &registration{Handler: h, Policy: s.kinds.Base()}
	if err := kinds.Fit(r, opts); err != nil {
		return err
	}
	if err := r.Wrap(s.cfg.Middleware); err != nil {
		return err
	}
	if !s.kinds.Add(kind, r) {
		return ErrDuplicateKind
	}
	s.engine.Load().Handled(kind)
	return nil
}

// seen builds what a handler sees, without the payload.
func seen(t *task.Task) *Task {
	return &Task{ID: t.ID, Run: t.Run, Kind: t.Kind, Key: t.Key, Labels: maps.Clone(t.Labels),
		Attempt: t.Attempt, ExecutionID: t.ExecutionID, Token: t.Token,
		FireTime: t.FireTime.Go(), RunAt: t.RunAt.Go(), Job: t.Job,
		FireCount: t.FireCount, FireFrom: t.FireFrom.Go()}
}
