package executor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ax-sched/ax/internal/plant"
	"github.com/ax-sched/ax/internal/timer"
	"github.com/ax-sched/ax/task"
)

// Config says how a Local works; all fields but Redact are required.
type Config struct {
	// Slots is how many executions may run at the same time.
	Slots int
	// Limit returns how many of one kind may run at the same time; 0 is no limit of its own.
	Limit func(kind string) int
	// Run calls the handler and says how it ended. It may panic.
	Run func(ctx context.Context, t *task.Task) task.Report
	// Report takes the outcome and the task, which is the reporter's from then on; it must not
	// block.
	Report func(t *task.Task, r task.Report)
	// Overdue is told that an execution is past its hard time-out, with a copy of its task; it must
	// not block.
	Overdue func(t *task.Task)
	// Stuck is told that an execution was given up, with a copy of its task and how long it has run:
	// its handler ignores the end of its context. It is told once, and must not block.
	Stuck func(t *task.Task, ran time.Duration)
	// Redact masks the texts of errors before they are cut and reported; nil is none. If it panics,
	// the text is withheld.
	Redact func(text string) string
	// Freed is told that a slot became free; it must not block.
	Freed func()
	// ZombieWait is how long an execution that was told to stop may take before it is given up.
	ZombieWait time.Duration
	// Now is a clock in microseconds that only moves forward.
	Now func() int64
	// Spawn runs f on a goroutine that somebody waits for.
	Spawn func(f func())
}

// Local runs handlers in the process it lives in. All methods are safe for concurrent use.
type Local struct {
	cfg    Config
	limits *timer.Driver

	mu      sync.Mutex
	running map[task.ID]*execution // by execution id; nil: claimed, not started yet
	kinds   map[string]int         // slots in use by kind
	used    int
	zombies int
	suspect bool          // the place for a suspect is taken
	most    time.Duration // for so long by whoever has it
	closed  bool          // no slot is given any more
	idle    chan struct{} // closed when nothing runs; nil while nobody waits
}

// execution is one call of a handler.
type execution struct {
	t       *task.Task
	began   int64 // by Config.Now
	cancel  context.CancelCauseFunc
	limit   timer.Handle
	limited bool
	zombie  bool // told to stop, its slot given away
	overdue bool // told so because it is past its hard time-out
	ended   bool // the handler has returned
	suspect bool // it has the place for a suspect
	place   timer.Handle

	canceled bool // somebody asked to cancel it

	inTx atomic.Bool // see InTx

	local *Local
}

type executionKey struct{}

// InTx notes that the handler whose context ctx is, or descends from, has ended its task in a
// transaction of its own; its report says so however the handler ends, also by a panic. It is safe
// for concurrent use; with another context it does nothing.
func InTx(ctx context.Context) {
	if e, ok := ctx.Value(executionKey{}).(*execution); ok {
		e.inTx.Store(true)
	}
}

// Ended is for who watches handlers: the outcome that is recorded for the attempt with the context
// ctx, or with one that ctx descends from, if its handler now ends with o. With inTx the handler
// has called [InTx]: then the row, which may have ended with that transaction, decides.
func Ended(ctx context.Context, o task.Outcome) (counts task.Outcome, inTx bool) {
	why := context.Cause(ctx)
	canceled, stopped := errors.Is(why, ErrCanceled), errors.Is(why, ErrTimeout)
	if e, ok := ctx.Value(executionKey{}).(*execution); ok {
		inTx = e.inTx.Load()
		e.local.mu.Lock() // the cause is only the first of what has ended the context
		canceled, stopped = canceled || e.canceled, stopped || e.overdue
		e.local.mu.Unlock()
	}
	return o.Counts(canceled, stopped, handsBack(why)), inTx
}

// The limits of an execution, as notes on its timers.
const (
	hardLimit = iota
	zombieLimit
	placeLimit // of a suspect, to the place
)

// New returns a Local that runs nothing yet. Its Run drives the time-outs.
func New(cfg Config) (*Local, error) {
	l := &Local{cfg: cfg, running: map[task.ID]*execution{}, kinds: map[string]int{}}
	var err error
	l.limits, err = timer.New(timer.Config{Now: cfg.Now, Deliver: l.expired})
	return l, err
}

// Run drives the time-outs until ctx ends.
func (l *Local) Run(ctx context.Context) error { return l.limits.Run(ctx) }

// Free returns the number of free slots.
func (l *Local) Free() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cfg.Slots - l.used
}

// Load returns the slots in use, and the executions that were told to stop but still run.
func (l *Local) Load() (used, zombies int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used, l.zombies
}

