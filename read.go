package ax

import (
	"context"
	"fmt"

	"github.com/ax-sched/ax/internal/notes"
	"github.com/ax-sched/ax/seal"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Get returns a task as its row is now, or [ErrNotFound]. What it cannot decrypt is left as it is:
// see seal.Sealed and seal.KeyID.
func (s *Scheduler) Get(ctx context.Context, id ID) (task.Task, error) {
	rows, err := s.store.Tasks(ctx, []task.ID{id})
	if err == nil && len(rows) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return task.Task{}, fmt.Errorf("get task %s: %w", id, err)
	}
	t := rows[0]
	t.Payload = s.cfg.Seal.Reveal(seal.Payload(t.Kind), t.Payload)
	t.Result = s.cfg.Seal.Reveal(seal.Result(t.Kind), t.Result)
	return t, nil
}

// Filter selects tasks to list; zero fields select all.
type Filter = store.Query

// List returns tasks without payloads and results, the newest first.
func (s *Scheduler) List(ctx context.Context, f Filter) ([]task.Task, error) {
	rows, err := s.store.List(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("list tasks: %w", err)
	}
	return rows, nil
}

// History returns every move of a task, in order and without gaps.
func (s *Scheduler) History(ctx context.Context, id ID) ([]task.Entry, error) {
	h, err := s.store.History(ctx, id)
	if err == nil && len(h) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("history of task %s: %w", id, err)
	}
	return h, nil
}

// Executions returns the attempts of a task with how each ended, the first one first; it is what
// [task.Executions] makes of the history.
func (s *Scheduler) Executions(ctx context.Context, id ID) ([]task.Execution, error) {
	h, err := s.History(ctx, id)
	return task.Executions(h), err
}

// Progress returns what the last execution of a task that called [Progress] or [Output] has said,
// while it runs and until the task is deleted. [ErrNotFound]: none has.
func (s *Scheduler) Progress(ctx context.Context, id ID) (task.Progress, error) {
	p, err := notes.Progress(ctx, s.store, id)
	if err != nil || !seal.Sealed(p.Output) {
		return p, err
	}
	t, err := s.Get(ctx, id) // an output is bound to the kind
	p.Output = s.cfg.Seal.Reveal(seal.Result(t.Kind), p.Output)
	return p, err
}

// LogFilter selects lines of the log of one task; all but Task may be left out.
type LogFilter = store.LogQuery

// Logs returns a page of what the handlers of a task have logged with [Logger], execution after
// execution, at most 100 lines unless Limit says otherwise. Lines that come later stand behind the
// last one, where After finds them, unless an execution that was given up goes on beside the next.
// The log of the last 20 executions is kept, until the task is deleted.
func (s *Scheduler) Logs(ctx context.Context, f LogFilter) ([]task.LogLine, error) {
	return notes.Logs(ctx, s.store, f)
}
