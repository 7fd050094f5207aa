package sim

import (
	"bytes"
	"errors"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// applied is told of an Apply that the store took, with the transitions as they were given.
// Stores apply in the order of ids, and so does the checker.
func (c *checker) applied(p *process, f store.Fence, trs []*task.Transition, res []store.Result) {
	c.fenced(f, "apply")
	order := make([]int, len(trs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return bytes.Compare(trs[a].ID[:], trs[b].ID[:])
	})
	for _, i := range order {
		if res[i].Status == store.Applied {
			c.move(p, f, trs[i], res[i])
		} else {
			c.refused(trs[i], res[i])
		}
	}
}

// failed is told of the error of a write. A store refuses a batch with an illegal transition as a
// whole, so nothing of it is done, and would be refused again for ever.
func (c *checker) failed(what string, err error) {
	if errors.Is(err, task.ErrIllegal) {
		c.fail("I8", "%s: %v", what, err)
	}
}

// refused checks that an answer other than applied has a reason.
func (c *checker) refused(tr *task.Transition, res store.Result) {
	r := c.rows[tr.ID]
	c.count("apply " + res.Status.String())
	ok := false
	switch res.Status {
	case store.Gone:
		ok = r == nil
	case store.Conflict:
		ok = r != nil && !c.matches(r, tr)
	case store.NotDue:
		ok = r != nil && tr.WhenDue && r.RunAt > res.At
		if r != nil {
			if r.early++; r.early == mostEarly {
				c.fail("LOOP", "task %s was claimed %d times before its time", r.ID, r.early)
			}
		}
	case store.KeyBusy:
		h := c.holds[tr.TakeKey]
		if ok = r != nil && h != nil && h != r; ok {
			r.busy = c.at
		}
		if r != nil && r.Key != "" && r.State.Final() { // a new run needs its key again
			_, busy := c.keys[[2]string{r.Kind, r.Key}]
			ok = ok || busy
		}
	case store.Locked:
		// A row that does not exist is not locked; whoever writes to it is told of at its start.
		if ok = true; r != nil {
			c.kinds[r.Kind] = c.at
		}
	}
	if !ok {
		c.fail("I8", "a transition of %s from version %d was refused as %s without a reason",
			tr.ID, tr.Version, res.Status)
	}
}

// mostEarly is how often a task may be claimed too early: each time the rest is waited for.
const mostEarly = 10

func (c *checker) matches(r *shadow, tr *task.Transition) bool {
	return r.Version == tr.Version && r.State == tr.From &&
		(tr.Execution.IsZero() || tr.Execution == r.ExecutionID)
}

// move applies a transition to the copy of the row and checks everything about it.
func (c *checker) move(p *process, f store.Fence, tr *task.Transition, res store.Result) {
	r := c.rows[tr.ID]
	if r == nil {
		c.fail("I8", "a transition of %s was applied, which does not exist", tr.ID)
		return
	}
	if !c.matches(r, tr) {
		c.fail("I8", "task %s moved by %s from %s version %d execution %s, but it was in %s "+
			"version %d execution %s", tr.ID, events(tr), tr.From, tr.Version, tr.Execution,
			r.State, r.Version, r.ExecutionID)
	}
	if h := c.holds[tr.TakeKey]; tr.TakeKey != "" && h != nil && h != r {
		c.fail("I17", "task %s took the overlap key %q, which %s holds", tr.ID, tr.TakeKey, h.ID)
	}
	before := *r
	c.place(r, false)
	r.Mutable = tr.Set
	r.Resolve(res.At)
	at := before.State
	for _, m := range tr.Moves {
		to, err := task.Next(at, m.Event)
		if err != nil || m.From != at || m.To != to {
			c.fail("I8", "task %s: illegal move %s from %s to %s", tr.ID, m.Event, at, m.To)
		}
		r.record(res.At, m)
		at = m.To
	}
	if at != r.State || !at.Resting() {
		c.fail("I8", "task %s rests in %s after moves to %s", tr.ID, r.State, at)
	}
	if res.Version != r.Version {
		c.fail("I8", "task %s has version %d after %d moves, want %d", tr.ID, res.Version,
			len(tr.Moves), r.Version)
	}
	if r.HoldsKey() {
		if h := c.holds[r.OverlapKey]; h != nil {
			c.fail("I17", "tasks %s and %s of overlap key %q are %s and %s", r.ID, h.ID,
				r.OverlapKey, r.State, h.State)
		}
	}
	c.place(r, true)
	if before.HoldsKey() && !r.HoldsKey() {
		c.freed[r.OverlapKey] = c.at
	}
	r.entered, r.early = c.at, 0
	c.meaning(p, f, tr, &before, r, res.At)
}

// meaning checks what a transition says against what really happened.
func (c *checker) meaning(p *process, f store.Fence, tr *task.Transition, before, r *shadow,
	at task.Time) {
	for _, m := range tr.Moves {
		c.count(m.Event.String())
		switch m.Event {
		case task.ClaimLocal, task.Claim:
			if f == (store.Fence{}) {
				c.fail("I7", "task %s was claimed without a fence", r.ID)
			}
			c.leftInTime(before, at)
			if before.RunAt > at {
				c.fail("I3", "task %s was claimed %v before its time by the store's clock", r.ID,
					before.RunAt.Sub(at))
			}
			c.assigned(p, r)
			c.inTurn(before, at)
		case task.AskCancel:
			c.replaced(before, m)
		case task.Skip:
			c.leftInTime(before, at)
			c.skipped(before, m)
		case task.Lose:
			if e := c.epoch[before.Epoch]; e == nil || !e.retired {
				c.fail("I6", "task %s was taken for lost although epoch %d is not retired", r.ID,
					before.Epoch)
			}
			c.giveUp(before)
		case task.Stop:
			if x := c.runs[before.ExecutionID]; x != nil &&
				(!x.started || c.at-x.begin < c.policy(&before.Task).timeout) {
				c.fail("I12", "task %s was told to stop before its hard time-out", r.ID)
			}
		case task.Succeed, task.Fail, task.TimeOut, task.Snooze, task.HandBack:
			c.reported(before, m)
		case task.Cancel:
			c.canceled(before, r)
		case task.Retry:
			c.retried(before, r, at)
		case task.Recover:
			c.recovered(r, at)
		case task.Bury:
			c.buried(before, r, m)
		case task.Hold:
			c.heldUp(before, m)
		case task.Expire:
			if before.ExpiresAt == 0 {
				c.fail("I1", "task %s expired, which never does", r.ID)
			}
		case task.Rerun, task.Redrive, task.Trigger:
			for _, x := range c.tasks[r.ID] {
				x.excused = true
			}
		}
	}
	c.counters(tr, before, r)
}

// skipped checks that a policy had a reason not to run a task.
func (c *checker) skipped(before *shadow, m task.Move) {
	c.count("skipped " + m.Reason.String())
	if m.Reason == task.Late && before.MaxLateness == 0 {
		c.fail("I1", "task %s is skipped as late, which it never is", before.ID)
	}
	plain := before.JobID.IsZero() // else the job may have had another policy then
	if m.Reason == task.Superseded && plain && before.Overlap != task.OverlapReplace {
		c.fail("I1", "task %s gave way to a newer one against its policy", before.ID)
	}
	if m.Reason == task.Overlapped && before.Overlap != task.OverlapSkip {
		c.fail("I1", "task %s was skipped for overlap against its policy", before.ID)
	}
}

// counters checks that a transition changed only the counters it may.
func (c *checker) counters(tr *task.Transition, before, r *shadow) {
	attempts, failures, recoveries := before.Attempt, before.Failures, before.Recoveries
	lives := before.Run
	for _, m := range tr.Moves {
		if m.From.Final() { // a person: everything anew
			attempts, failures, recoveries, lives = 0, 0, 0, lives+1
		}
		switch m.Event {
		case task.Claim, task.ClaimLocal:
			attempts++
		case task.Fail, task.TimeOut:
			failures++
		case task.Hold:
			failures = before.Failures // its late report counts
		case task.Lose:
			recoveries += r.Recoveries - before.Recoveries // 0 if another is to blame
			if d := r.Recoveries - before.Recoveries; d != 0 && d != 1 {
				c.fail("I12", "task %s: one loss changed its recoveries by %d", r.ID, d)
			}
		}
	}
	if r.Attempt != attempts || r.Failures != failures || r.Recoveries != recoveries ||
		r.Run != lives {
		c.fail("I12", "task %s after %s: attempt %d, failures %d, recoveries %d, run %d; want "+
			"%d, %d, %d, %d", r.ID, events(tr), r.Attempt, r.Failures, r.Recoveries, r.Run,
			attempts, failures, recoveries, lives)
	}
}

func events(tr *task.Transition) []task.Event {
	var es []task.Event
	for _, m := range tr.Moves {
		es = append(es, m.Event)
	}
	return es
}
