package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/internal/dispatch"
	"github.com/ax-sched/ax/internal/group"
	"github.com/ax-sched/ax/internal/retain"
	"github.com/ax-sched/ax/internal/sweep"
	"github.com/ax-sched/ax/internal/trigger"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// term is one time of leadership: everything in it starts from empty and ends with it.
type term struct {
	e        *Engine
	fence    store.Fence
	since    task.Time // when it began
	trigger  *trigger.Trigger
	late     *trigger.Late
	jobs     *trigger.Jobs
	dispatch *dispatch.Dispatcher
	sweeper  *sweep.Sweeper
	retainer *retain.Retainer
}

var errPanicked = errors.New("the duties of the leader ended in a panic")

// lead starts a term; the channel gives its end.
func (e *Engine) lead(ctx context.Context, f store.Fence) <-chan error {
	done := make(chan error, 1)
	e.spawn(func() {
		err := errPanicked // stays if it does not return
		defer func() { done <- err }()
		err = e.runTerm(ctx, f)
	})
	return done
}

func (e *Engine) runTerm(ctx context.Context, f store.Fence) error {
	if err := e.enlist(ctx); err != nil {
		return err
	}
	t, err := e.newTerm(f)
	if err != nil {
		return err
	}
	e.cfg.Logger.Info("leading", "node", e.cfg.NodeID, "token", f.Token)
	g := group.New(ctx, "term")
	e.term.Store(t)
	t.led(true, nil)
	g.Go("wheel", t.trigger.Drive)
	for i := range dispatch.Workers {
		g.Go(fmt.Sprintf("dispatch %d", i+1), t.dispatch.Run)
	}
	g.Go("read ahead", t.dispatch.ReadAhead)
	g.Go("trigger", t.trigger.Run)
	g.Go("jobs", t.jobs.Run)
	g.Go("sweep", t.sweeper.Run)
	g.Go("retention", t.retainer.Run)
	if h, ok := store.As[store.Hinter](e.cfg.Store); ok {
		g.Go("hints", func(ctx context.Context) error { return t.listen(ctx, h) })
	} else {
		g.Go("late commits", t.late.Run)
	}
	select {
	case <-ctx.Done():
	case <-g.Failed():
	}
	e.term.Store(nil)
	err = g.Stop(0)
	e.cfg.Logger.Info("no longer leading", "node", e.cfg.NodeID, "token", f.Token,
		"cause", context.Cause(ctx), "error", err)
	t.led(false, cause(ctx, err))
	return err
}