// Take reserves a slot for a task of the kind, or reports that there is none. The caller gives it
// back, or starts the task, which gives it back at its end.
func (l *Local) Take(kind string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.used >= l.cfg.Slots {
		return false
	}
	if n := l.cfg.Limit(kind); n > 0 && l.kinds[kind] >= n {
		return false
	}
	l.used++
	l.kinds[kind]++
	return true
}

// Give returns a slot that was taken for a task that does not start after all.
func (l *Local) Give(kind string) {
	l.mu.Lock()
	l.give(kind)
	l.rest()
	l.mu.Unlock()
	l.cfg.Freed()
}

func (l *Local) give(kind string) {
	l.used--
	if l.kinds[kind]--; l.kinds[kind] == 0 {
		delete(l.kinds, kind)
	}
}

// TakeSuspect reserves the one place for a task that may be what takes executors down. It is given
// back when the started suspect ends, or has run for most (then it goes on, and is a suspect no
// more), or by GiveSuspect.
func (l *Local) TakeSuspect(most time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.suspect {
		return false
	}
	l.suspect, l.most = true, most
	return true
}

// SuspectFree reports whether TakeSuspect would succeed now.
func (l *Local) SuspectFree() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.suspect
}

// GiveSuspect returns the place taken by TakeSuspect for a task that did not start.
func (l *Local) GiveSuspect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.suspect = false
}

// Expect says that a claim of this execution is under way, so that a row found in the table
// meanwhile is not taken for one that nobody runs. Start or Unexpect ends it.
func (l *Local) Expect(execution task.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running[execution] = nil
}

// Unexpect says that the execution does not start here, or that nobody knows whether its claim
// was recorded: then [Local.Known] no longer vouches for it.
func (l *Local) Unexpect(execution task.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, execution)
	l.rest()
}

// rest tells who waits that nothing runs. The caller holds the lock.
func (l *Local) rest() {
	if l.idle != nil && l.used == 0 && len(l.running) == 0 {
		close(l.idle)
		l.idle = nil
	}
}

// Known reports whether the execution runs here or is being claimed.
func (l *Local) Known(execution task.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.running[execution]
	return ok
}

// Runs reports whether the execution runs here and was not given up: one that has ignored the end
// of its context for ZombieWait holds its task back no longer.
func (l *Local) Runs(execution task.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.running[execution]
	return e != nil && !e.ended && (!e.zombie || e.limited)
}

// Start runs the handler of a claimed task, for which a slot was taken, within the hard time-out;
// task.NoTimeout is none. A suspect has its place already. The task must not be changed until it is
// reported. After Close it starts nothing and returns false: the slot is still the caller's then.
func (l *Local) Start(ctx context.Context, t *task.Task, timeout time.Duration,
	suspect bool) bool {
	ctx, cancel := context.WithCancelCause(ctx)
	e := &execution{t: t, began: l.cfg.Now(), cancel: cancel, suspect: suspect, local: l}
	ctx = context.WithValue(ctx, executionKey{}, e)
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		cancel(ErrShutdown)
		return false
	}
	l.running[t.ExecutionID] = e
	if timeout != task.NoTimeout {
		e.limited = true
		e.limit = l.arm(t, timeout, hardLimit)
	}
	if suspect {
		e.place = l.arm(t, l.most, placeLimit)
	}
	l.mu.Unlock()
	l.cfg.Spawn(func() { l.call(ctx, e) })
	return true
}

// arm sets a limit; the caller holds the lock, so an expiry waits until it is recorded.
func (l *Local) arm(t *task.Task, d time.Duration, note uint32) timer.Handle {
	due := task.Time(l.cfg.Now()).Add(d)
	return l.limits.Add(int64(due), timer.Value{ID: t.ExecutionID, Note: note})
}

// call runs the handler and reports, whatever the handler does.
func (l *Local) call(ctx context.Context, e *execution) {
	r := task.Report{Outcome: task.OutFailed, Error: "handler called runtime.Goexit"}
	defer func() {
		if p := recover(); p != nil {
			r = task.Report{Outcome: task.OutFailed, Error: l.panicText(p)}
		}
		o := r.Outcome // the row says whether it was canceled, and finish whether it was stopped
		r.Outcome = o.Counts(false, false, handsBack(context.Cause(ctx)))
		r.Interrupted = r.Interrupted || r.Outcome != o
		r.InTx = r.InTx || e.inTx.Load()
		l.finish(e, r)
	}()
	r = l.cfg.Run(ctx, e.t)
}

