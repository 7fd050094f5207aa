package ax

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ax-sched/ax/executor"
	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/internal/group"
	"github.com/ax-sched/ax/internal/leader"
	"github.com/ax-sched/ax/internal/plant"
	"github.com/ax-sched/ax/internal/sweep"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// engine is a Scheduler that runs: the parts that live from the start of Run to its end. The
// parts that live as long as this process leads are in term.
type engine struct {
	s         *Scheduler
	base      context.Context // parent of the handlers' contexts
	handlers  *group.Group
	local     *executor.Local
	member    *executor.Member
	completer *complete.Completer
	leader    *leader.Leader
	term      atomic.Pointer[term]
}

const ( // times of a stop, after the grace
	abortWait = 2 * time.Second // for handlers to obey ErrShutdown
	flushWait = 5 * time.Second // for their outcomes to be recorded
	leaveWait = 2 * time.Second // for the executor lease to be given up
)

// Run executes tasks and fires jobs until ctx ends, then stops gracefully and returns nil: nothing
// new starts, leadership is given up, running handlers get Config.Grace to end, then their contexts
// end with [ErrShutdown] and what they return an error for is handed back without spending a
// retry. Handlers that ignore that stay RUNNING and are recovered by the next process.
//
// Run returns an error if it cannot start or go on: see [ErrLocked] and [ErrRunning]. A database
// that is away is not such an error: Run waits for it. It never installs signal handlers.
func (s *Scheduler) Run(ctx context.Context) error {
	if err := s.kinds.Err(); err != nil {
		return err
	}
	if !s.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer s.running.Store(false)
	if s.left != nil && s.left.Stop(time.Millisecond) != nil {
		return fmt.Errorf("%w: handlers of the last Run have not ended", ErrRunning)
	}
	s.left = nil
	if _, err := s.store.Now(ctx); errors.Is(err, store.ErrClosed) {
		return err // any other error may pass
	}
	e, err := s.newEngine(ctx)
	if err != nil {
		return err
	}
	return e.run(ctx)
}

func (s *Scheduler) newEngine(ctx context.Context) (*engine, error) {
	e := &engine{s: s, base: context.WithoutCancel(ctx), handlers: group.New(ctx, "handlers")}
	e.completer = complete.New(complete.Config{Store: s.store, Policy: s.kinds.Policy, Now: s.now,
		Rand: s.jitter.Float, Recorded: e.recorded, Failed: e.failed("complete")})
	var err error
	e.local, err = executor.New(executor.Config{Slots: s.cfg.Slots, Limit: e.limit, Run: s.call,
		Report: e.completer.Put, Overdue: e.completer.Stop, Freed: e.freed,
		ZombieWait: s.cfg.ZombieWait, Spawn: e.spawn, Now: monotonic()})
	if err != nil {
		return nil, err
	}
	e.member = executor.NewMember(executor.MemberConfig{Registry: s.store.Registry(),
		Member: registry.Member{Name: s.cfg.NodeID, Instance: s.rand.Token(), Group: s.cfg.Group,
			Slots: s.cfg.Slots},
		TTL: s.cfg.ExecutorTTL, Every: s.cfg.Heartbeat, Since: s.clock.Boot,
		Retired: func() { e.local.CancelAll(ErrFenced) }, Failed: e.failed("executor")})
	e.leader = leader.New(leader.Config{Lease: s.store.Leases(), Store: s.store, Partition: 0,
		Holder: s.cfg.NodeID + "/" + s.rand.Token(), TTL: s.cfg.LeaseTTL, Since: s.clock.Boot,
		Rand: s.jitter.Float, Lead: e.lead, Spawn: e.spawn, Failed: e.failed("leader")})
	return e, nil
}

// run starts the parts and stops them in order.
func (e *engine) run(ctx context.Context) error {
	// The parts outlive ctx: they are told to stop one after the other.
	parts := group.New(ctx, "engine")
	own := sweep.NewOwn(sweep.OwnConfig{Store: e.s.store, Epoch: e.epoch, Known: e.known,
		Cancel: func(x task.ID) { e.local.Cancel(x, ErrCanceled) }, HandBack: e.handBack,
		Failed: e.failed("executor"), Every: e.s.cfg.Poll})
	parts.Go("time-outs", e.local.Run)
	parts.Go("completer", e.completer.Run)
	parts.Go("executor lease", e.member.Run)
	parts.Go("own executions", own.Run)
	e.s.engine.Store(e)
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
	e.s.engine.Store(nil)
	leading.Stop(0)
	if plant.On(plant.HeartbeatFirst) {
		_ = e.member.Leave(e.base, 0)
	}
	e.drain()
	parts.Stop(0)
	if e.handlers.Stop(time.Millisecond) != nil {
		e.s.left = e.handlers // these ignore the end of their context and go on alone
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// monotonic counts microseconds for time-outs: a handler is suspended together with them, so the
// cheap clock that stands still in suspend is the right one.
func monotonic() func() int64 {
	start := time.Now()
	return func() int64 { return time.Since(start).Microseconds() }
}

func (e *engine) spawn(f func()) { e.handlers.Spawn(func(context.Context) { f() }) }

// drain ends what runs and records how it ended. Heartbeats go on meanwhile, and stop last.
func (e *engine) drain() {
	within := func(d time.Duration, f func(ctx context.Context) error) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(e.base), d)
		defer cancel()
		return f(ctx)
	}
	linger := time.Duration(0)
	e.local.Close()
	if within(e.s.cfg.Grace, e.local.Wait) != nil {
		e.local.CancelAll(ErrShutdown)
		if within(abortWait, e.local.Wait) != nil {
			used, zombies := e.local.Load()
			e.s.cfg.Logger.Error("handlers ignore the end of their context; another process "+
				"recovers their tasks when this executor's lease has run out",
				"running", used+zombies)
			linger = e.s.cfg.ZombieWait
		}
	}
	if err := within(flushWait, e.completer.Flush); err != nil {
		e.s.cfg.Logger.Error("outcomes were not recorded; the tasks will run again",
			"outcomes", e.completer.Backlog(), "error", err)
	}
	leave := func(ctx context.Context) error { return e.member.Leave(ctx, linger) }
	if err := within(leaveWait, leave); err != nil {
		e.s.cfg.Logger.Warn("executor lease was not given up; it will run out", "error", err)
	}
}