// cause says why a term ended: nil if it was told to stop.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil {
		err = c
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// enlist makes this process an executor and learns the store's time. It waits for a store that
// does not answer, as long as the term lasts.
func (e *Engine) enlist(ctx context.Context) error {
	for {
		err := e.enlistOnce(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		e.failed("executor")(err)
		clock.Sleep(ctx, 500*time.Millisecond)
	}
}

func (e *Engine) enlistOnce(ctx context.Context) error {
	ctx, cancel := clock.Limit(ctx)
	defer cancel()
	if err := e.member.Register(ctx); err != nil {
		return err
	}
	if err := e.putKinds(ctx); err != nil {
		return err
	}
	ks, err := e.cfg.Store.Kinds(ctx)
	if err != nil {
		return fmt.Errorf("read the options of kinds: %w", err)
	}
	e.cfg.Kinds.Learn(ks)
	sent := e.cfg.Clock.Boot()
	at, err := e.cfg.Store.Now(ctx)
	if err == nil {
		e.sampled(sent, at)
	}
	return err
}

func (e *Engine) newTerm(f store.Fence) (*term, error) {
	cfg := &e.cfg
	t := &term{e: e, fence: f, since: cfg.now()}
	var err error
	t.trigger, err = trigger.New(trigger.Config{Store: cfg.Store, Groups: []string{cfg.Group},
		Now: cfg.now, Since: cfg.Clock.Boot, Sampled: t.sampled,
		Has:  cfg.Kinds.Has,
		Push: func(its []trigger.Item) { t.dispatch.Push(its) }, Failed: e.failed("trigger"),
		Unhandled: t.unhandled,
		Poll:      cfg.Poll, Window: cfg.Window, Tick: cfg.Tick, Loaded: loaded})
	if err != nil {
		return nil, err
	}
	t.late = trigger.NewLate(t.trigger.Hint)
	t.dispatch = dispatch.New(dispatch.Config{Store: cfg.Store, Local: e.local, Handler: e.handler,
		Member: e.member.Current, NewID: cfg.NewID, Now: cfg.now, Backlog: e.completer.Backlog,
		RetryRate: cfg.RetryRate,
		Settled:   t.trigger.Settled, Later: t.trigger.Later, Lined: t.trigger.Lined,
		Crowded: t.trigger.Crowded, Room: t.trigger.Room, HandBack: e.handBack,
		Skipped: t.ended, Failed: e.failed("dispatch")}, f)
	t.jobs = trigger.NewJobs(trigger.JobsConfig{Store: cfg.Store, Fence: f, Now: cfg.now,
		NewID: cfg.NewID, Failed: e.failed("jobs"), Poll: cfg.Poll,
		Skipped: e.rests,
		Fired:   func(r *task.Task) { t.trigger.Add(r.Group, r.Bucket, due(r)) }})
	expirer, _ := store.As[store.Expirer](cfg.Store)
	t.sweeper = sweep.New(sweep.Config{Store: cfg.Store, Registry: cfg.Registry, Fence: f,
		Now: cfg.now, Since: cfg.Clock.Boot, Silence: cfg.Heartbeat + 2*time.Second,
		TTL: cfg.ExecutorTTL, Policy: cfg.Kinds.Policy, Expirer: expirer, Recovered: t.recovered,
		Ended: t.ended, Failed: e.failed("sweep"), Every: cfg.Sweep})
	t.retainer = retain.New(retain.Config{Store: cfg.Store, Fence: f, Keep: cfg.Retention,
		Now: cfg.now, Since: cfg.Clock.Boot, Failed: e.failed("retention")})
	return t, nil
}

// listen takes hints of what any process has submitted, and looks into the table after each
// interruption.
func (t *term) listen(ctx context.Context, h store.Hinter) error {
	for {
		err := h.Listen(ctx, t.trigger.Hint)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t.e.failed("hints")(err)
		clock.Sleep(ctx, time.Second)
		t.trigger.Wake()
	}
}

// handler says how an execution of the task starts here, and what applies to it.
func (e *Engine) handler(t *task.Task) (context.Context, complete.Policy, bool) {
	if !e.cfg.Kinds.Has(t.Kind) {
		return nil, complete.Policy{}, false
	}
	return e.base, e.cfg.Kinds.Policy(t), true
}

func (t *term) unhandled(kind string) {
	t.e.cfg.Logger.Warn("tasks are due that no handler here runs; they wait", "kind", kind)
}

func (t *term) recovered(r *task.Task) {
	t.e.cfg.Logger.Info("recovered a task of a lost executor", "task_id", r.ID.String(),
		"kind", r.Kind, "executor", r.Executor, "state", r.State.String())
	t.e.recovered(r)
	if r.State == task.Scheduled {
		t.trigger.Add(r.Group, r.Bucket, due(r))
		t.moved(r)
		return
	}
	t.settled(r)
}

// ended takes a task that the sweep has ended or held because of its own limits.
func (t *term) ended(r *task.Task) {
	t.e.rests(r)
	t.settled(r)
}

// settled logs a task that was ended or held, and tells who waits for that.
func (t *term) settled(r *task.Task) {
	t.e.notable(r)
	t.moved(r)
}

// moved tells jobs that wait for the end of a task, and tasks that wait for its overlap key.
func (t *term) moved(r *task.Task) {
	if r.OverlapKey != "" && !r.HoldsKey() {
		t.dispatch.Freed(r.OverlapKey)
	}
	if !r.JobID.IsZero() && r.State.Final() {
		t.jobs.Ended(r.JobID)
	}
}

// sampled feeds the clock. After a sample that disagrees the table is read again at once: it
// takes three that agree to believe in a step of the store's clock.
func (t *term) sampled(sent time.Duration, at task.Time) {
	switch t.e.sampled(sent, at).Kind {
	case clock.Suspect:
		t.trigger.Wake()
	case clock.Step, clock.Resumed:
		t.trigger.Retime()
		t.jobs.Wake()
	}
}

func due(t *task.Task) store.Due {
	return store.Due{Mark: store.Mark{RunAt: t.RunAt, ID: t.ID}, Kind: t.Kind}
}
