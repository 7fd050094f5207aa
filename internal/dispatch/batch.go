package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/ax-sched/ax/executor"
	"github.com/ax-sched/ax/internal/admit"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/internal/plant"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

const (
	// runsPause is how long a task waits whose last execution is still ending here.
	runsPause = 100 * time.Millisecond
	// keyPause is how long the head of a line waits for its overlap key if nobody here is told that
	// it was given back: another process may do that.
	keyPause = time.Second
)

// batch is one claim under way. Every item in its has a slot until it is started or let go.
type batch struct {
	d     *Dispatcher
	its   []admit.Item
	epoch int64                  // of this process as an executor
	ahead map[task.ID]*task.Task // rows that were read while these tasks waited
	rows  map[task.ID]*task.Task // rows that were read now
}

// claimed is one row about to be claimed.
type claimed struct {
	it      admit.Item
	row     *task.Task
	ctx     context.Context
	policy  complete.Policy
	suspect bool
	lined   bool // it was called from the line of its overlap key
	pace    pace // what was counted for it
	old     bool // the row was read ahead
	missed  bool // tr does not claim it: it is too late for that
	tr      *task.Transition
}

// claim reads the rows, decides, applies, and starts what was applied. On an error nothing has
// started and the items keep their slots.
func (b *batch) claim(ctx context.Context) error {
	if err := b.read(ctx); err != nil {
		return err
	}
	name, epoch, ok := b.d.cfg.Member()
	if !ok {
		b.putBack()
		b.its = nil
		return nil
	}
	b.epoch = epoch
	cs, trs := make([]claimed, 0, len(b.its)), make([]*task.Transition, 0, len(b.its))
	taken := make(map[task.ID]bool, len(b.its))
	for _, it := range b.its {
		row, old := b.row(it.ID)
		if taken[it.ID] && row.RunAt == it.RunAt {
			// It was queued twice: a page read before it moved has hidden the first time. A store
			// refuses two transitions of one row, and with them the whole batch.
			b.d.cfg.Local.Give(it.Kind)
			continue
		}
		if c, ok := b.look(it, row); ok {
			c.old = old
			b.decide(&c, name)
			cs, trs = append(cs, c), append(trs, c.tr)
			taken[it.ID] = true
		}
	}
	b.its = b.its[:0]
	for i := range cs {
		b.its = append(b.its, cs[i].it) // what an error would have to put back
	}
	if len(trs) == 0 {
		return nil
	}
	res, err := b.d.cfg.Store.Apply(ctx, b.d.fence, trs)
	if err != nil {
		b.unclaim(cs)
		b.uncall(cs)
		return err
	}
	b.its = nil
	return b.settle(ctx, cs, res)
}

// decide says what becomes of a task that may be claimed: mostly that it is.
func (b *batch) decide(c *claimed, name string) {
	c.tr = complete.Miss(c.row, c.policy, b.d.cfg.Now())
	if c.tr == nil && c.lined && b.d.outdated(c.row) {
		c.tr = complete.Supersede(c.row)
	}
	if c.missed = c.tr != nil; c.missed {
		return
	}
	c.tr = complete.Claim(c.row, b.d.cfg.NewID(), name, b.epoch, b.d.fence.Token)
	if plant.On(plant.OverlapIgnored) {
		c.tr.TakeKey = ""
	}
	b.d.cfg.Local.Expect(c.tr.Set.ExecutionID)
}

