package dispatch

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ax-sched/ax/executor"
	"github.com/ax-sched/ax/internal/admit"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/internal/plant"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// A task that waits for its overlap key takes no slot meanwhile: it stands in a line, and only the
// head of the line is claimed, when somebody gives the key back. What another process gives back is
// found by trying the head again every keyPause.

// waits reports whether a task without its key waits for it instead of being skipped: its policy
// says so, its failures must not hide among the skipped, its retries are its own, or a person has
// asked for it. A job's run that a person has made is skipped as its fires are.
func waits(t *task.Task) bool {
	if t.OverlapKey == "" || t.HoldsKey() {
		return false
	}
	return t.Overlap != task.OverlapSkip || t.Failures > 0 || t.Recoveries > 0 ||
		t.TriggeredAt > t.CreatedAt
}

func waiter(t *task.Task, it admit.Item) admit.Waiter {
	return admit.Waiter{Item: it, Fire: t.FireTime, Version: t.Version,
		Latest: t.Overlap == task.OverlapReplace}
}

// call reports whether a task may be claimed before all others that want its key; if not, it waits.
func (d *Dispatcher) call(t *task.Task, it admit.Item) bool {
	d.mu.Lock()
	a := d.lines.Call(t.OverlapKey, waiter(t, it))
	d.mu.Unlock()
	if !a.Gone.ID.IsZero() {
		d.cfg.Settled(a.Gone)
	}
	switch {
	case a.Waits:
		d.cfg.Lined(it)
	case a.Full:
		d.cfg.Crowded(it)
	}
	return a.Now || plant.On(plant.LineIgnored)
}

// called reports whether the task is being claimed from its line.
func (d *Dispatcher) called(t *task.Task) bool {
	if t.OverlapKey == "" {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lines.Called(t.OverlapKey, t.ID)
}

// outdated reports whether a newer task waits that replaces this one.
func (d *Dispatcher) outdated(t *task.Task) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lines.Outdated(t.OverlapKey, waiter(t, admit.Item{ID: t.ID}))
}

// over ends the call of a task whose claim was answered, and sees to the next of its line. A task
// whose row somebody has locked keeps its place.
func (d *Dispatcher) over(c *claimed, s store.Status) {
	switch {
	case !c.lined:
	case s == store.KeyBusy || s == store.Locked:
		d.next(func() (admit.Item, bool) {
			return d.lines.Back(c.row.OverlapKey, waiter(c.row, c.it))
		})
		d.cfg.Lined(c.it)
	default:
		taken := s == store.Applied && !c.missed
		d.next(func() (admit.Item, bool) { return d.lines.Done(c.it.ID, taken) })
	}
}

// uncall ends the calls of tasks whose claim has failed. They are queued again.
func (b *batch) uncall(cs []claimed) {
	for i := range cs {
		if c := &cs[i]; c.lined {
			b.d.next(func() (admit.Item, bool) {
				return b.d.lines.Back(c.row.OverlapKey, waiter(c.row, c.it))
			})
		}
	}
}

// left takes a task out of its line that is not what it was when it joined; row is nil if it is
// gone.
func (d *Dispatcher) left(it admit.Item, row *task.Task) {
	runAt := task.Time(0)
	if row != nil && row.State == task.Scheduled {
		runAt = row.RunAt
	}
	var gone admit.Item
	d.next(func() (head admit.Item, ok bool) {
		gone, head, ok = d.lines.Left(it.ID, runAt)
		return head, ok
	})
	if !gone.ID.IsZero() && gone.RunAt != it.RunAt {
		d.cfg.Settled(gone) // another copy of it than the one that was looked at
	}
}

// Freed says that an overlap key was given back: who waits for it is claimed at once.
func (d *Dispatcher) Freed(key string) {
	d.next(func() (admit.Item, bool) { return d.lines.Freed(key) })
}

// next queues whom the line names.
func (d *Dispatcher) next(name func() (admit.Item, bool)) {
	d.mu.Lock()
	head, ok := name()
	if ok {
		d.queue.Push(head)
	}
	room := d.lines.Room()
	d.mu.Unlock()
	if ok {
		d.Wake()
	}
	if room {
		d.cfg.Room()
	}
}

// maxHeads is how many heads are tried in a keyPause: each takes a slot for as long as its claim
// takes, which tasks that wait for nothing must not feel.
const maxHeads = 64

// heads queues the heads of some lines, once in keyPause.
func (d *Dispatcher) heads() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.cfg.Now()
	if now.Sub(d.tried) < keyPause && now >= d.tried || plant.On(plant.LineForgotten) {
		return
	}
	d.tried = now
	for _, it := range d.lines.Heads(maxHeads) {
		d.queue.Push(it)
	}
}

// replace asks the holders of keys to end for the tasks that replace them. One that is older than
// the holder of its key is not wanted any more. A holder that is HELD is left to a person.
func (b *batch) replace(ctx context.Context, cs []claimed) error {
	if len(cs) == 0 {
		return nil
	}
	holders, err := b.holders(ctx, cs)
	if err != nil {
		return err
	}
	var trs []*task.Transition
	var of []claimed
	for _, c := range cs {
		h := holders[c.row.OverlapKey]
		switch {
		case h == nil || h.CancelAsked != 0 && newer(c.row, h):
			continue
		case newer(c.row, h):
			trs = append(trs, complete.Cancel(h, "", fmt.Sprintf("replaced by task %s", c.row.ID)))
		default:
			trs = append(trs, complete.Supersede(c.row))
		}
		of = append(of, c)
	}
	if len(trs) == 0 {
		return nil
	}
	res, err := b.d.cfg.Store.Apply(ctx, b.d.fence, trs)
	if err != nil {
		return err // the head of the line is tried again
	}
	for i, c := range of {
		switch {
		case res[i].Status != store.Applied:
		case trs[i].ID == c.row.ID:
			b.d.cfg.Settled(c.it)
			res[i].Into(c.row, trs[i])
			b.d.left(c.it, c.row)
			b.d.cfg.Skipped(c.row)
		default:
			b.d.cfg.Local.Cancel(trs[i].Set.ExecutionID, executor.ErrCanceled)
		}
	}
	return nil
}

// newer reports whether a replaces b. Whom a person has asked for counts from then.
func newer(a, b *task.Task) bool {
	at := func(t *task.Task) task.Time { return max(t.FireTime, t.TriggeredAt) }
	return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(string(a.ID[:]), string(b.ID[:]))) > 0
}

// holders finds the live tasks that hold the keys of cs.
func (b *batch) holders(ctx context.Context, cs []claimed) (map[string]*task.Task, error) {
	wanted := make(map[string]*task.Task, len(cs))
	for _, c := range cs {
		wanted[c.row.OverlapKey] = nil
	}
	for q := (store.LiveQuery{Limit: 1000}); ; {
		rows, err := b.d.cfg.Store.Live(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			if _, ok := wanted[rows[i].OverlapKey]; ok && rows[i].OverlapKey != "" {
				wanted[rows[i].OverlapKey] = &rows[i]
			}
		}
		if len(rows) < q.Limit {
			return wanted, nil
		}
		q.After = rows[len(rows)-1].ID
	}
}
