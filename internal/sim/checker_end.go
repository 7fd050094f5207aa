package sim

import (
	"github.com/ax-sched/ax/task"
)

// row is told of a row and its history as the store has them at the end.
func (c *checker) row(t *task.Task, log []task.Entry) {
	r := c.rows[t.ID]
	if r == nil {
		c.fail("I8", "the store has task %s, which nobody made", t.ID)
		return
	}
	for i, e := range log {
		from := task.None
		if i > 0 {
			from = log[i-1].To
		}
		if e.Version != int64(i)+1 || e.From != from {
			c.fail("I9", "task %s: entry %d of its history has version %d and leads from %s to %s; "+
				"the one before leads to %s", t.ID, i+1, e.Version, e.From, e.To, from)
		}
		if i > 0 && log[i-1].To.Final() && e.Event != task.Redrive && e.Event != task.Trigger {
			c.fail("I8", "task %s moved by %s after it was %s", t.ID, e.Event, log[i-1].To)
		}
	}
	if n := len(log); n == 0 || log[n-1].To != t.State || int64(n) != t.Version {
		c.fail("I9", "task %s is %s in version %d, which its history of %d entries does not say",
			t.ID, t.State, t.Version, n)
	}
	if !sameHistory(log, r.log) {
		c.fail("I9", "the history of task %s is not what was written", t.ID)
	}
	if t.State != r.State || t.Version != r.Version || t.Attempt != r.Attempt ||
		t.Failures != r.Failures || t.RunAt != r.RunAt || t.ExecutionID != r.ExecutionID {
		c.fail("I8", "task %s is %s in version %d, written were %s and %d", t.ID, t.State, t.Version,
			r.State, r.Version)
	}
	c.count("end " + t.State.String())
}

// done checks what must hold when everything has been read with row. n is how many rows the
// store has.
func (c *checker) done(n int) {
	if n != len(c.rows) {
		c.fail("I10", "the store has %d tasks, %d were made", n, len(c.rows))
	}
	for id := range c.acked {
		if r := c.rows[id]; r == nil || !r.State.Final() {
			c.fail("I10", "task %s was acknowledged and has not ended", id)
		}
	}
	for id := range c.ended {
		r := c.rows[id]
		if r == nil || r.State != task.Canceled && r.State != task.Succeeded && !decided(r) {
			c.fail("I8", "task %s was canceled, the caller was told so, and it has not ended so", id)
		}
	}
	for k, id := range c.keys {
		c.fail("I11", "kind %s and key %q are still taken, by %s", k[0], k[1], id)
	}
	for k, r := range c.holds {
		c.fail("I17", "overlap key %q is still held by %s", k, r.ID)
	}
}
