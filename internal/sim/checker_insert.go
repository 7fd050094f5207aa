package sim

import (
	"cmp"

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
		case holder.State.Final() && !c.keeps(t, in) || holder.Kind != t.Kind ||
			holder.Key != t.Key || t.Key == "":
			c.fail("I11", "task %s (%s %q) is called a duplicate of %s (%s %q %s)", t.ID, t.Kind,
				t.Key, in.ID, holder.Kind, holder.Key, holder.State)
		}
		return false
	}
	if id, busy := c.keys[[2]string{t.Kind, t.Key}]; busy && t.Key != "" {
		c.fail("I11", "task %s was made although %s is alive with the same kind %s and key %q",
			t.ID, id, t.Kind, t.Key)
	}
	if t.Unique != task.UniqueLive {
		k := [2]string{t.Kind, t.Key}
		if old := c.kept[k]; old.until > in.At {
			c.fail("I11", "task %s was made although kind %s and key %q are kept for %s until %d",
				t.ID, t.Kind, t.Key, old.id, old.until)
		}
		c.count("key kept")
		c.kept[k] = keptKey{t.ID, cmp.Or(t.Unique.Until(in.At), task.MaxTime)}
	}
	r := &shadow{Task: *t, entered: c.at}
	r.Unique = task.UniqueLive // is not stored
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

// keptKey is the task that has a key for a time, whatever becomes of it.
type keptKey struct {
	id    task.ID
	until task.Time
}

// keeps reports whether t is a duplicate because its key is kept for a task that has ended.
func (c *checker) keeps(t *task.Task, in store.Inserted) bool {
	k := c.kept[[2]string{t.Kind, t.Key}]
	if t.Unique == task.UniqueLive || k.id != in.ID || k.until <= in.At {
		return false
	}
	c.count("duplicate of a task that has ended")
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
