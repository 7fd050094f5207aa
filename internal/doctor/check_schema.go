package doctor

import (
	"errors"
	"fmt"

	"github.com/ax-sched/ax/store"
)

// Unopened turns the error of a database that could not be opened into a report, if the reason is
// its schema.
func Unopened(err error) (Report, bool) {
	f := Finding{Severity: Error, Count: 1, What: err.Error()}
	switch {
	case errors.Is(err, store.ErrOlder):
		f.Code = "schema.older"
		f.Why = "programs of this version migrate it when they start; those that must not, do not start"
		f.Do = []string{"ax migrate status", "ax migrate up"}
	case errors.Is(err, store.ErrNewer):
		f.Code = "schema.newer"
		f.Why = "a newer version of ax has migrated it: programs of this version do not start any more"
		f.Do = []string{"use the newer version of ax everywhere: ax version"}
	case errors.Is(err, store.ErrDamaged):
		f.Code = "schema.damaged"
		f.Why = "it is not a database of ax, or somebody has changed its tables"
		f.Do = []string{"check that --db names the right database; else restore it from a backup"}
	default:
		return Report{}, false
	}
	return Report{Findings: []Finding{f}}, true
}

// schema: a table that is missing stops everything that needs it, an index makes it slow, and a
// unique one keeps promises.
func (e *examiner) schema() {
	var gone, odd []string
	for _, f := range e.Inspection.Faults {
		line := fmt.Sprintf("%s %s is %s", f.Object, f.Name, f.Problem)
		if f.Problem == "differs" {
			odd = append(odd, fmt.Sprintf("%s %s is not as ax makes it", f.Object, f.Name))
			continue
		}
		gone = append(gone, line)
	}
	if len(gone) > 0 {
		e.add(Finding{Code: "schema.fault", Severity: Error, Count: len(gone), IDs: gone,
			What: fmt.Sprintf("the schema has %s: %s", count(len(gone), "fault"), gone[0]),
			Why: "without an index reads of the whole table take its place, and without a unique one " +
				"two live tasks may have one key",
			Do: []string{"run the statement that this prints for it, on a busy PostgreSQL with " +
				"CREATE INDEX CONCURRENTLY, an invalid index dropped first:", "ax migrate dump"}})
	}
	if len(odd) > 0 {
		e.add(Finding{Code: "schema.fault", Severity: Warning, Count: len(odd), IDs: odd,
			What: odd[0],
			Why:  "it was changed by hand, or by another build of ax; statements may not fit it",
			Do:   []string{"compare it with what this prints:", "ax migrate dump"}})
	}
}

// database: what hurts the database itself.
func (e *examiner) database() {
	for _, t := range e.Inspection.Transactions {
		if t.Age < openWarns {
			continue
		}
		s := Warning
		if t.Age >= openFails {
			s = Error
		}
		name := t.Program
		if name == "" {
			name = "a program without a name"
		}
		e.add(Finding{Code: "database.transaction", Severity: s, Count: 1,
			IDs: []string{fmt.Sprint(t.Session)},
			What: fmt.Sprintf("a transaction of %s (session %d, %s) is open for %s", name, t.Session,
				t.State, span(t.Age)),
			Why: "no row that was replaced since then can be removed: the tables grow, and claims " +
				"get slower from minute to minute",
			Do: []string{fmt.Sprintf("end the program, or its session: "+
				"SELECT pg_terminate_backend(%d)", t.Session)}})
		return // the oldest says it
	}
	for _, t := range e.Inspection.Unclean {
		what := fmt.Sprintf("table %s has %d dead rows beside %d live ones", t.Name, t.Dead, t.Live)
		if t.Off {
			what = fmt.Sprintf("autovacuum is off for table %s (%d dead rows)", t.Name, t.Dead)
		}
		e.add(Finding{Code: "database.unclean", Severity: Warning, Count: 1, IDs: []string{t.Name},
			What: what,
			Why:  "each task leaves dead rows behind; if nobody removes them, scans get slower",
			Do: []string{fmt.Sprintf("VACUUM %s, and switch autovacuum on: ALTER TABLE %s SET "+
				"(autovacuum_enabled = true)", t.Name, t.Name)}})
	}
}
