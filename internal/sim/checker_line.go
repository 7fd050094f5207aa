package sim

import (
	"bytes"
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/ax-sched/ax/task"
)

// keyWait is how long a due task could have had its overlap key: not while another one holds it,
// nor while somebody who goes before it has something else in the way.
func (c *checker) keyWait(r *shadow, now task.Time) time.Duration {
	if r.OverlapKey == "" {
		return math.MaxInt64
	}
	if h := c.holds[r.OverlapKey]; h != nil && h.ID != r.ID {
		return 0
	}
	w := c.at - c.freed[r.OverlapKey]
	for _, o := range c.due {
		if o.OverlapKey != r.OverlapKey || o.ID == r.ID || o.RunAt > now {
			continue
		}
		if c.exempt(o) {
			return 0
		}
		w = min(w, c.at-max(o.entered, o.busy, c.kinds[o.Kind]))
	}
	return w
}

// before is the order of those who wait for one key.
func before(a, b *task.Task) bool {
	return cmp.Or(cmp.Compare(a.FireTime, b.FireTime), bytes.Compare(a.ID[:], b.ID[:])) < 0
}

// inTurn checks that a claim overtakes nobody (I25): no task of a queue that has begun and not
// ended, and none that this leader has seen waiting for the key and that goes before.
func (c *checker) inTurn(r *shadow, now task.Time) {
	if r.OverlapKey == "" {
		return
	}
	for _, m := range []map[task.ID]*shadow{c.due, c.live, c.held} {
		for _, o := range m {
			if o.OverlapKey == r.OverlapKey && o.ID != r.ID && o.Overlap == task.OverlapQueue &&
				o.Attempt > 0 {
				c.fail("I25", "task %s was claimed while %s of the same queue is between its "+
					"attempts: %s", r.ID, o.ID, o.State)
			}
		}
	}
	if r.Overlap != task.OverlapQueue || r.Attempt > 0 {
		return
	}
	for _, o := range c.due {
		seen := o.busy > max(o.entered, c.led)
		if o.OverlapKey == r.OverlapKey && o.Overlap == task.OverlapQueue && o.ID != r.ID &&
			seen && o.RunAt <= now &&
			before(&o.Task, &r.Task) && !c.exempt(o) && o.Kind != lateKind {
			c.fail("I25", "task %s was claimed before %s, which waits since %v for the same key", r.ID,
				o.ID, o.busy)
		}
	}
}

// replaced checks who may end a task for another one.
func (c *checker) replaced(holder *shadow, m task.Move) {
	by, ok := strings.CutPrefix(m.Detail, "replaced by task ")
	if !ok {
		return
	}
	c.count("replaced")
	id, err := task.ParseID(by)
	r := c.rows[id]
	const meanwhile = 10 * time.Second // somebody may have moved it since it met the key
	if err != nil || r == nil || r.Overlap != task.OverlapReplace ||
		r.OverlapKey != holder.OverlapKey ||
		r.State != task.Scheduled && c.at-r.entered > meanwhile {
		c.fail("I25", "task %s was asked to end, %s", holder.ID, m.Detail)
	}
}
