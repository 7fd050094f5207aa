package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ax-sched/ax/executor"
	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/internal/group"
	"github.com/ax-sched/ax/internal/leader"
	"github.com/ax-sched/ax/internal/notes"
	"github.com/ax-sched/ax/internal/plant"
	"github.com/ax-sched/ax/internal/sweep"
	"github.com/ax-sched/ax/observe"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Engine is a scheduler that runs: the parts that live from the start of Run to its end.
type Engine struct {
	cfg       Config
	base      context.Context // parent of the handlers' contexts
	handlers  *group.Group
	local     *executor.Local
	member    *executor.Member
	completer *complete.Completer
	notes     *notes.Collector
	leader    *leader.Leader
	open      atomic.Bool // Run runs and was not told to stop
	term      atomic.Pointer[term]
}

const ( // times of a stop, after the grace
	abortWait = 2 * time.Second // for handlers to obey executor.ErrShutdown
	flushWait = 5 * time.Second // for their outcomes to be recorded
	notesWait = 2 * time.Second // for what they said to be written
	leaveWait = 2 * time.Second // for the executor lease to be given up
)

// New prepares an Engine; its Run does the work, once. The contexts of handlers carry the values of
// ctx and outlive it.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	e := &Engine{cfg: cfg, base: context.WithoutCancel(ctx), handlers: group.New(ctx, "handlers")}
	e.completer = complete.New(complete.Config{Store: cfg.Store, Policy: cfg.Kinds.Policy,
		Now: cfg.now, Rand: cfg.Rand, Recorded: e.recorded, Failed: e.failed("complete")})
	noter, _ := store.As[store.Noter](cfg.Store)
	e.notes = notes.New(notes.Config{Store: noter, Level: cfg.LogLevel, Redact: cfg.Redact,
		Now: cfg.now, Failed: e.failed("notes")})
	var err error
	e.local, err = executor.New(executor.Config{Slots: cfg.Slots, Limit: cfg.Kinds.Limit,
		Run: e.call, Report: e.completer.Put, Overdue: e.completer.Stop, Freed: e.freed,
		Stuck: e.stuck, Redact: cfg.Redact,
		ZombieWait: cfg.ZombieWait, Spawn: e.spawn, Now: monotonic()})
	if err != nil {
		return nil, err
	}
	e.member = executor.NewMember(executor.MemberConfig{Registry: cfg.Registry,
		Member: registry.Member{Name: cfg.NodeID, Instance: cfg.Token(), Group: cfg.Group,
			Slots: cfg.Slots},
		TTL: cfg.ExecutorTTL, Every: cfg.Heartbeat, Since: cfg.Clock.Boot,
		Retired: func() { e.local.CancelAll(executor.ErrFenced) }, Failed: e.failed("executor")})
	e.leader = leader.New(leader.Config{Lease: cfg.Leases, Store: cfg.Store, Partition: 0,
		Holder: cfg.NodeID + "/" + cfg.Token(), TTL: cfg.LeaseTTL, Since: cfg.Clock.Boot,
		Rand: cfg.Rand, Lead: e.lead, Spawn: e.spawn, Failed: e.failed("leader")})
	return e, nil
}

// Run starts the parts and stops them in order when ctx ends; then it returns nil. It returns an
// error if a part cannot go on.
func (e *Engine) Run(ctx context.Context) error {
	if b, ok := store.As[store.BlockReporter](e.cfg.Store); ok {
		defer b.OnBlocked(e.blocked)()
	}
	// The parts outlive ctx: they are told to stop one after the other.
	parts := group.New(ctx, "engine")
	own := sweep.NewOwn(sweep.OwnConfig{Store: e.cfg.Store, Epoch: e.epoch, Known: e.known,
		Cancel: func(x task.ID) { e.local.Cancel(x, executor.ErrCanceled) }, HandBack: e.handBack,
		Failed: e.failed("executor"), Every: e.cfg.Poll})
	parts.Go("time-outs", e.local.Run)
	parts.Go("completer", e.completer.Run)
	parts.Go("notes", e.notes.Run)
	parts.Go("executor lease", e.member.Run)
	parts.Go("own executions", own.Run)
	e.open.Store(true)
	leading := group.New(ctx, "leadership")
	leading.Go("leader", e.leader.Run)
	var err error
	select {
	case <-ctx.Done():
	case <-leading.Failed():
		err = leading.Err()
	case <-parts.Failed():
		err = parts.Err()
	}
	e.open.Store(false)
	leading.Stop(0)
	if plant.On(plant.HeartbeatFirst) {
		_ = e.member.Leave(e.base, 0)
	}
	e.drain()
	parts.Stop(0)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Ended reports whether every handler has ended; some may ignore the end of their context and go on
// after Run, which must have returned: Ended also tells their group that none begins any more.
func (e *Engine) Ended() bool { return e.handlers.Stop(time.Millisecond) == nil }

// monotonic counts microseconds for time-outs: a handler is suspended together with them, so the
// cheap clock that stands still in suspend is the right one.
func monotonic() func() int64 {
	start := time.Now()
	return func() int64 { return time.Since(start).Microseconds() }
}

func (e *Engine) spawn(f func()) { e.handlers.Spawn(func(context.Context) { f() }) }

// drain ends what runs and records how it ended. Heartbeats go on meanwhile, and stop last.
func (e *Engine) drain() {
	within := func(d time.Duration, f func(ctx context.Context) error) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(e.base), d)
		defer cancel()
		return f(ctx)
	}
	linger := time.Duration(0)
	e.local.Close()
	if within(e.cfg.Grace, e.local.Wait) != nil {
		e.local.CancelAll(executor.ErrShutdown)
		if within(abortWait, e.local.Wait) != nil {
			used, zombies := e.local.Load()
			e.cfg.Logger.Error("handlers ignore the end of their context; another process "+
				"recovers their tasks when this executor's lease has run out",
				"running", used+zombies)
			linger = e.cfg.ZombieWait
		}
	}
	if err := within(flushWait, e.completer.Flush); err != nil {
		e.cfg.Logger.Error("outcomes were not recorded; the tasks will run again",
			"outcomes", e.completer.Backlog(), "error", err)
	}
	if err := within(notesWait, e.notes.Flush); err != nil {
		e.cfg.Logger.Warn("the last log lines and outputs of handlers were not written",
			"executions", e.notes.Backlog(), "error", err)
	}
	leave := func(ctx context.Context) error { return e.member.Leave(ctx, linger) }
	if err := within(leaveWait, leave); err != nil {
		e.cfg.Logger.Warn("executor lease was not given up; it will run out", "error", err)
	}
}

