package sim

import (
	"time"

	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/task"
)

// wait is how long a due task has waited with nothing in its way: since it was due by the store's
// clock, came into its state, found its overlap key busy, or the last disturbance of anything,
// whatever was last.
func (c *checker) wait(r *shadow, now task.Time) time.Duration {
	c.leaderless()
	w := c.at - max(c.at-now.Sub(r.RunAt), r.entered, r.busy, c.quiet, c.kinds[r.Kind])
	return min(w, c.keyWait(r, now))
}

// leaderless says that nothing is late while nobody can lead.
func (c *checker) leaderless() {
	if p := c.leader; p == nil || p.over || p.stopping || p.still != nil {
		c.disturbed()
	}
}

// exempt reports whether a task may wait for longer than a run takes: one suspect runs at a time,
// and a kind may have no handler.
func (c *checker) exempt(r *shadow) bool {
	return complete.Suspect(&r.Task) || r.Kind == lateKind && !c.allKinds
}

// bound is how long a task may wait with nothing in its way. One that came with a time of the past
// is found by the slow walk over overdue rows. One that wants an overlap key asks for it again.
func (c *checker) bound(r *shadow) time.Duration {
	late := c.late
	if r.OverlapKey != "" {
		late += keyPause
	}
	if r.UpdatedAt.Sub(r.RunAt) > 300*time.Millisecond {
		late += slowWalk
	}
	return late
}

const (
	slowWalk = 6 * time.Second
	keyPause = 2 * time.Second
)

// leftInTime checks that a task which is claimed or skipped now did not wait too long (I2).
func (c *checker) leftInTime(r *shadow, now task.Time) {
	if w := c.wait(r, now); r.RunAt <= now && w > c.bound(r) && !c.exempt(r) {
		c.fail("I2", "task %s (%s) waited %v with nothing in its way, at most %v is right", r.ID,
			r.Kind, w, c.bound(r))
	}
}

// look is called every now and then: what should have happened and did not? Nothing is due for
// ever (I2), and no row is RUNNING that nobody runs (I14).
func (c *checker) look(now task.Time) {
	c.leaderless()
	if c.leader != nil && !c.leader.over {
		c.slotsHeld(c.leader)
	}
	for _, r := range c.due {
		if w := c.wait(r, now); r.RunAt <= now && w > c.bound(r)+time.Second && !c.exempt(r) {
			c.fail("I2", "task %s (%s) waits since %v with nothing in its way", r.ID, r.Kind, w)
			r.entered = c.at // once is enough
		}
	}
	for _, r := range c.live {
		x := c.runs[r.ExecutionID]
		if x == nil || x.started && !x.ended && !c.lost(x) {
			continue
		}
		if w := c.at - max(c.quiet, r.entered, c.trouble(x)); w > c.stuck {
			c.fail("I14", "task %s is %s since %v, but really: %s", r.ID, r.State, w, x)
			r.entered = c.at
		}
	}
}

// trouble is when the execution stopped to be one that runs.
func (c *checker) trouble(x *run) time.Duration {
	return max(x.begin, x.toldAt, x.proc.overAt, x.endAt)
}

// unfinished returns how many tasks have not ended, and one of them.
func (c *checker) unfinished() (n int, one *shadow) {
	for _, m := range []map[task.ID]*shadow{c.due, c.live, c.held} {
		for _, r := range m {
			n, one = n+1, r
		}
	}
	return n, one
}
