// Package dispatch claims due tasks for executors and starts them.
package dispatch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ax-sched/ax/executor"
	"github.com/ax-sched/ax/internal/admit"
	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/internal/plant"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Store is what claiming needs.
type Store interface {
	store.Applier
	Tasks(ctx context.Context, ids []task.ID) ([]task.Task, error)
	Live(ctx context.Context, q store.LiveQuery) ([]task.Task, error)
}

// Config says how a Dispatcher works; all fields are required.
type Config struct {
	Store Store
	Local *executor.Local
	// Handler returns the context that an execution of the task starts with and what applies to it,
	// or false if this process has no handler for the kind.
	Handler func(t *task.Task) (context.Context, complete.Policy, bool)
	// Member is this process as an executor: its name and epoch. ok is false while its lease is
	// not believed to hold: then nothing starts.
	Member func() (name string, epoch int64, ok bool)
	NewID  func() task.ID
	Now    func() task.Time // estimate of the store's time
	// RetryRate is how many retries a minute are let through, beside a tenth of the first attempts;
	// 0 is admit.DefaultRetryRate, negative is no limit.
	RetryRate int
	// Backlog is the number of outcomes not recorded yet; above MaxBacklog nothing is claimed.
	Backlog func() int
	// Settled is told that a task has left the queue: claimed, skipped, or moved by somebody else.
	Settled func(it admit.Item)
	// Later is told that a task has to wait until the store's time at.
	Later func(it admit.Item, at task.Time)
	// Lined is told that a task waits for its overlap key, and has left the queue for that time;
	// Crowded that too many do, so that it is held here no longer, and Room that there is room again
	// for some of those.
	Lined, Crowded func(it admit.Item)
	Room           func()
	// Skipped is told of a task that is not run because of its overlap key or its limits of time, as
	// its row is now; it must not block.
	Skipped func(t *task.Task)
	// HandBack takes a task that was claimed and cannot be started here any more.
	HandBack func(t *task.Task)
	// Failed is told of each error of the store; the tasks are tried again.
	Failed func(error)
}

// MaxBacklog is how many outcomes may wait to be recorded before claiming pauses.
const MaxBacklog = 1000

// maxBatch is how many tasks one claim takes at most.
const maxBatch = 1000

// lockedPause is how long a row locked by a foreign transaction is left alone.
const lockedPause = 100 * time.Millisecond

// Dispatcher claims what is due and fits, for the time of one leader's term. Push, Wake, Waiting
// and TryNow are safe for concurrent use.
type Dispatcher struct {
	cfg   Config
	fence store.Fence
	wake  chan struct{}

	mu       sync.Mutex
	queue    admit.Queue
	lines    admit.Lines // of those that wait for overlap keys
	tried    task.Time   // when the heads of all lines were queued last
	retries  admit.Retries
	ahead    ahead
	claims   int          // under way
	suspects []admit.Item // wait for the place of the one that runs
}

// New returns a Dispatcher for a term; its Run does the work. The rate of retries begins anew.
func New(cfg Config, f store.Fence) *Dispatcher {
	return &Dispatcher{cfg: cfg, fence: f, wake: make(chan struct{}, 1),
		retries: admit.Retries{Rate: cfg.RetryRate},
		ahead: ahead{wake: make(chan struct{}, 1), rows: map[task.ID]*task.Task{},
			size: task.MaxPayload}}
}

// Push adds due tasks.
func (d *Dispatcher) Push(its []admit.Item) {
	d.mu.Lock()
	for _, it := range its {
		d.queue.Push(it)
	}
	d.mu.Unlock()
	d.Wake()
}

// First adds a task that a person wants to run now: it is claimed before what waits in the buckets.
// If the trigger pushes it too, the second claim finds that it has moved.
func (d *Dispatcher) First(id task.ID, runAt task.Time, kind string) {
	d.Push([]admit.Item{{ID: id, RunAt: runAt, Kind: kind, Bucket: admit.First}})
}

// Wake says that a slot may be free or that something is due.
func (d *Dispatcher) Wake() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Waiting returns the number of due tasks that wait for a slot.
func (d *Dispatcher) Waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.queue.Len() + len(d.suspects)
}