// failed returns a function that logs errors of a part.
func (e *Engine) failed(part string) func(error) {
	return func(err error) {
		if errors.Is(err, context.Canceled) {
			return // it was told to stop
		}
		e.met(part, err)
		e.cfg.Logger.Warn("a part of the scheduler met an error and goes on", "part", part,
			"node", e.cfg.NodeID, "error", err)
	}
}

// Notes takes what executions of this engine say.
func (e *Engine) Notes() *notes.Collector { return e.notes }

func (e *Engine) epoch() int64 {
	_, epoch, _ := e.member.Current()
	return epoch
}

// stuck is told of a handler that was told to stop and given up: once, because nobody can end it.
func (e *Engine) stuck(t *task.Task, ran time.Duration) {
	e.cfg.Logger.Warn("a handler ignores the end of its context; its attempt was given up, and the "+
		"next one may run beside it", "task_id", t.ID.String(), "kind", t.Kind, "key", t.Key,
		"attempt", t.Attempt, "execution_id", t.ExecutionID.String(), "running_for", ran)
}

// blocked is told that the store cannot write because of somebody else's transaction.
func (e *Engine) blocked(waited time.Duration) {
	e.cfg.Logger.Warn("an open transaction holds up all writers of the database; keep transactions "+
		"short that submit or complete tasks", "waited", waited)
}

// freed is told of each slot that became free.
func (e *Engine) freed() {
	if t := e.term.Load(); t != nil {
		t.dispatch.Wake()
	}
}

// recorded is told of each outcome in the table.
func (e *Engine) recorded(t *task.Task, r task.Report) {
	if t == nil {
		return
	}
	e.notable(t)
	e.ended(t, r)
	term := e.term.Load()
	if term == nil {
		return
	}
	if t.State == task.Scheduled {
		term.trigger.Add(t.Group, t.Bucket, due(t))
	}
	term.moved(t)
	term.dispatch.Wake() // the backlog may have held claims back
}

// notable tells an operator of a task that needs one.
func (e *Engine) notable(t *task.Task) {
	words := "a task is dead: it will not run again by itself"
	switch t.State {
	case task.Dead:
	case task.Held:
		words = "a task is held: nobody knows its outcome, and a person must decide"
	default:
		return
	}
	e.cfg.Logger.Warn(words, "task_id", t.ID.String(), "kind", t.Kind, "key", t.Key,
		"attempt", t.Attempt, "reason", t.Reason.String(), "error", t.Error)
}

// known reports whether an execution runs here, is being claimed, or waits to be recorded.
func (e *Engine) known(execution task.ID) bool {
	return e.local.Known(execution) || e.completer.Holds(execution)
}

// handBack reports an execution that the table says runs here, but which was never started: the
// answer to its claim was lost or came too late.
func (e *Engine) handBack(t *task.Task) {
	e.cfg.Logger.Warn("a claimed task was not started here and is handed back",
		"task_id", t.ID.String(), "kind", t.Kind, "key", t.Key, "attempt", t.Attempt,
		"execution_id", t.ExecutionID.String())
	e.completer.Put(t, task.Report{ID: t.ID, Execution: t.ExecutionID,
		Outcome: task.OutReleased, Unstarted: true, Error: "never started"})
}

// sampled takes the store's time from an answer.
func (e *Engine) sampled(sent time.Duration, at task.Time) clock.Event {
	ev := e.cfg.Clock.Sample(sent, int64(at))
	if f := e.cfg.Observer.Clock; f != nil {
		f(observe.Clock{Offset: e.cfg.Clock.Ahead()})
	}
	switch ev.Kind {
	case clock.First:
		if ev.Size.Abs() > time.Second {
			e.cfg.Logger.Warn("the clock of this machine differs from the store's; the store's "+
				"decides what is due", "node", e.cfg.NodeID, "store_ahead_by", ev.Size)
		}
	case clock.Step:
		e.cfg.Logger.Warn("the clock of the store has stepped", "stepped_by", ev.Size)
	case clock.Resumed:
		e.cfg.Logger.Warn("the machine was suspended", "suspended_for", ev.Size)
	}
	return ev
}
