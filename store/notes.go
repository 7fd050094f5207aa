package store

import (
	"context"

	"github.com/ax-sched/ax/task"
)

// Noter is an extra of stores that keep what executions say while they run: progress, output and
// log lines. It changes no task and no state, so it needs no fence; [Pruner] deletes what belongs
// to a task together with it.
type Noter interface {
	// Note writes what executions have said, in one transaction; at most one note of each
	// execution in a call. Repeating a call changes nothing. Progress and output are kept of one
	// execution of a task: the last one, by its row, as soon as that says something, until then the
	// one with the largest id; an earlier At of the same one writes neither. Log lines are kept of
	// the last [LogExecutions] of a task: a line with the Seq 1 of another one deletes those
	// before. Notes of tasks that do not exist are dropped.
	Note(ctx context.Context, notes []Note) error
	// Notes returns what is kept of these tasks, in any order; those that said nothing are left
	// out.
	Notes(ctx context.Context, ids []task.ID) ([]task.Progress, error)
	// Logs returns a page of the log of a task, in the order of (ExecutionID, Seq).
	Logs(ctx context.Context, q LogQuery) ([]task.LogLine, error)
}

// LogExecutions is of how many executions of a task the log is kept: one that puts itself back for
// ever must not fill the database.
const LogExecutions = 20

// Note is what one execution has said since its last note.
type Note struct {
	task.Progress
	Changed   bool           // Done, Total and At are to be kept
	NewOutput bool           // and so is Output; else that of the execution stays
	Lines     []task.LogLine // of this execution: their ids are those of the note
}

// LogQuery selects lines of the log of one task.
type LogQuery struct {
	Task      task.ID
	Execution task.ID // of this execution only; zero: of all
	After     LogMark // lines behind this one; zero: from the first
	Newest    bool    // the last lines that there are instead of the first
	Limit     int     // at most so many; 0 is 100, more than 1,000 is 1,000
}

// LogMark is the place of a line in the log of a task.
type LogMark struct {
	Execution task.ID
	Seq       int64
}
