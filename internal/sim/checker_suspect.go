package sim

import (
	"time"

	"github.com/ax-sched/ax/internal/complete"
)

// suspectSlack covers the steps of the store's clock.
const suspectSlack = 2 * time.Second

// alone checks that a process gives its place for suspects to one at a time, each for its time.
func (c *checker) alone(x *run) {
	if !x.suspect {
		return
	}
	c.count("suspect runs")
	for _, o := range c.runs {
		if o != x && o.suspect && o.proc == x.proc && c.open(o) &&
			c.at-o.begin < complete.SuspectTime-suspectSlack {
			c.fail("R04", "suspect %s starts beside %s: %s", x.task, o.task, o)
		}
	}
}

// condemned checks that a task which is DEAD(poison) was in the place for suspects when its
// executor died, as far as somebody can know.
func (c *checker) condemned(x *run) {
	if x == nil || !x.started || x.ended {
		return // who recovers it cannot know that
	}
	if !x.suspect {
		c.fail("R04", "task %s is condemned and was no suspect", x.task)
	}
	if e := c.epoch[x.epoch]; e != nil && e.renewed-x.begin > complete.SuspectTime+suspectSlack {
		c.fail("R04", "task %s is condemned although its executor lived for %v under it", x.task,
			e.renewed-x.begin)
	}
	for _, o := range c.runs {
		if o.suspect && o.started && o.epoch == x.epoch && o.begin > x.begin {
			c.fail("R04", "task %s is condemned although %s had its place", x.task, o.task)
		}
	}
}