// failed returns a function that logs errors of a part.
func (e *engine) failed(part string) func(error) {
	return func(err error) {
		if errors.Is(err, context.Canceled) {
			return // it was told to stop
		}
		e.s.cfg.Logger.Warn("a part of the scheduler met an error and goes on", "part", part,
			"node", e.s.cfg.NodeID, "error", err)
	}
}

func (e *engine) epoch() int64 {
	_, epoch, _ := e.member.Current()
	return epoch
}

func (e *engine) limit(kind string) int {
	if k := e.s.kinds.Find(kind); k != nil {
		return k.Limit
	}
	return 0
}

// freed is told of each slot that became free.
func (e *engine) freed() {
	if t := e.term.Load(); t != nil {
		t.dispatch.Wake()
	}
}

// recorded is told of each outcome in the table.
func (e *engine) recorded(t *task.Task, _ task.Report) {
	switch {
	case t == nil:
		return
	case t.State == task.Dead:
		e.s.cfg.Logger.Info("a task is dead: it will not run again by itself",
			"task_id", t.ID.String(), "kind", t.Kind, "key", t.Key, "attempt", t.Attempt,
			"reason", t.Reason.String(), "error", t.Error)
	}
	term := e.term.Load()
	if term == nil {
		return
	}
	if t.State == task.Scheduled {
		term.trigger.Add(t.Group, t.Bucket, due(t))
	}
	if !t.JobID.IsZero() && t.State.Final() {
		term.jobs.Ended(t.JobID)
	}
	term.dispatch.Wake() // the backlog may have held claims back
}

// known reports whether an execution runs here, is being claimed, or waits to be recorded.
func (e *engine) known(execution task.ID) bool {
	return e.local.Known(execution) || e.completer.Holds(execution)
}

// handBack reports an execution that the table says runs here, but which was never started: the
// answer to its claim was lost or came too late.
func (e *engine) handBack(t *task.Task) {
	e.s.cfg.Logger.Warn("a claimed task was not started here and is handed back",
		"task_id", t.ID.String(), "execution_id", t.ExecutionID.String())
	e.completer.Put(t, task.Report{ID: t.ID, Execution: t.ExecutionID,
		Outcome: task.OutReleased, Error: "never started"})
}

// registered is told of a handler registered while Run runs.
func (e *engine) registered(kind string) {
	ctx, cancel := context.WithTimeout(e.base, leaveWait)
	defer cancel()
	if err := e.s.putKinds(ctx); err != nil {
		e.failed("kinds")(err)
	}
	if t := e.term.Load(); t != nil {
		t.trigger.Unpark(kind)
	}
}

func (s *Scheduler) putKinds(ctx context.Context) error {
	ks, err := s.kinds.Stored()
	if err != nil || len(ks) == 0 {
		return err
	}
	if err := s.store.PutKinds(ctx, ks); err != nil {
		return fmt.Errorf("store the options of kinds: %w", err)
	}
	return nil
}

// leading returns the term of leadership of this process, or nil.
func (s *Scheduler) leading() *term {
	if e := s.engine.Load(); e != nil {
		return e.term.Load()
	}
	return nil
}

// submitClaimed inserts a task that is due at once as started, if this process leads and has a
// free slot: one commit less. done is false if it has to be inserted as SCHEDULED.
func (t *term) submitClaimed(ctx context.Context, row task.Task) (Result, bool, error) {
	start, drop, ok := t.dispatch.TryNow(&row)
	if !ok {
		return Result{}, false, nil
	}
	ins, err := t.e.s.store.Insert(ctx, t.dispatch.Fence(), []task.Task{row})
	if err != nil {
		drop()
		if errors.Is(err, store.ErrFenced) {
			return Result{}, false, nil
		}
		return Result{}, true, fmt.Errorf("submit: %w", err)
	}
	if plant.On(plant.StartDuplicate) {
		start(ins[0])
	} else if ins[0].Duplicate || ins[0].Version != 1 || ins[0].State != task.Running {
		drop()
	} else {
		start(ins[0])
	}
	return Result{ID: ins[0].ID, Duplicate: ins[0].Duplicate, State: ins[0].State}, true, nil
}

// sampled takes the store's time from an answer.
func (e *engine) sampled(sent time.Duration, at task.Time) clock.Event {
	ev := e.s.clock.Sample(sent, int64(at))
	switch ev.Kind {
	case clock.First:
		if ev.Size.Abs() > time.Second {
			e.s.cfg.Logger.Warn("the clock of this machine differs from the store's; the store's "+
				"decides what is due", "node", e.s.cfg.NodeID, "store_ahead_by", ev.Size)
		}
	case clock.Step:
		e.s.cfg.Logger.Warn("the clock of the store has stepped", "by", ev.Size)
	case clock.Resumed:
		e.s.cfg.Logger.Warn("the machine was suspended", "for", ev.Size)
	}
	return ev
}

func due(t *task.Task) store.Due {
	return store.Due{Mark: store.Mark{RunAt: t.RunAt, ID: t.ID}, Kind: t.Kind}
}
