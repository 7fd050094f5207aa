package store

import (
	"fmt"

	"github.com/ax-sched/ax/task"
)

// CheckInsert refuses a row that the contract says is never inserted. Stores call it before they
// write, and add what their own columns cannot take.
func CheckInsert(t *task.Task) error {
	switch {
	case t.ID.IsZero():
		return &task.InputError{Field: "id", Reason: "is not set; make one with task.NewID"}
	case t.State != task.Scheduled && t.State != task.Running:
		return fmt.Errorf("%w: a task is not inserted as %s", task.ErrIllegal, t.State)
	case t.Unique < task.UniqueForever || t.Unique != task.UniqueLive && t.Key == "":
		return &task.InputError{Field: "unique", Reason: "is no scope, or there is no key"}
	case t.HoldsKey():
		return fmt.Errorf("%w: a task with an overlap key is not inserted as RUNNING",
			task.ErrIllegal)
	}
	return nil
}

// CheckFire refuses what the contract says is never fired; insert checks its task as the store
// does for an insert.
func CheckFire(f *Fire, insert func(*task.Task) error) error {
	t := f.Task
	if t.State == task.Skipped {
		t.State = task.Scheduled // what insert checks else is the same
	}
	if t.State != task.Scheduled {
		return fmt.Errorf("%w: a fire is not inserted as %s", task.ErrIllegal, t.State)
	}
	if err := insert(&t); err != nil || f.Replace == nil {
		return err
	}
	return f.Replace.Check()
}
