package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/task"
)

// deed is how a handler ends.
type deed int

const (
	succeeds  deed = iota
	fails          // with an error that may be retried
	permanent      // with one that may not
	retriesIn
	panics
	exits // by runtime.Goexit
	snoozes
	releases
	cancels
)

var deedNames = [...]string{"succeed", "fail", "permanent", "retry in", "panic", "goexit",
	"snooze", "release", "cancel"}

func (d deed) String() string { return deedNames[d] }

// verdict is what a handler has returned.
type verdict struct {
	kind  deed
	delay time.Duration // of snoozes and retriesIn
}

func (v verdict) failed() bool {
	return v.kind == fails || v.kind == permanent || v.kind == retriesIn || v.kind == panics ||
		v.kind == exits
}

func (x *run) String() string {
	switch {
	case !x.started:
		return "never started"
	case !x.ended && x.proc.over:
		return "its process is gone"
	case !x.ended && x.told:
		return fmt.Sprintf("runs since %v, told to stop (%v) at %v", x.begin, x.toldWhy, x.toldAt)
	case !x.ended:
		return fmt.Sprintf("runs since %v", x.begin)
	}
	return fmt.Sprintf("began at %v, ended with %s (told %v %v)", x.begin, x.verdict.kind, x.told,
		x.toldWhy)
}

// stopped reports whether the execution was canceled or went past its hard time-out: then it holds
// no slot.
func (c *checker) stopped(x *run) bool {
	// What was told that its epoch is over may be given up later without another word to it.
	if x.told && (errors.Is(x.toldWhy, ax.ErrCanceled) || errors.Is(x.toldWhy, ax.ErrFenced)) {
		return true
	}
	until := c.at
	if x.ended {
		until = x.endAt
	}
	return x.limit > 0 && until-x.begin >= x.limit
}

// open reports whether the execution still has the right to be the only one.
func (c *checker) open(x *run) bool {
	if !x.started || x.ended || x.proc.over {
		return false
	}
	e := c.epoch[x.epoch]
	return e != nil && !e.retired && !(x.told && c.at-x.toldAt >= c.zombieWait)
}

// assigned is told of a row that was given to an execution.
func (c *checker) assigned(p *process, r *shadow) {
	if c.runs[r.ExecutionID] != nil {
		c.fail("I6", "execution %s was claimed twice", r.ExecutionID)
	}
	x := &run{id: r.ExecutionID, task: r.ID, kind: r.Kind, overlap: r.OverlapKey, proc: p,
		epoch: r.Epoch, limit: c.policy(&r.Task).timeout, suspect: complete.Suspect(&r.Task)}
	c.single(x)
	c.runs[x.id] = x
	c.tasks[r.ID] = append(c.tasks[r.ID], x)
}

// single checks that nobody else runs the task, or one with the same overlap key.
func (c *checker) single(x *run) {
	for _, o := range c.tasks[x.task] {
		if o != x && c.open(o) {
			c.fail("I6", "execution %s of task %s, while %s still counts: %s", x.id, x.task, o.id, o)
		}
	}
	if x.overlap == "" {
		return
	}
	for _, o := range c.runs {
		if o.overlap == x.overlap && o.task != x.task && c.open(o) {
			c.fail("I17", "execution %s of task %s, while task %s with the same overlap key runs: %s",
				x.id, x.task, o.task, o)
		}
	}
}

// begun is told that a handler has started, with what it sees. It returns the execution, or nil
// if there is none.
func (c *checker) begun(p *process, t *ax.Task, now task.Time) *run {
	x := c.runs[t.ExecutionID]
	if x == nil {
		c.fail("I6", "a handler runs execution %s of task %s, which the table has never heard of",
			t.ExecutionID, t.ID)
		return nil
	}
	if x.started || x.gone || x.proc != p {
		c.fail("I6", "execution %s of task %s starts although: started %v, given up %v, assigned "+
			"to this process %v", x.id, x.task, x.started, x.gone, x.proc == p)
	}
	x.started, x.begin = true, c.at
	e := c.epoch[x.epoch]
	if e == nil || c.at > e.believed {
		c.fail("H11", "execution %s of task %s starts after the lease of its executor has ended "+
			"for its process", x.id, x.task)
	}
	r := c.rows[x.task]
	if (r.State != task.Running || r.ExecutionID != x.id) && (e == nil || !e.retired) {
		c.fail("I6", "execution %s starts, but task %s is %s under %s", x.id, r.ID, r.State,
			r.ExecutionID)
	}
	if r.RunAt > now && r.ExecutionID == x.id && !c.stepped {
		c.fail("I3", "task %s runs %v before its time by the store's clock", r.ID, r.RunAt.Sub(now))
	}
	if p.stopping && c.at-p.stopAt > startSlack {
		c.fail("D01", "execution %s starts %v after its process was told to stop", x.id,
			c.at-p.stopAt)
	}
	if t.Attempt != r.Attempt && r.ExecutionID == x.id || t.Token > c.token {
		c.fail("I6", "execution %s sees attempt %d and token %d; the row has attempt %d and %d is "+
			"installed", x.id, t.Attempt, t.Token, r.Attempt, c.token)
	}
	c.single(x)
	c.atMostOnce(x, &r.Task)
	c.alone(x)
	c.slotsHeld(p)
	return x
}

