package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ax-sched/ax/internal/doctor"

	"github.com/ax-sched/ax/internal/show"
)

type doctorCmd struct {
	dbFlag
	Watch time.Duration `env:"-" default:"2s" help:"${doctor_watch}"`
	JSON  bool          `help:"Print JSON."`
}

// Help says what the findings can be.
func (doctorCmd) Help() string {
	return `Reads only, within bounds, while other processes work: nothing is made, migrated or
changed. Each finding has a code, what was seen, why it matters and what helps. Exit status 1 if
there is a finding of severity error or the database cannot be read, else 0.

Codes: ` + strings.Join(doctor.Codes(), ", ") + `.

Example: ax doctor --db sqlite:ax.db

JSON: ok, database, at, leader, executors, clock_offset_ms, findings[] (code, severity, what, why,
do[], count, ids[]), capped[] (what was not read to its end).`
}

// errFindings makes the exit status; the findings have been printed.
var errFindings = errors.New("there is something to do, see above")

// Run examines a database.
func (c *doctorCmd) Run(a *app) error {
	if c.Watch < 0 || c.Watch > time.Minute {
		return usage("--watch is %s; use 0s to 1m", c.Watch)
	}
	db, err := c.parse()
	if err != nil {
		return err
	}
	out := diagnosis{Database: db.String()}
	report, err := c.examine(a.ctx, db, &out)
	if err != nil {
		return err
	}
	out.take(report, db.flag())
	if c.JSON {
		err = show.JSON(a.out, out)
	} else {
		_, err = fmt.Fprint(a.out, out.text())
	}
	if err == nil && !out.OK {
		err = errFindings
	}
	return err
}

// examine opens the database as it is and looks at it.
func (c *doctorCmd) examine(ctx context.Context, db database, out *diagnosis) (r doctor.Report,
	err error) {
	st, err := db.openExisting(ctx)
	if err != nil {
		if r, ok := doctor.Unopened(err); ok {
			return r, nil
		}
		return r, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	facts, err := doctor.Read(ctx, st, doctor.Options{Pause: c.Watch})
	if err != nil {
		return r, err
	}
	out.At, out.Executors = facts.Now.Go().Format(show.Stamp), len(facts.Members)
	out.Offset = facts.Clock.By.Milliseconds()
	if facts.Leader.Held() {
		out.Leader = facts.Leader.Holder
	}
	return doctor.Examine(facts), nil
}

// diagnosis is what doctor prints.
type diagnosis struct {
	OK        bool          `json:"ok"`
	Database  string        `json:"database"`
	At        string        `json:"at"`
	Leader    string        `json:"leader"`
	Executors int           `json:"executors"`
	Offset    int64         `json:"clock_offset_ms"`
	Findings  []findingJSON `json:"findings"`
	Capped    []string      `json:"capped"`
}

type findingJSON struct {
	Code     string   `json:"code"`
	Severity string   `json:"severity"`
	What     string   `json:"what"`
	Why      string   `json:"why"`
	Do       []string `json:"do"`
	Count    int      `json:"count"`
	IDs      []string `json:"ids"`
}

// take adds the findings. What they say to do is completed by the database, where it is a command.
func (d *diagnosis) take(r doctor.Report, db string) {
	d.OK, d.Capped, d.Findings = r.OK(), append([]string{}, r.Capped...), []findingJSON{}
	for _, f := range r.Findings {
		out := findingJSON{f.Code, string(f.Severity), f.What, f.Why, nil, f.Count,
			append([]string{}, f.IDs...)}
		for _, do := range f.Do {
			if strings.HasPrefix(do, "ax ") {
				do += db
			}
			out.Do = append(out.Do, do)
		}
		d.Findings = append(d.Findings, out)
	}
}

// flag is what a command needs to work on the same database; a password is not repeated.
func (d database) flag() string {
	if d.unnamed || d.path == "" && d.String() != d.url {
		return ""
	}
	if strings.ContainsAny(d.String(), " '\"$&;?*") {
		return " --db '" + d.String() + "'"
	}
	return " --db " + d.String()
}

// text is the report for a person.
func (d *diagnosis) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", d.Database)
	if d.At != "" {
		leader := "nobody leads"
		if d.Leader != "" {
			leader = d.Leader + " leads"
		}
		fmt.Fprintf(&b, " at %s: %s, executors: %d", d.At, leader, d.Executors)
	}
	b.WriteString("\n")
	errs := 0
	for _, f := range d.Findings {
		if f.Severity == string(doctor.Error) {
			errs++
		}
		fmt.Fprintf(&b, "\n%-7s  %s\n  %s\n  why: %s\n", strings.ToUpper(f.Severity), f.Code,
			f.What, f.Why)
		for _, do := range f.Do {
			fmt.Fprintf(&b, "  do:  %s\n", do)
		}
		if f.Count > 1 && len(f.IDs) > 1 {
			fmt.Fprintf(&b, "  see: %s\n", strings.Join(f.IDs, ", "))
		}
	}
	for _, c := range d.Capped {
		fmt.Fprintf(&b, "\nnote: %s\n", c)
	}
	if len(d.Findings) == 0 {
		b.WriteString("\nnothing to do\n")
	} else {
		fmt.Fprintf(&b, "\nfindings: %d, errors: %d\n", len(d.Findings), errs)
	}
	return b.String()
}
