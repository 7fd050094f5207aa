package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/show"
	"github.com/ax-sched/ax/task"
)

// actFlags are what all acts of persons take: one task by its id, or many by a filter. No variable
// stands in for them: one that was left in a shell would choose tasks, and say why.
type actFlags struct {
	dbFlag
	ID     string   `arg:"" optional:"" help:"The task's id; without it the filter chooses."`
	Reason string   `env:"-" help:"Why; it goes to the history. Required, but not by --dry-run."`
	State  []string `env:"-" placeholder:"STATE" help:"Many: those in these states."`
	Kind   string   `env:"-" help:"Many: those of this kind."`
	Key    string   `env:"-" help:"Many: those with this key."`
	Job    string   `env:"-" help:"Many: the fires of this job."`
	Since  string   `env:"-" placeholder:"TIME" help:"${act_since}"`
	Until  string   `env:"-" placeholder:"TIME" help:"${act_until}"`
	DryRun bool     `env:"-" help:"Many: only count them and show some."`
	JSON   bool     `help:"Print JSON."`
}

const manyHelp = `
JSON: the task, as in list; by a filter: matched, done, sample[] (tasks), refused[] (id, error).`

// act is a method of Scheduler that acts on one task.
type act func(s *ax.Scheduler, ctx context.Context, id ax.ID, by ax.By) error

// verb says which tasks a verb can act on.
type verb struct {
	name  string
	takes string       // the names of states, for people; no name is part of another
	usual []task.State // by filter, unless --state says otherwise
}

// states are those that the filter chooses. A state that the verb does not take is refused: a dry
// run would count what the real one then leaves as it is.
func (v verb) states(names []string) ([]task.State, error) {
	if len(names) == 0 {
		return v.usual, nil
	}
	states, err := parseStates(names)
	if err != nil {
		return nil, err
	}
	for _, s := range states {
		if !strings.Contains(v.takes, s.String()) {
			return nil, usage("--state: %s takes %s, and not %s", v.name, v.takes, s)
		}
	}
	return states, nil
}

// run acts on the task with the id, or on all that the filter finds.
func (c *actFlags) run(a *app, v verb, do act) error {
	chosen := c.Kind != "" || c.Key != "" || c.Job != "" || len(c.State) > 0
	many := chosen || c.Since != "" || c.Until != ""
	switch {
	case strings.TrimSpace(c.Reason) == "" && !c.DryRun:
		return usage("--reason is missing; say why, it goes to the history")
	case c.ID == "" && !chosen:
		return usage("give a task's id, or choose by --state, --kind, --key or --job")
	case c.ID != "" && (many || c.DryRun):
		return usage("give a task's id or a filter, not both; --dry-run is for filters")
	case many:
		states, err := v.states(c.State)
		if err != nil {
			return err
		}
		w, err := show.ParseWindow(c.Since, c.Until, time.Now())
		if err != nil {
			return &usageError{err}
		}
		f := ax.Filter{Kind: c.Kind, Key: c.Key, Job: c.Job, States: states}
		return c.with(a, func(s *ax.Scheduler) error { return c.runMany(a, s, f, w, do) })
	}
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	return c.with(a, func(s *ax.Scheduler) error { return c.runOne(a, s, id, do) })
}

func (c *actFlags) by() ax.By { return ax.By{Actor: actor(), Reason: c.Reason} }

// runOne acts on one task and prints what became of it.
func (c *actFlags) runOne(a *app, s *ax.Scheduler, id ax.ID, do act) error {
	if err := do(s, a.ctx, id, c.by()); err != nil {
		return err
	}
	t, err := s.Get(a.ctx, id)
	if err != nil {
		return err
	}
	if c.JSON {
		return show.JSON(a.out, show.Row(&t))
	}
	words := "is " + t.State.String()
	switch {
	case t.State == task.Canceled:
		words = "canceled"
	case t.CancelAsked != 0 && t.State.Live():
		words = "asked to end; it " + words
	case t.State == task.Scheduled:
		words += fmt.Sprintf(" at %s, run %d", show.Time(t.RunAt), t.Run)
	}
	_, err = fmt.Fprintf(a.out, "%s %s\n", id, words)
	return err
}

// sampleSize is how many of the tasks that a filter finds are shown.
const sampleSize = 5

// manyJSON says what an act on many tasks has done.
type manyJSON struct {
	Matched int           `json:"matched"`
	Done    int           `json:"done"`
	DryRun  bool          `json:"dry_run"`
	Sample  []show.Task   `json:"sample"`
	Refused []refusedJSON `json:"refused"`
}

type refusedJSON struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

// runMany finds all tasks first, because the act moves them out of what the filter finds, then
// acts on one after the other. What is refused stops nothing.
func (c *actFlags) runMany(a *app, s *ax.Scheduler, f ax.Filter, w show.Window, do act) error {
	out := manyJSON{DryRun: c.DryRun, Sample: []show.Task{}, Refused: []refusedJSON{}}
	var ids []ax.ID
	var sample []task.Task
	for f.Limit = 1000; ; {
		rows, err := s.List(a.ctx, f)
		if err != nil {
			return err
		}
		for i := range rows {
			if !w.Has(&rows[i]) {
				continue
			}
			ids = append(ids, rows[i].ID)
			if len(sample) < sampleSize {
				sample, out.Sample = append(sample, rows[i]), append(out.Sample, show.Row(&rows[i]))
			}
		}
		if len(rows) < f.Limit {
			break
		}
		f.Before = rows[len(rows)-1].ID
	}
	out.Matched = len(ids)
	for _, id := range ids {
		if c.DryRun || a.ctx.Err() != nil {
			break
		}
		if err := do(s, a.ctx, id, c.by()); err != nil {
			out.Refused = append(out.Refused, refusedJSON{id.String(), err.Error()})
			continue
		}
		out.Done++
	}
	if err := c.printMany(a, out, sample); err != nil {
		return err
	}
	if !c.DryRun && out.Done < out.Matched {
		return fmt.Errorf("%d of %d tasks were left as they are", out.Matched-out.Done, out.Matched)
	}
	return nil
}

func (c *actFlags) printMany(a *app, out manyJSON, sample []task.Task) error {
	if c.JSON {
		return show.JSON(a.out, out)
	}
	if c.DryRun {
		fmt.Fprintf(a.out, "%d tasks match; nothing was done\n\n", out.Matched)
		return show.Table(a.out, sample, "")
	}
	for i, r := range out.Refused {
		if i == sampleSize {
			fmt.Fprintf(a.out, "and %d more\n", len(out.Refused)-i)
			break
		}
		fmt.Fprintln(a.out, r.Error)
	}
	_, err := fmt.Fprintf(a.out, "%d of %d tasks done\n", out.Done, out.Matched)
	return err
}

// parseStates reads the names given to --state.
func parseStates(names []string) (states []task.State, err error) {
	for _, name := range names {
		s, err := task.ParseState(strings.TrimSpace(name))
		if err != nil {
			return nil, usage("--%w", err)
		}
		states = append(states, s)
	}
	return states, nil
}
