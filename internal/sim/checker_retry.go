package sim

import (
	"time"

	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/task"
)

// reported checks that the table was told what really happened to the execution.
func (c *checker) reported(before *shadow, m task.Move) {
	x := c.runs[before.ExecutionID]
	if x == nil {
		c.fail("I6", "task %s: %s of an execution that was never claimed", before.ID, m.Event)
		return
	}
	policy := c.policy(&before.Task)
	ok := false
	switch m.Event {
	case task.Succeed:
		ok = x.ended && x.verdict.kind == succeeds
	case task.Fail:
		ok = x.ended && x.verdict.failed()
	case task.Snooze:
		ok = x.ended && x.verdict.kind == snoozes
	case task.TimeOut:
		ok = x.started && policy.timeout > 0 && c.at-x.begin >= policy.timeout &&
			(x.ended && x.verdict.kind != succeeds || x.told && c.at-x.toldAt >= c.zombieWait)
	case task.HandBack:
		switch {
		case !x.started:
			ok = true
			c.count("claim handed back")
			if c.calm {
				c.fail("I12", "task %s was handed back unstarted although nothing was wrong",
					before.ID)
			}
		case x.ended:
			ok = x.verdict.kind == releases || x.verdict.failed() && x.told &&
				!(policy.hold && policy.max == 0)
		}
		c.giveUp(before)
	}
	if !ok {
		c.fail("I6", "task %s: %s of execution %s, but really: %s", before.ID, m.Event, x.id, x)
	}
}

// giveUp says that the table no longer waits for the execution.
func (c *checker) giveUp(before *shadow) {
	if x := c.runs[before.ExecutionID]; x != nil && !x.started {
		x.gone = true
	}
}

// canceled checks that somebody wanted it: a person, or the handler.
func (c *checker) canceled(before, r *shadow) {
	if !before.State.Live() {
		return // on request: the caller's own words stand in the history
	}
	x := c.runs[before.ExecutionID]
	byHandler := x != nil && x.ended && x.verdict.kind == cancels
	if before.CancelAsked == 0 && !byHandler {
		c.fail("I8", "task %s was canceled while it runs, and nobody asked for it", r.ID)
	}
	if x != nil && x.ended && x.verdict.kind == succeeds && !c.lost(x) &&
		!(x.told && c.at-x.toldAt >= c.zombieWait) {
		c.fail("I8", "task %s was canceled after its execution had succeeded", r.ID)
	}
}

func (c *checker) lost(x *run) bool {
	e := c.epoch[x.epoch]
	return x.proc.over || e == nil || e.retired
}

// retried checks number and distance of retries.
func (c *checker) retried(before, r *shadow, at task.Time) {
	p := c.policy(&before.Task)
	x := c.runs[before.ExecutionID]
	if p.hold && (x == nil || !x.ended) {
		c.fail("I24", "task %s is tried again, and nobody knows how %s ended", r.ID,
			before.ExecutionID)
	}
	if r.Failures > p.max {
		c.fail("I12", "task %s is tried again after %d failures, its max_retries is %d", r.ID,
			r.Failures, p.max)
	}
	lo, hi := p.retry.Delay(r.Failures, 0), p.retry.Delay(r.Failures, 1)
	if x != nil && x.ended && !c.stopped(x) {
		if x.verdict.kind == permanent {
			c.fail("I12", "task %s is tried again after a permanent error", r.ID)
		}
		if x.verdict.kind == retriesIn {
			lo, hi = x.verdict.delay, x.verdict.delay
		}
	}
	if d := r.RunAt.Sub(at); d < lo-time.Microsecond || d > hi+time.Microsecond {
		if x == nil || x.verdict.kind != retriesIn || d != x.verdict.delay {
			c.fail("I12", "task %s: retry %d comes after %v, want %v to %v", r.ID, r.Failures, d,
				lo, hi)
		}
	}
}

// recovered checks the pause before a task that may be what takes executors down.
func (c *checker) recovered(r *shadow, at task.Time) {
	d := r.RunAt.Sub(at)
	switch {
	case c.policy(&r.Task).hold:
		c.fail("I24", "task %s comes back, and nobody knows how %s ended", r.ID, r.ExecutionID)
	case r.Recoveries > complete.MaxRecoveries:
		c.fail("I12", "task %s comes back after %d recoveries", r.ID, r.Recoveries)
	case r.Recoveries == complete.MaxRecoveries && d != time.Second:
		c.fail("I12", "task %s comes back after %v as a suspect, want 1s", r.ID, d)
	case r.Recoveries < complete.MaxRecoveries && d != 0:
		c.fail("I12", "task %s comes back after %v from its first recovery, want at once", r.ID, d)
	}
}

// buried checks that a task was given up for the reason it names.
func (c *checker) buried(before, r *shadow, m task.Move) {
	c.count("dead " + m.Reason.String())
	x := c.runs[before.ExecutionID]
	ok := false
	switch m.Reason {
	case task.Exhausted:
		ok = r.Failures == c.policy(&before.Task).max+1
	case task.Expired:
		ok = r.ExpiresAt != 0
	case task.Permanent:
		ok = x != nil && x.ended && x.verdict.kind == permanent
	case task.Poison:
		ok = r.Recoveries == complete.MaxRecoveries+1
		c.condemned(x)
	}
	if !ok {
		c.fail("I12", "task %s is DEAD(%s) with %d failures and %d recoveries", r.ID, m.Reason,
			r.Failures, r.Recoveries)
	}
}
