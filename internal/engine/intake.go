package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/ax-sched/ax/executor"
	"github.com/ax-sched/ax/internal/plant"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// What the other goroutines of this process tell a running engine: each call is a shortcut, and
// what it says is found in the table without it, only later. All may be called at any time, also
// on a nil Engine, and are safe for concurrent use.

// leading returns the term of leadership of this process, or nil.
func (e *Engine) leading() *term {
	if e == nil || !e.open.Load() {
		return nil
	}
	return e.term.Load()
}

// Insert inserts a task that is due at once as started, if this process leads and has a free slot:
// one commit less. done is false if it has to be inserted as SCHEDULED.
func (e *Engine) Insert(ctx context.Context, row task.Task) (
	in store.Inserted, done bool, err error) {
	t := e.leading()
	if t == nil {
		return in, false, nil
	}
	start, drop, ok := t.dispatch.TryNow(&row)
	if !ok {
		return in, false, nil
	}
	ins, err := e.cfg.Store.Insert(ctx, t.dispatch.Fence(), []task.Task{row})
	if err != nil {
		drop()
		if errors.Is(err, store.ErrFenced) {
			return in, false, nil
		}
		return in, true, err
	}
	started := !ins[0].Duplicate && ins[0].Version == 1 && ins[0].State == task.Running
	if started || plant.On(plant.StartDuplicate) {
		start(ins[0])
	} else {
		drop()
	}
	return ins[0], true, nil
}

// Made says that this process has inserted rows. Runs that a person asked for go first, as in
// Moved.
func (e *Engine) Made(rows []task.Task, ins []store.Inserted) {
	t := e.leading()
	if t == nil {
		return
	}
	for i, in := range ins {
		r := &rows[i]
		switch {
		case in.Duplicate || in.State != task.Scheduled:
		case r.TriggeredAt != 0 && e.runs(r):
			t.dispatch.First(in.ID, in.RunAt, r.Kind)
		default:
			t.trigger.Add(r.Group, r.Bucket, store.Due{
				Mark: store.Mark{RunAt: in.RunAt, ID: in.ID}, Kind: r.Kind})
		}
	}
}

// Moved says that a person has moved a task: what runs here is asked to end if that is its lot, and
// what is to run now is claimed at once, before what waits in the buckets.
func (e *Engine) Moved(r *task.Task) {
	if e == nil || !e.open.Load() {
		return
	}
	// No act of a person leaves an execution running: what was held may still run here.
	e.local.Cancel(r.ExecutionID, executor.ErrCanceled)
	t := e.leading()
	if t == nil {
		return
	}
	switch {
	case r.State.Final():
		t.settled(r)
	case r.State != task.Scheduled:
	case r.TriggeredAt == r.RunAt && e.runs(r):
		t.dispatch.First(r.ID, r.RunAt, r.Kind)
		t.moved(r) // it may have been held, with its key
	default:
		t.trigger.Add(r.Group, r.Bucket, due(r))
	}
}

// runs reports whether this process is one that runs the task.
func (e *Engine) runs(t *task.Task) bool {
	return t.Group == e.cfg.Group && e.cfg.Kinds.Has(t.Kind)
}

// MadeTx says that a transaction of a caller's holds new rows, which are there when it commits.
func (e *Engine) MadeTx(ins []store.Inserted) {
	t := e.leading()
	if t == nil {
		return
	}
	for _, in := range ins {
		if !in.Duplicate {
			t.late.Expect(in.RunAt)
		}
	}
}

// JobsChanged says that a definition of a job has changed.
func (e *Engine) JobsChanged() {
	if t := e.leading(); t != nil {
		t.jobs.Wake()
	}
}

// Handled says that a handler for the kind was registered.
func (e *Engine) Handled(kind string) {
	if e == nil || !e.open.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(e.base, leaveWait)
	defer cancel()
	if err := e.putKinds(ctx); err != nil {
		e.failed("kinds")(err)
	}
	if t := e.term.Load(); t != nil {
		t.trigger.Unpark(kind)
	}
}

func (e *Engine) putKinds(ctx context.Context) error {
	ks, err := e.cfg.Kinds.Stored()
	if err != nil || len(ks) == 0 {
		return err
	}
	if err := e.cfg.Store.PutKinds(ctx, ks); err != nil {
		return fmt.Errorf("store the options of kinds: %w", err)
	}
	return nil
}
