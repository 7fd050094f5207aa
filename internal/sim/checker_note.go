package sim

import (
	"reflect"
	"strings"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// noted is told of notes that the store took, with the rows of their tasks before and after (I26).
func (c *checker) noted(p *process, notes []store.Note, before, after []task.Task) {
	if !reflect.DeepEqual(before, after) {
		c.fail("I26", "notes have changed the row of a task: %v became %v", before, after)
	}
	for i := range notes {
		n := &notes[i]
		x := c.runs[n.ExecutionID]
		if x == nil || x.task != n.TaskID || x.proc != p || !x.started {
			c.fail("I26", "process %s notes what execution %s of task %s has said; it never ran there",
				p.name, n.ExecutionID, n.TaskID)
		}
	}
	c.count("note")
}

// said checks what the store has of a task's executions at the end (I26): the result is that of the
// execution which succeeded, and of handlers whose process has lived on every line is there, once.
func (c *checker) said(t *task.Task, log []task.LogLine, progress []task.Progress) {
	if t.Result != nil && string(t.Result) != t.ExecutionID.String() {
		c.fail("I26", "task %s has the result of execution %s; its last one is %s", t.ID, t.Result,
			t.ExecutionID)
	}
	r := c.rows[t.ID]
	if n := len(r.log); n > 0 && r.log[n-1].Event == task.Succeed && t.Result == nil {
		c.fail("I26", "task %s has succeeded, and the output of its handler is not its result", t.ID)
	}
	for _, p := range progress {
		if x := c.runs[p.ExecutionID]; x == nil || x.task != t.ID || x.ended && x.proc.lasted &&
			(p.Done != 2 || string(p.Output) != p.ExecutionID.String()) {
			c.fail("I26", "task %s: its execution %s has ended, and the store has %d of %d, output %q",
				t.ID, p.ExecutionID, p.Done, p.Total, p.Output)
		}
	}
	texts := map[task.ID][]string{}
	for _, l := range log {
		texts[l.ExecutionID] = append(texts[l.ExecutionID], l.Text)
	}
	for _, x := range c.tasks[t.ID] {
		got := strings.Join(texts[x.id], "; ")
		want := lineBegins + "; " + lineEnds + x.verdict.kind.String()
		if x.started && x.ended && x.proc.lasted && got != want && len(texts) < store.LogExecutions {
			c.fail("I26", "task %s: execution %s has logged %q, the store has %q", t.ID, x.id, want, got)
		}
	}
}
