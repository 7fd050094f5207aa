package sim

import (
	"github.com/ax-sched/ax/task"
)

// heldUp checks that a task is left to a person only by its policy, and only if really nobody knows
// how its execution has ended (I24).
func (c *checker) heldUp(before *shadow, m task.Move) {
	c.count("held " + m.Reason.String())
	p, x := c.policy(&before.Task), c.runs[before.ExecutionID]
	ok := p.hold && x != nil
	switch m.Reason {
	case task.Lost:
		e := c.epoch[before.Epoch]
		ok = ok && e != nil && e.retired
		c.giveUp(before)
	case task.Interrupted:
		ok = ok && p.max == 0 && x.ended && x.told && x.verdict.failed()
	case task.Unreported:
		ok = ok && x.told && (x.ended || c.at-x.toldAt >= c.zombieWait)
	default:
		ok = false
	}
	if !ok {
		c.fail("I24", "task %s is held (%s) against its policy, or really: %v", before.ID, m.Reason, x)
	}
}

// atMostOnce checks, at the start of a handler, that no other execution of an at-most-once task has
// begun (I24), unless that handler asked to be called again, or a person did.
func (c *checker) atMostOnce(x *run, t *task.Task) {
	if p := c.policy(t); !p.hold || p.max != 0 {
		return
	}
	for _, o := range c.tasks[x.task] {
		asked := o.ended && (o.verdict.kind == snoozes || o.verdict.kind == releases)
		if o != x && o.started && !o.excused && !asked {
			c.fail("I24", "execution %s of at-most-once task %s starts after %s: %s", x.id, x.task,
				o.id, o)
		}
	}
}

// decided reports whether a person has decided about the task after its end was unknown, or has
// begun a new run: then an earlier cancel says nothing.
func decided(r *shadow) bool {
	for _, e := range r.log {
		switch e.Event {
		case task.Hold, task.Redrive, task.Trigger:
			return true
		}
	}
	return false
}