// TryNow prepares a task that is due at once to be inserted as started: it takes a slot and writes
// the execution into the task, unless others wait for slots. start runs it after the insert, drop
// gives the slot back.
func (d *Dispatcher) TryNow(t *task.Task) (start func(store.Inserted), drop func(), ok bool) {
	if d.Waiting() > 0 || d.cfg.Backlog() > MaxBacklog || t.OverlapKey != "" {
		return nil, nil, false
	}
	ctx, policy, ok := d.cfg.Handler(t)
	if !ok {
		return nil, nil, false
	}
	name, epoch, ok := d.cfg.Member()
	if !ok || !d.cfg.Local.Take(t.Kind) {
		return nil, nil, false
	}
	_, _ = d.paced(first)
	t.State = task.Running
	complete.Assign(&t.Mutable, d.cfg.NewID(), name, epoch, d.fence.Token)
	d.cfg.Local.Expect(t.ExecutionID)
	execution, kind := t.ExecutionID, t.Kind // HandBack gives t away
	drop = func() {
		d.unpace(first)
		d.cfg.Local.Unexpect(execution)
		d.cfg.Local.Give(kind)
	}
	start = func(in store.Inserted) {
		t.Resolve(in.At)
		t.Version, t.FireTime, t.CreatedAt, t.UpdatedAt = in.Version, t.RunAt, in.At, in.At
		if !d.mayStart(epoch) || !d.cfg.Local.Start(ctx, t, policy.Timeout, false) {
			d.cfg.HandBack(t)
			drop()
		}
	}
	return start, drop, true
}

// mayStart checks the executor lease again between the claim and the start: a process that was
// paused in between must not start what was given to somebody else meanwhile.
func (d *Dispatcher) mayStart(epoch int64) bool {
	_, now, ok := d.cfg.Member()
	return ok && now == epoch || plant.On(plant.StartLate)
}

// Fence returns the fence of the dispatcher's term.
func (d *Dispatcher) Fence() store.Fence { return d.fence }

// Workers is how many goroutines should call Run at the same time: while the claim of one is
// being committed, the other makes the next, unless a crowd waits. Measured: a third more on
// SQLite, and a third less from due to start on PostgreSQL.
const Workers = 2

// Run claims and starts until ctx ends or the store says that a newer leader exists.
func (d *Dispatcher) Run(ctx context.Context) error {
	pause := 50 * time.Millisecond
	tick := time.NewTicker(time.Second) // the executor lease may have come back without a word
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.wake:
		case <-tick.C:
			d.heads()
		}
		for {
			n, err := d.runOnce(ctx)
			if errors.Is(err, store.ErrFenced) {
				return err
			}
			if err == nil {
				pause = 50 * time.Millisecond
				if n == 0 {
					break
				}
				continue
			}
			d.cfg.Failed(err)
			if !clock.Sleep(ctx, pause) {
				return ctx.Err()
			}
			pause = min(2*pause, 2*time.Second)
		}
	}
}

// runOnce claims one batch and returns how many tasks it looked at.
func (d *Dispatcher) runOnce(ctx context.Context) (int, error) {
	its, rows := d.pop()
	if len(its) == 0 {
		return 0, nil
	}
	defer d.claimed()
	ctx, cancel := clock.Limit(ctx)
	defer cancel()
	b := batch{d: d, its: its, ahead: rows}
	if err := b.claim(ctx); err != nil {
		if !plant.On(plant.ClaimDropped) {
			b.putBack()
		}
		return 0, err
	}
	return len(its), nil
}

// crowd is how many waiting tasks are better claimed together, by one worker in as few commits as
// the slots allow, than by several at the same time.
const crowd = 32

// claimed ends a claim.
func (d *Dispatcher) claimed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.claims--
}

// pop takes from the queue what may start now; each has a slot. Beside it come the rows that were
// read ahead.
func (d *Dispatcher) pop() ([]admit.Item, map[task.ID]*task.Task) {
	if d.cfg.Backlog() > MaxBacklog {
		return nil, nil // the completer wakes the dispatcher when it has recorded some
	}
	if _, _, ok := d.cfg.Member(); !ok {
		return nil, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.claims > 0 && d.queue.Len() > crowd {
		return nil, nil
	}
	// While one has the place the others would be taken out and put back without end.
	if d.cfg.Local.SuspectFree() || plant.On(plant.SuspectsSpin) {
		for _, it := range d.suspects {
			d.queue.Push(it)
		}
		d.suspects = d.suspects[:0]
	}
	n := min(d.cfg.Local.Free(), maxBatch)
	its := d.queue.Pop(n, d.cfg.Now(), d.cfg.Local.Take)
	if len(its) > 0 {
		d.claims++
	}
	return its, d.ahead.take(its, d.queue.Len())
}
