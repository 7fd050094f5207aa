// Package doctor finds what an operator can act on in an installation of ax.
//
// It works in two steps. [Read] reads facts from the database, within bounds: pages of indexes,
// never the whole table. [Examine] is pure and turns facts into findings; each has a code that does
// not change, what was seen, why it matters and the command that helps.
package doctor

import "slices"

// Severity says how soon somebody must act.
type Severity string

// The severities.
const (
	// Error: work does not run, or nobody knows whether it has run.
	Error Severity = "error"
	// Warning: it will become one, or work was given up and waits for a person.
	Warning Severity = "warning"
)

// Finding is one thing to act on.
type Finding struct {
	Code     string   // the same for ever: see Codes
	Severity Severity // of this case; a code may come with both
	What     string   // what was seen, with numbers
	Why      string   // why it matters
	Do       []string // what helps, the first thing first; commands begin with "ax "
	Count    int      // how many tasks, jobs, tables and so on it is about
	IDs      []string // of tasks, at most 5, or names
}

// Codes are all that findings can have, in the order in which they are printed within a severity.
func Codes() []string {
	return slices.Clone(codes[:])
}

var codes = [...]string{
	"schema.older", "schema.newer", "schema.damaged", "schema.fault", "database.unread",
	"leader.none", "group.no_executor", "kind.unknown", "backlog.stuck", "backlog.slow",
	"job.invalid", "job.late", "job.failing", "job.skipping", "job.paused",
	"execution.overlap", "execution.orphan", "executor.expired",
	"task.held", "task.timeouts", "task.dead",
	"database.transaction", "database.unclean", "clock.offset",
}

// Report is what Examine has found.
type Report struct {
	Findings []Finding // errors first
	// Capped says what was not read to its end; the numbers in findings are then at least so large.
	Capped []string
}

// OK reports whether no finding is an Error.
func (r *Report) OK() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == Error })
}