// read reads the rows that were not read ahead.
func (b *batch) read(ctx context.Context) error {
	ids := make([]task.ID, 0, len(b.its))
	for _, it := range b.its {
		if b.ahead[it.ID] == nil {
			ids = append(ids, it.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := b.d.cfg.Store.Tasks(ctx, ids)
	if err != nil {
		return err
	}
	b.rows = task.ByID(rows)
	return nil
}

// row returns what was read of a task, and whether that was done ahead.
func (b *batch) row(id task.ID) (row *task.Task, old bool) {
	if row := b.ahead[id]; row != nil {
		return row, true
	}
	return b.rows[id], false
}

// look decides whether a due task may be claimed now; if not, it gives its slot back.
func (b *batch) look(it admit.Item, row *task.Task) (claimed, bool) {
	d := b.d
	if row == nil || row.State != task.Scheduled || row.RunAt != it.RunAt {
		d.cfg.Local.Give(it.Kind)
		d.cfg.Settled(it) // somebody moved it; where it is scheduled again, the scan finds it
		d.left(it, row)
		return claimed{}, false
	}
	if d.called(row) {
		// Another copy of it is being claimed. It may have been queued for an instant that was
		// changed since, so this one is not thrown away.
		d.cfg.Local.Give(it.Kind)
		d.cfg.Later(it, d.cfg.Now().Add(runsPause))
		return claimed{}, false
	}
	if row.Epoch == b.epoch && d.cfg.Local.Runs(row.ExecutionID) {
		// It was held, and a person wants it again: the key is its own, so nothing else keeps the
		// next attempt from running beside this one.
		d.cfg.Local.Cancel(row.ExecutionID, executor.ErrCanceled)
		d.cfg.Local.Give(it.Kind)
		d.left(it, row)
		d.cfg.Later(it, d.cfg.Now().Add(runsPause))
		return claimed{}, false
	}
	c := claimed{it: it, row: row, suspect: complete.Suspect(row)}
	var ok bool
	if c.ctx, c.policy, ok = d.cfg.Handler(row); !ok {
		d.cfg.Local.Give(it.Kind)
		d.cfg.Settled(it)
		d.left(it, nil)
		return claimed{}, false
	}
	if c.suspect && !d.cfg.Local.TakeSuspect(complete.SuspectTime) {
		d.cfg.Local.Give(it.Kind)
		d.mu.Lock()
		d.suspects = append(d.suspects, it)
		d.mu.Unlock()
		return claimed{}, false
	}
	c.pace = paceOf(row)
	if at, ok := d.paced(c.pace); !ok {
		c.pace = unpaced
		b.turnAway(&c)
		d.left(it, nil) // others of its key do not wait for that
		d.cfg.Later(it, at)
		return claimed{}, false
	}
	if c.lined = waits(row); c.lined && !d.call(row, it) {
		c.lined = false
		b.turnAway(&c) // it stays in the line of its key
		return claimed{}, false
	}
	return c, true
}

// turnAway gives back what a task has that is not claimed now.
func (b *batch) turnAway(c *claimed) {
	if c.suspect {
		b.d.cfg.Local.GiveSuspect()
	}
	b.d.unpace(c.pace)
	b.d.cfg.Local.Give(c.it.Kind)
}

// settle starts what was claimed and lets the rest go.
func (b *batch) settle(ctx context.Context, cs []claimed, res []store.Result) error {
	d := b.d
	var busy, replacing []claimed
	may := len(cs) > 0 && d.mayStart(b.epoch)
	for i, c := range cs {
		d.over(&c, res[i].Status)
		if res[i].Status == store.Applied {
			d.cfg.Settled(c.it)
			res[i].Into(c.row, c.tr)
			switch {
			case c.missed:
				d.cfg.Skipped(c.row)
			case may && d.cfg.Local.Start(c.ctx, c.row, c.policy.Timeout, c.suspect):
				continue
			default:
				d.cfg.HandBack(c.row)
			}
		}
		b.unclaim(cs[i : i+1])
		d.cfg.Local.Give(c.it.Kind)
		switch res[i].Status {
		case store.Applied:
		case store.NotDue:
			// By the estimate it is due. What is left by the store's clock is waited for, or an
			// estimate that is ahead would claim it again and again until then.
			at := d.cfg.Now().Add(c.it.RunAt.Sub(res[i].At))
			if plant.On(plant.NotDueSpins) {
				at = c.it.RunAt
			}
			d.cfg.Later(c.it, at)
		case store.Locked:
			if !c.lined { // else it keeps its place in the line
				d.cfg.Later(c.it, d.cfg.Now().Add(lockedPause))
			}
		case store.KeyBusy:
			switch {
			case !c.lined:
				busy = append(busy, c)
			case c.row.Overlap == task.OverlapReplace:
				replacing = append(replacing, c)
			}
		case store.Conflict:
			if c.old {
				d.cfg.Later(c.it, c.it.RunAt) // it comes back at once and is read
			} else {
				d.cfg.Settled(c.it)
			}
		default:
			d.cfg.Settled(c.it)
		}
	}
	return errors.Join(b.skip(ctx, busy), b.replace(ctx, replacing))
}

// skip applies the overlap policy to tasks whose key is busy.
func (b *batch) skip(ctx context.Context, busy []claimed) error {
	if len(busy) == 0 {
		return nil
	}
	trs := make([]*task.Transition, len(busy))
	for i, c := range busy {
		trs[i] = complete.Skip(c.row, task.Overlapped)
	}
	res, err := b.d.cfg.Store.Apply(ctx, b.d.fence, trs)
	for i, c := range busy {
		if err != nil {
			b.d.cfg.Later(c.it, c.it.RunAt) // it meets the key again, or finds it free
			continue
		}
		b.d.cfg.Settled(c.it)
		if res[i].Status == store.Applied {
			res[i].Into(c.row, trs[i])
			b.d.cfg.Skipped(c.row)
		}
	}
	return err
}

// putBack returns the items to the queue after an error.
func (b *batch) putBack() {
	for _, it := range b.its {
		b.d.cfg.Local.Give(it.Kind)
	}
	b.d.mu.Lock()
	for _, it := range b.its {
		b.d.queue.Push(it)
	}
	b.d.mu.Unlock()
}

// unclaim forgets executions that do not start. After an error some of them may stand in the table
// all the same: the executor finds that it does not run them and hands them back.
func (b *batch) unclaim(cs []claimed) {
	for _, c := range cs {
		if !c.missed { // else it names an earlier execution, which may still run
			b.d.cfg.Local.Unexpect(c.tr.Set.ExecutionID)
		}
		if c.suspect {
			b.d.cfg.Local.GiveSuspect()
		}
		b.d.unpace(c.pace)
	}
}