// startSlack is how long a submit that was under way may still start its task after a stop: as long
// as its caller waits, and a little.
const startSlack = 5 * time.Second

// slotsHeld checks the limits of a process and notes when they are reached: then tasks may wait.
func (c *checker) slotsHeld(p *process) {
	all, kinds := 0, map[string]int{}
	full, fullKinds := 0, map[string]int{}
	for _, x := range c.runs {
		if x.proc != p || !x.started || x.ended {
			continue
		}
		if !c.stopped(x) {
			all++
			kinds[x.kind]++
		}
		if x.limit <= 0 || c.at-x.begin <= x.limit+slotSlack {
			full++
			fullKinds[x.kind]++
		}
	}
	if all > c.slots {
		c.fail("I17", "%d handlers run at the same time in %d slots", all, c.slots)
	}
	if full >= c.slots {
		c.count("slots full")
		c.disturbed()
	}
	for k, n := range kinds {
		if limit := c.limit(k); limit > 0 && n > limit {
			c.fail("I17", "%d handlers of kind %s run at the same time, at most %d may", n, k, limit)
		}
	}
	for k, n := range fullKinds {
		if limit := c.limit(k); limit > 0 && n >= limit {
			c.kinds[k] = c.at
		}
	}
}

// slotSlack is how soon a slot that was freed by a time-out is taken again.
const slotSlack = 10 * time.Millisecond

// toldToStop is told that the context of a running handler has ended.
func (c *checker) toldToStop(x *run, why error) {
	c.slotsHeld(x.proc) // up to now it held a slot
	if !x.ended && !x.told {
		x.told, x.toldAt, x.toldWhy = true, c.at, why
	}
}

// finished is told that a handler returns.
func (c *checker) finished(x *run, v verdict) {
	c.slotsHeld(x.proc) // up to now it held a slot
	x.ended, x.endAt, x.verdict = true, c.at, v
	c.count("handler " + v.kind.String())
}

// joined is told of an executor's registration.
func (c *checker) joined(p *process, name string, id int64) {
	for _, e := range c.epoch {
		if e.name == name && e.proc != p && !e.retired {
			e.retired = true
		}
	}
	if old := c.epoch[id]; old != nil && old.proc != p {
		c.fail("I7", "epoch %d was given to two processes", id)
	}
	if c.epoch[id] == nil {
		c.epoch[id] = &epoch{proc: p, name: name}
		c.disturbed()
	}
	c.epoch[id].renewed = c.at
}

// renewed is told that a renewal was applied.
func (c *checker) renewed(id int64) {
	if e := c.epoch[id]; e != nil {
		e.renewed = c.at
		if e.retired {
			c.fail("H01", "retired epoch %d was renewed", id)
		}
	}
}

// believes is told that a process has the answer to a renewal it sent then.
func (c *checker) believes(id int64, sent time.Duration) {
	if e := c.epoch[id]; e != nil {
		e.believed = max(e.believed, sent+c.executorTTL)
	}
}

// silence is how long a leader must have seen no renewal before it declares an executor lost.
const silence = 2 * time.Second

// declaredLost is told that a leader has retired an epoch.
func (c *checker) declaredLost(id int64) {
	e := c.epoch[id]
	if e == nil || e.retired {
		return
	}
	e.retired = true
	c.count("executor lost")
	c.disturbed()
	if c.at-e.renewed < c.heartbeat+silence {
		c.fail("T02", "epoch %d was declared lost %v after its last renewal", id, c.at-e.renewed)
	}
	p := e.proc
	if at := c.sent[p]; !p.over && !p.stopping && p.still == nil && c.at-at > c.heartbeat+silence {
		c.fail("H13", "epoch %d was declared lost although nothing was wrong with its process "+
			"since %v", id, at)
	}
}

// left is told that a process has given its membership up.
func (c *checker) left(p *process, id int64) {
	e := c.epoch[id]
	if e == nil || e.retired {
		return
	}
	for _, x := range c.runs {
		if x.epoch == id && c.open(x) && !x.told {
			c.fail("D01", "epoch %d was given up while execution %s runs that was not told to stop",
				id, x.id)
		}
	}
	e.retired = true
}

// died is told that a process is gone, with its memory and its handlers.
func (c *checker) died(p *process) {
	p.over = true
	c.disturbed()
}

// running returns the executions of a process that have not ended, for the trace.
func (c *checker) running(p *process) (ids []task.ID) {
	for id, x := range c.runs {
		if x.proc == p && x.started && !x.ended {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b task.ID) int { return slices.Compare(a[:], b[:]) })
	return ids
}
