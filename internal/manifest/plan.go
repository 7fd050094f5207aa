package manifest

import (
	"fmt"
	"maps"

	"github.com/ax-sched/ax/task"
)

// The steps of a plan.
const (
	Make   = "make"
	Change = "change"
	Keep   = "keep"
	Delete = "delete"
)

// Step is what applying a file does to one job.
type Step struct {
	Name    string       `json:"name"`
	Action  string       `json:"action"`
	Changes []Difference `json:"changes"`
	// Job is the definition of the file; nil with Delete.
	Job *Job `json:"-"`
}

// Pause reports whether the step changes whether the job is paused, and to what.
func (s *Step) Pause() (paused, changes bool) {
	for _, c := range s.Changes {
		if c.Key == "paused" {
			return *s.Job.Paused, true
		}
	}
	fresh := s.Action == Make && s.Job.Paused != nil && *s.Job.Paused
	return fresh, fresh
}

// Owner labels the jobs of a file with its source: that of the file, or the given one if the file
// has none. A job that names one itself keeps it. Without any source nothing is labelled.
func (f *File) Owner(source string) error {
	switch {
	case f.Source == "":
		f.Source = source
	case source != "" && source != f.Source:
		return &task.InputError{Field: "source", Reason: fmt.Sprintf("is %s in the file and %s "+
			"beside it; give one", f.Source, source)}
	}
	if f.Source == "" {
		return nil
	}
	for i := range f.Jobs {
		r := &f.Jobs[i].Row
		if r.Labels[Source] == "" {
			r.Labels = maps.Clone(r.Labels)
			if r.Labels == nil {
				r.Labels = map[string]string{}
			}
			r.Labels[Source] = f.Source
		}
	}
	return nil
}

// PlanOptions say what applying a file may do to jobs that it does not name, or that are not its.
type PlanOptions struct {
	// Prune deletes jobs that have the source of the file and are not in it.
	Prune bool
	// Adopt takes over jobs that another source has made.
	Adopt bool
	// Now tells whether a pause has ended.
	Now task.Time
}

// Plan compares a file with what is stored. rows are the definitions of the file as PutJob would
// store them, in the order of its jobs; have are the stored ones that are not deleted. The error is
// an *Error about jobs that are not the file's.
func Plan(f *File, rows, have []task.Job, opts PlanOptions) ([]Step, error) {
	stored := map[string]*task.Job{}
	for i := range have {
		stored[have[i].Name] = &have[i]
	}
	var steps []Step
	var bad []Line
	for i := range f.Jobs {
		j := &f.Jobs[i]
		old := stored[j.Row.Name]
		delete(stored, j.Row.Name)
		if old == nil {
			steps = append(steps, Step{Name: j.Row.Name, Action: Make, Job: j,
				Changes: []Difference{}})
			continue
		}
		if why := foreign(old, j.Row.Labels[Source], opts.Adopt); why != "" {
			bad = append(bad, Line{j.Line, "job " + j.Row.Name + ": " + why})
			continue
		}
		s, err := compare(j, &rows[i], old, opts.Now)
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	if len(bad) > 0 {
		return nil, &Error{Lines: bad}
	}
	if opts.Prune && f.Source != "" {
		for i := range have {
			if s := stored[have[i].Name]; s != nil && s.Labels[Source] == f.Source {
				steps = append(steps, Step{Name: s.Name, Action: Delete, Changes: []Difference{}})
			}
		}
	}
	return steps, nil
}

// foreign says why a stored job is not for this file to change, or "".
func foreign(old *task.Job, source string, adopt bool) string {
	if name := old.Labels[OfRun]; name != "" {
		return fmt.Sprintf("it belongs to ax run --name %s; take another name", name)
	}
	owner := old.Labels[Source]
	switch {
	case adopt || owner == source:
		return ""
	case owner == "":
		return "it was made by a program, or by a file without a source; take another name, or " +
			"take it over with --adopt"
	}
	return fmt.Sprintf("it belongs to the source %q; take another name, or take it over with --adopt",
		owner)
}

func compare(j *Job, row, old *task.Job, now task.Time) (Step, error) {
	before, err := FromRow(*old, now)
	if err != nil {
		return Step{}, err
	}
	after, err := FromRow(*row, now)
	if err != nil {
		return Step{}, err
	}
	after.Paused = j.Paused
	s := Step{Name: row.Name, Action: Keep, Job: j, Changes: Diff(&before, &after)}
	if len(s.Changes) > 0 {
		s.Action = Change
	}
	return s, nil
}
