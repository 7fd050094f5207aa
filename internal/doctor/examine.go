package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ax-sched/ax/task"
)

// The bounds from which something is a finding.
const (
	lateAfter    = time.Minute     // due for so long: somebody should have started it
	slowAfter    = 5 * time.Minute // a backlog that moves, but is so late
	recently     = 24 * time.Hour  // what is older was seen by an operator before
	pausedFor    = 24 * time.Hour
	offsetWarns  = time.Second
	offsetFails  = time.Minute
	openWarns    = 5 * time.Minute // a transaction
	openFails    = time.Hour
	failingFires = 3 // in a row, to call a job failing
	skippedFires = 10
	timeOuts     = 3
)

// Examine turns facts into findings.
func Examine(f *Facts) Report {
	e := &examiner{Facts: f}
	for _, check := range []func(){e.schema, e.unread, e.leader, e.backlog, e.executors, e.jobs,
		e.histories, e.held, e.dead, e.timeouts, e.database, e.clock} {
		check()
	}
	slices.SortStableFunc(e.found, func(a, b Finding) int {
		if a.Severity != b.Severity {
			return cmp.Compare(a.Severity, b.Severity) // "error" comes before "warning"
		}
		return cmp.Compare(slices.Index(codes[:], a.Code), slices.Index(codes[:], b.Code))
	})
	return Report{Findings: e.found, Capped: f.Capped}
}

// examiner collects the findings of one examination.
type examiner struct {
	*Facts
	found []Finding
}

func (e *examiner) add(f Finding) { e.found = append(e.found, f) }

// some returns at most five ids, the first of them.
func some(ids []task.ID) (out []string) {
	for _, id := range ids[:min(len(ids), 5)] {
		out = append(out, id.String())
	}
	return out
}

// age says how long ago something was, in a form for people.
func (e *examiner) age(at task.Time) string { return span(e.Now.Sub(at)) }

// span cuts a duration to what a person needs.
func span(d time.Duration) string {
	unit := time.Second
	switch d = d.Abs(); {
	case d < time.Second:
		unit = time.Millisecond
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d/(24*time.Hour)))
	case d >= time.Hour:
		unit = time.Minute
	}
	text := d.Round(unit).String()
	if unit == time.Minute {
		text = strings.TrimSuffix(text, "0s") // "2h3m", not "2h3m0s"
	}
	return text
}

// count writes a number with its noun.
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// most lists the most frequent values: "mail (12), pay (3) and 4 others".
func most(counts map[string]int) string {
	names := make([]string, 0, len(counts))
	for n := range counts {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	const shown = 5
	var parts []string
	for _, n := range names[:min(len(names), shown)] {
		parts = append(parts, fmt.Sprintf("%s (%d)", n, counts[n]))
	}
	text := strings.Join(parts, ", ")
	if more := len(names) - shown; more > 0 {
		text += fmt.Sprintf(" and %s", count(more, "other"))
	}
	return text
}

// unread: what the doctor could not look at may hide anything.
func (e *examiner) unread() {
	for _, err := range e.Unread {
		e.add(Finding{Code: "database.unread", Severity: Error, Count: 1,
			What: fmt.Sprintf("could not read %v", err),
			Why:  "schedulers that read the same fail in the same way, and this report has a gap",
			Do:   []string{"mend what the error names, then: ax doctor"}})
	}
}

func (e *examiner) clock() {
	by := e.Clock.By.Abs()
	if by-e.Clock.Error < offsetWarns {
		return
	}
	s := Warning
	if by-e.Clock.Error >= offsetFails {
		s = Error
	}
	side := "ahead of"
	if e.Clock.By < 0 {
		side = "behind"
	}
	e.add(Finding{Code: "clock.offset", Severity: s, Count: 1,
		What: fmt.Sprintf("the clock of the database is %s %s that of this host, give or take %s",
			span(by), side, span(e.Clock.Error)),
		Why: "what is due is decided by the database, so times that programs on this host work out " +
			"(run_at, cron fires in logs) are off by so much",
		Do: []string{"compare both hosts with a time server (chronyc tracking, timedatectl)"}})
}