// handsBack reports whether an error after this end of the context is not the handler's own: it
// must not cost the task a retry.
func handsBack(cause error) bool {
	return errors.Is(cause, ErrShutdown) || errors.Is(cause, ErrFenced)
}

// finish reports an execution before it forgets it: who waits for the end of all executions then
// finds their outcomes handed over.
func (l *Local) finish(e *execution, r task.Report) {
	e.cancel(nil)
	kind := e.t.Kind
	r.ID, r.Execution, r.Took = e.t.ID, e.t.ExecutionID, l.ran(e)
	r.Error = task.CutText(l.redact(r.Error), task.MaxError)
	l.mu.Lock()
	e.ended = true
	if e.limited {
		l.limits.Cancel(e.limit)
	}
	r.Stopped = e.overdue
	l.mu.Unlock()
	l.cfg.Report(e.t, r)
	l.mu.Lock()
	delete(l.running, r.Execution)
	if e.zombie {
		l.zombies--
	} else if !plant.On(plant.SlotLeak) || r.Outcome != task.OutSnoozed {
		l.give(kind)
	}
	l.leave(e)
	l.rest()
	l.mu.Unlock()
	l.cfg.Freed()
}

// ran is how long an execution has run so far.
func (l *Local) ran(e *execution) time.Duration {
	return time.Duration(l.cfg.Now()-e.began) * time.Microsecond
}

// leave gives the place of a suspect to the next one. The caller holds the lock.
func (l *Local) leave(e *execution) {
	if e.suspect {
		l.limits.Cancel(e.place)
		e.suspect, l.suspect = false, false
	}
}

// expired takes the limits that have passed.
func (l *Local) expired(vs []timer.Expired) {
	for _, v := range vs {
		l.mu.Lock()
		e := l.running[v.Value.ID]
		if e == nil || e.ended {
			l.mu.Unlock()
			continue // it ended meanwhile
		}
		row := *e.t // the handler goes on, and will report with e.t
		switch v.Value.Note {
		case hardLimit:
			e.overdue = true
			l.lose(e)
			e.limit = l.arm(e.t, l.cfg.ZombieWait, zombieLimit)
			l.mu.Unlock()
			e.cancel(ErrTimeout)
			l.cfg.Overdue(&row)
		case zombieLimit:
			e.limited = false
			l.leave(e) // its row moves on, and so may the next suspect
			l.mu.Unlock()
			ran := l.ran(e)
			l.cfg.Stuck(&row, ran)
			l.cfg.Report(&row, task.Report{ID: row.ID, Execution: v.Value.ID,
				Outcome: task.OutTimeout, Stopped: true, Took: ran,
				Error: fmt.Sprintf("the handler did not end within %s of being told to stop",
					l.cfg.ZombieWait)})
		case placeLimit:
			l.leave(e)
			l.mu.Unlock()
		}
		l.cfg.Freed()
	}
}

// lose gives the slot of an execution that was told to stop to others. The caller holds the lock.
func (l *Local) lose(e *execution) {
	if !e.zombie {
		e.zombie = true
		l.zombies++
		l.give(e.t.Kind)
	}
}

// Cancel ends the context of an execution with the cause and frees its slot, and gives it up if it
// does not end within ZombieWait. One that does not run here, or was canceled before, is left
// alone.
func (l *Local) Cancel(execution task.ID, cause error) {
	l.mu.Lock()
	e := l.running[execution]
	if e == nil || e.ended || e.canceled {
		l.mu.Unlock()
		return
	}
	e.canceled = true
	if !e.zombie {
		if e.limited {
			l.limits.Cancel(e.limit)
		}
		l.lose(e)
		e.limited, e.limit = true, l.arm(e.t, l.cfg.ZombieWait, zombieLimit)
	}
	l.mu.Unlock()
	e.cancel(cause)
	l.cfg.Freed()
}

// CancelAll ends the contexts of all executions with the cause.
func (l *Local) CancelAll(cause error) {
	l.mu.Lock()
	es := make([]*execution, 0, len(l.running))
	for _, e := range l.running {
		if e != nil {
			es = append(es, e)
		}
	}
	l.mu.Unlock()
	for _, e := range es {
		e.cancel(cause)
	}
}

// Close ends the giving of slots: nothing starts any more.
func (l *Local) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// Wait returns when nothing runs and no claim is under way, or with the context's error. It is
// called after Close.
func (l *Local) Wait(ctx context.Context) error {
	l.mu.Lock()
	if l.used == 0 && len(l.running) == 0 {
		l.mu.Unlock()
		return nil
	}
	if l.idle == nil {
		l.idle = make(chan struct{})
	}
	idle := l.idle
	l.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
