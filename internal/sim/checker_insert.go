package sim

import (
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// inserted is told of an Insert that the store took.
func (c *checker) inserted(p *process, f store.Fence, ts []task.Task, res []store.Inserted) {
	c.fenced(f, "insert")
	for i := range ts {
		t := ts[i]
		if t.State == task.Running && f == (store.Fence{}) {
			c.fail("I7", "task %s was inserted as RUNNING without a fence", t.ID)
		}
		event := task.Submit
		if t.State == task.Running {
			event = task.SubmitClaimed
		}
		if c.insertOne(&t, event, res[i]) && t.State == task.Running {
			c.assigned(p, c.rows[t.ID])
		}
	}
}

// insertOne compares one answer with the table and reports whether a row was made.
func (c *checker) insertOne(t *task.Task, event task.Event, in store.Inserted) bool {
	if old := c.rows[t.ID]; old != nil {
		c.count("insert repeated")
		if in.Duplicate || in.ID != t.ID || in.Version != old.Version {
			c.fail("I10", "repeating the insert of %s answered %+v, it has version %d",
				t.ID, in, old.Version)
		}
		return false
	}
	if in.Duplicate {
		c.count("insert duplicate")
		holder := c.rows[in.ID]
		switch {
		case holder == nil:
			c.fail("I11", "task %s is called a duplicate of %s, which does not exist", t.ID, in.ID)
		case holder.State.Final() || holder.Kind != t.Kind || holder.Key != t.Key || t.Key == "":
			c.fail("I11", "task %s (%s %q) is called a duplicate of %s (%s %q %s)", t.ID, t.Kind,
				t.Key, in.ID, holder.Kind, holder.Key, holder.State)
		}
		return false
	}
	if id, busy := c.keys[[2]string{t.Kind, t.Key}]; busy && t.Key != "" {
		c.fail("I11", "task %s was made although %s is alive with the same kind %s and key %q",
			t.ID, id, t.Kind, t.Key)
	}
	r := &shadow{Task: *t, entered: c.at}
	r.Resolve(in.At)
	if r.FireTime == task.StoreNow {
		r.FireTime = r.RunAt
	}
	r.Version = 0
	c.count(event.String())
	r.record(in.At, task.Move{Event: event, From: task.None, To: r.State,
		Reason: r.Reason})
	c.rows[r.ID] = r
	c.place(r, true)
	if in.Version != 1 || in.State != r.State || in.RunAt != r.RunAt {
		c.fail("I10", "inserting %s answered %+v, want version 1, %s, run_at %d", t.ID, in,
			r.State, r.RunAt)
	}
	return true
}

// ack is told of a submit that the caller saw succeed.
func (c *checker) ack(id task.ID) {
	if c.rows[id] == nil {
		c.fail("I10", "a submit was acknowledged with task %s, which is not in the table", id)
	}
	c.acked[id] = true
}

// ackCancel is told of a cancel that the caller saw succeed.
func (c *checker) ackCancel(id task.ID) { c.ended[id] = true }
