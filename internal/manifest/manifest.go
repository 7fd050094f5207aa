// Package manifest reads and writes files of jobs. A file is YAML, of which JSON is a part, and
// names its keys as the HTTP interface does; beside each key that ends with _ms there is one
// without, for durations such as 30s.
//
// There are two sorts of files. Those of `ax jobs` define jobs for handlers: each has a kind and a
// payload. Those of `ax run` say what to do in place of that: a command, a line of shell or an
// HTTP call.
//
// The package is pure: it opens no file and reads no clock. It checks what stands in a file and
// where; whether a definition can be fired is what Scheduler.PutJob decides.
package manifest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
)

// Source is the label of jobs that were made from a file: its value names the file. Labels that
// begin with "ax." belong to ax.
const Source = "ax.source"

// OfRun is the label of jobs and tasks that ax run has made: its value is the --name.
const OfRun = "ax.run"

// Options say how a file is read.
type Options struct {
	// Run reads a file of `ax run`.
	Run bool
	// Lookup finds the value of a variable for ${NAME}, which only files of `ax run` know. Nil
	// knows no variable.
	Lookup func(name string) (string, bool)
}

// File is what a file says.
type File struct {
	Source string // whose jobs these are; "" if the file does not say
	Zone   string // of cron expressions that have none; "" if the file does not say
	Jobs   []Job  // in the order of the file
	// Secrets are the values that ${NAME} stood for: nobody should print them.
	Secrets []string
}

// Job is one definition.
type Job struct {
	Line int // from 1; 0 if it comes from no file
	// Row holds what a person writes: its name, schedule, kind, payload and policies. What a store
	// keeps beside that is not set, and RetryPolicy is not either.
	Row    task.Job
	Retry  *retry.Policy
	Once   bool    // at most once: PutJob makes of it no retries, and to hold what is unknown
	Paused *bool   // nil: as it is
	Reboot bool    // fires once, when `ax run` starts, and has no other schedule
	Do     *Action // only in files of `ax run`

	lines map[string]int // of its keys
}

// FromRow makes a definition of a stored one, as it is at an instant: a pause may have ended.
func FromRow(row task.Job, now task.Time) (Job, error) {
	j := Job{Row: row}
	j.Row.RetryPolicy = ""
	if row.RetryPolicy != "" {
		j.Retry = &retry.Policy{}
		if err := json.Unmarshal([]byte(row.RetryPolicy), j.Retry); err != nil {
			return j, fmt.Errorf("job %q: retry: %w", row.Name, err)
		}
	}
	if row.Control.Paused(now) {
		paused := true
		j.Paused = &paused
	}
	return j, nil
}

// Where is the line of a field as errors name it, such as "retry.delay_ms"; the line of the job if
// the field is not there.
func (j *Job) Where(field string) int {
	for field != "" {
		for _, key := range []string{field, field + "_ms"} {
			if n := j.lines[key]; n != 0 {
				return n
			}
		}
		field = field[:max(strings.LastIndexAny(field, ".["), 0)]
	}
	return j.Line
}

// Line is a remark about one line of a file.
type Line struct {
	Number int // from 1; 0: none in particular
	Text   string
}

// Error lists everything that is wrong with a file, in the order of lines.
type Error struct{ Lines []Line }

func (e *Error) Error() string {
	s := make([]string, len(e.Lines))
	for i, l := range e.Lines {
		s[i] = fmt.Sprintf("line %d: %s", l.Number, l.Text)
	}
	return strings.Join(s, "\n")
}

// Explain turns what PutJob says of a definition into remarks about its lines.
func (j *Job) Explain(err error) []Line {
	var out []Line
	for _, e := range flatten(err) {
		var bad *task.InputError
		var policy *retry.FieldError
		at := Line{j.Line, e.Error()}
		switch {
		case errors.As(e, &policy):
			at = Line{j.Where("retry." + policy.Field), "retry." + policy.Error()}
		case errors.As(e, &bad):
			at = Line{j.Where(bad.Field), bad.Error()}
		}
		at.Text = "job " + j.Row.Name + ": " + at.Text
		out = append(out, at)
	}
	slices.SortStableFunc(out, func(a, b Line) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

// flatten takes joined errors apart, also those below one that was put round them.
func flatten(err error) (out []error) {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if many, ok := e.(interface{ Unwrap() []error }); ok {
			for _, x := range many.Unwrap() {
				out = append(out, flatten(x)...)
			}
			return out
		}
	}
	return []error{err}
}

// In puts the name of the file before each remark of an *Error, as compilers do; another error it
// leaves as it is.
func In(path string, err error) error {
	var bad *Error
	if !errors.As(err, &bad) {
		return err
	}
	s := make([]string, len(bad.Lines))
	for i, l := range bad.Lines {
		s[i] = fmt.Sprintf("%s:%d: %s", path, l.Number, l.Text)
	}
	return errors.New(strings.Join(s, "\n"))
}
