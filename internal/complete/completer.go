package complete

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/internal/plant"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Store is what recording needs.
type Store interface {
	store.Applier
	Tasks(ctx context.Context, ids []task.ID) ([]task.Task, error)
}

// Config says how a Completer works; all fields are required.
type Config struct {
	Store  Store
	Policy func(t *task.Task) Policy
	Now    func() task.Time // estimate of the store's time
	Rand   func() float64
	// Recorded is told what became of each outcome, in order: the task as it is now, or nil if the
	// report meant nothing any more (stale). It must not block.
	Recorded func(t *task.Task, r task.Report)
	// Failed is told of each error of the store; the outcomes are kept and tried again.
	Failed func(error)
}

// maxBatch is how many outcomes one Apply records: what waits, at most this many.
const maxBatch = 1000

// Pauses between tries while the store does not answer.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// Completer records outcomes in batches: what waits now is one batch, so an idle scheduler records
// at once and a busy one shares commits. Put, Stop, Backlog and Flush are safe for concurrent use.
type Completer struct {
	cfg  Config
	wake chan struct{}

	mu    sync.Mutex
	queue []item
	batch []item        // taken by the round under way
	empty chan struct{} // closed when nothing waits; nil while nobody asks
}

// item is one thing to record of an execution.
type item struct {
	t    *task.Task  // as far as this process knows
	r    task.Report // of a stop only the execution
	stop bool        // only that it was told to stop
	// stale: t is not what the table holds, read it first.
	stale bool
	// after, unless 0, is when to try again: a foreign transaction held the row.
	after task.Time
}

// lockedPause is how long a row that a foreign transaction holds is left alone.
const lockedPause = 100 * time.Millisecond

// New returns a Completer; its Run does the work.
func New(cfg Config) *Completer { return &Completer{cfg: cfg, wake: make(chan struct{}, 1)} }

// Put hands over the report of an execution of t, which the completer owns from now on.
func (c *Completer) Put(t *task.Task, r task.Report) { c.put(item{t: t, r: r, stale: r.InTx}) }

// Stop hands over that the execution of t was told to stop. It keeps a copy: the execution still
// runs and will be reported with t.
func (c *Completer) Stop(t *task.Task) {
	row := *t
	c.put(item{t: &row, r: task.Report{Execution: t.ExecutionID}, stop: true})
}

func (c *Completer) put(it item) {
	c.mu.Lock()
	c.queue = append(c.queue, it)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Backlog returns how many outcomes are not recorded yet.
func (c *Completer) Backlog() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue) + len(c.batch)
}

// Holds reports whether an outcome of the execution waits to be recorded.
func (c *Completer) Holds(execution task.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, its := range [][]item{c.batch, c.queue} {
		for i := range its {
			if !its[i].stop && its[i].r.Execution == execution {
				return true
			}
		}
	}
	return false
}

// Flush returns when everything handed over so far is recorded, or with the context's error.
func (c *Completer) Flush(ctx context.Context) error {
	c.mu.Lock()
	if len(c.queue)+len(c.batch) == 0 {
		c.mu.Unlock()
		return nil
	}
	if c.empty == nil {
		c.empty = make(chan struct{})
	}
	empty := c.empty
	c.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Run records outcomes until ctx ends. What is not recorded then is lost to this process, and
// found by the sweep of the next leader.
func (c *Completer) Run(ctx context.Context) error {
	pause := firstPause
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.wake:
		}
		for {
			more, err := c.runOnce(ctx)
			if err == nil {
				pause = firstPause
			} else {
				c.cfg.Failed(err)
				if !clock.Sleep(ctx, pause) {
					return ctx.Err()
				}
				pause = min(2*pause, lastPause)
			}
			if !more {
				break
			}
		}
	}
}

// runOnce records one batch; what could not be recorded goes back to the front of the queue.
func (c *Completer) runOnce(ctx context.Context) (more bool, err error) {
	batch := c.take()
	if len(batch) == 0 {
		return c.rest(ctx), nil
	}
	limited, cancel := clock.Limit(ctx)
	again, err := c.record(limited, batch)
	cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.batch = nil
	c.queue = append(again, c.queue...)
	if len(c.queue) == 0 && c.empty != nil {
		close(c.empty)
		c.empty = nil
	}
	return len(c.queue) > 0, err
}

// rest waits while everything in the queue has to wait for foreign transactions, and reports
// whether something is there.
func (c *Completer) rest(ctx context.Context) bool {
	return c.Backlog() > 0 && clock.Sleep(ctx, lockedPause/4)
}

// take removes a batch from the queue: at most one item a task, because a store refuses two
// transitions of one row. A stop that its report has overtaken is dropped: the report says it.
func (c *Completer) take() []item {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, now := min(len(c.queue), maxBatch), c.cfg.Now()
	at := make(map[task.ID]int, n) // where in the batch; negative: it waits
	batch := make([]item, 0, n)
	var later []item
	for k, it := range c.queue {
		if len(batch) == maxBatch {
			later = append(later, c.queue[k:]...)
			break
		}
		i, twice := at[it.t.ID]
		switch {
		case twice && i < 0:
			later = append(later, it) // not before what came first
		case it.after > now:
			later = append(later, it)
			if !twice {
				at[it.t.ID] = -1
			}
		case !twice:
			at[it.t.ID] = len(batch)
			batch = append(batch, it)
		case batch[i].stop && it.r.Execution == batch[i].t.ExecutionID:
			it.stale = it.stale || batch[i].stale
			batch[i] = it
		default:
			later = append(later, it)
		}
	}
	c.queue = later
	c.batch = batch
	return batch
}

// record decides and applies a batch, and returns what has to be tried again.
func (c *Completer) record(ctx context.Context, batch []item) ([]item, error) {
	if err := c.refresh(ctx, batch); err != nil {
		return batch, err
	}
	its := make([]item, 0, len(batch))
	trs := make([]*task.Transition, 0, len(batch))
	for _, it := range batch {
		if tr := c.decide(it); tr != nil {
			its, trs = append(its, it), append(trs, tr)
		} else if !it.stop {
			c.cfg.Recorded(it.doneInTx(), it.r)
		}
	}
	if len(trs) == 0 {
		return nil, nil
	}
	res, err := c.cfg.Store.Apply(ctx, store.Fence{}, trs)
	if errors.Is(err, task.ErrIllegal) {
		return c.single(ctx, its, err)
	}
	if err != nil {
		if plant.On(plant.OutcomeDropped) {
			return nil, err
		}
		for i := range its {
			its[i].stale = true // some of it may be applied
		}
		return its, err
	}
	return c.settle(its, trs, res), nil
}

// single records a batch one by one after an illegal transition refused it as a whole: that is a
// bug, and it must not hold back everybody else's outcomes.
func (c *Completer) single(ctx context.Context, its []item, illegal error) ([]item, error) {
	if len(its) == 1 {
		c.cfg.Recorded(nil, its[0].r)
		return nil, illegal
	}
	var again []item
	var errs []error
	for _, it := range its {
		left, err := c.record(ctx, []item{it})
		again, errs = append(again, left...), append(errs, err)
	}
	return again, errors.Join(errs...)
}

// doneInTx returns the row if the handler's own transaction has completed the execution, else nil.
func (it *item) doneInTx() *task.Task {
	if it.r.InTx && it.t.ExecutionID == it.r.Execution && it.t.State == task.Succeeded {
		return it.t
	}
	return nil
}

func (c *Completer) decide(it item) *task.Transition {
	if it.stop && it.t.ExecutionID != it.r.Execution {
		return nil // its report overtook it, and the row that was read again is of the next one
	}
	if it.stop {
		return Stop(it.t)
	}
	return Decide(it.t, it.r, c.cfg.Policy(it.t), c.cfg.Now(), c.cfg.Rand())
}

// settle takes the results: what was applied is told, what met another version is read again.
func (c *Completer) settle(its []item, trs []*task.Transition, res []store.Result) []item {
	var again []item
	for i, it := range its {
		switch res[i].Status {
		case store.Applied:
			res[i].Into(it.t, trs[i])
			if !it.stop {
				c.cfg.Recorded(it.t, it.r)
			}
		case store.Gone:
			if !it.stop {
				c.cfg.Recorded(nil, it.r)
			}
		case store.Locked:
			it.stale, it.after = true, res[i].At.Add(lockedPause)
			again = append(again, it)
		default: // somebody moved it
			it.stale = true
			again = append(again, it)
		}
	}
	return again
}

// refresh reads the rows of the items whose row in memory is out of date.
func (c *Completer) refresh(ctx context.Context, batch []item) error {
	var ids []task.ID
	for _, it := range batch {
		if it.stale {
			ids = append(ids, it.t.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := c.cfg.Store.Tasks(ctx, ids)
	if err != nil {
		return err
	}
	byID := task.ByID(rows)
	for i := range batch {
		it := &batch[i]
		if !it.stale {
			continue
		}
		if row := byID[it.t.ID]; row != nil {
			*it.t = *row
		} else {
			it.t.ExecutionID = task.ID{} // gone: nothing matches it any more
		}
		it.stale = false
	}
	return nil
}
