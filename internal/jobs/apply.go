package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"text/tabwriter"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/manifest"
	"github.com/ax-sched/ax/internal/show"
	"github.com/ax-sched/ax/task"
)

// source is what apply and diff read.
type source struct {
	database
	File   string `name:"file" short:"f" env:"-" required:"" placeholder:"FILE" help:"${jobs_file}"`
	Source string `env:"-" placeholder:"NAME" help:"${jobs_source}"`
	Prune  bool   `env:"-" help:"${jobs_prune}"`
	Adopt  bool   `env:"-" help:"Take over jobs that a program or another source has made."`
	JSON   bool   `help:"Print JSON."`
}

const planJSON = `
JSON: source, dry_run, make, change, keep, delete (numbers), jobs[] (name, action, changes[] (key,
old, new)).`

type applyCmd struct {
	source
	DryRun bool   `env:"-" help:"Do nothing; print what would be done, as diff does."`
	Reason string `env:"-" help:"Why jobs are paused or resumed (default: the name of the file)."`
}

// Help shows an example.
func (applyCmd) Help() string {
	return `The file is YAML or JSON:

  source: shop                # whose jobs these are
  tz: Europe/Berlin           # of the cron expressions; else UTC
  jobs:
    settle:
      kind: order.settle
      schedule: {cron: "0 3 * * *"}
      payload: {region: eu}
      timeout: 30m

Keys of a job: kind, group, payload (any value, kept as JSON) or payload_text or payload_base64,
schedule {cron, tz | every | delay | at} (a text alone is cron), misfire, misfire_grace,
misfire_cap, overlap, overlap_key, priority, max_retries, retry {kind, delay, factor, cap,
jitter_pct, jitter, budget, delays}, timeout (or none), delivery, on_unknown,
max_lateness, max_lifetime, starts_at, ends_at, max_fires, jitter,
labels, owner_service, paused. Durations such as 90s or 5m; with _ms behind the key, milliseconds.

All of it is checked before anything is written. What a job does not name has its default; without
"paused" a job stays paused or not. Jobs get the label ax.source; --prune deletes those with this
source that are no longer in the file, and no others. A job that a program or another source has
made is refused without --adopt.

Example: ax jobs apply -f jobs.yaml --prune --db sqlite:ax.db
` + planJSON
}

// Run applies the file.
func (c *applyCmd) Run(ctx context.Context, e *Env) error {
	f, rows, err := c.read(ctx, e)
	if err != nil {
		return err
	}
	return c.withStore(ctx, e, !c.DryRun, func(st ax.Store) error {
		steps, err := c.plan(ctx, st, f, rows)
		if err != nil {
			return err
		}
		if !c.DryRun {
			by := ax.By{Actor: e.Actor(), Reason: c.Reason}
			if by.Reason == "" {
				by.Reason = task.CutText("so it stands in "+c.File, task.MaxName)
			}
			if err := c.perform(ctx, st, steps, by); err != nil {
				return err
			}
		}
		return c.print(e, f, steps, c.DryRun)
	})
}

type diffCmd struct {
	source
	ExitCode bool `env:"-" help:"Exit with 1 if anything differs."`
}

// Help shows an example.
func (diffCmd) Help() string {
	return `Nothing is written. The exit status is 0 also if there are differences, unless --exit-code
is given.

Example: ax jobs diff -f jobs.yaml --prune --db sqlite:ax.db
` + planJSON
}

// Run prints the differences.
func (c *diffCmd) Run(ctx context.Context, e *Env) error {
	f, rows, err := c.read(ctx, e)
	if err != nil {
		return err
	}
	return c.withStore(ctx, e, false, func(st ax.Store) error {
		steps, err := c.plan(ctx, st, f, rows)
		if err != nil {
			return err
		}
		if err := c.print(e, f, steps, true); err != nil {
			return err
		}
		if n := tell(steps); c.ExitCode && n.Make+n.Change+n.Delete > 0 {
			return fmt.Errorf("%s: %d of %d jobs differ", c.File, n.Make+n.Change+n.Delete,
				len(steps))
		}
		return nil
	})
}

// maxFile is how large a file of jobs may be.
const maxFile = 16 << 20

// read reads the file and checks all of it; that needs no database. It also returns the rows.
func (c *source) read(ctx context.Context, e *Env) (*manifest.File, []task.Job, error) {
	text, err := c.text(e)
	if err != nil {
		return nil, nil, e.Usage(err)
	}
	f, err := manifest.Parse(text, manifest.Options{})
	if err != nil {
		return nil, nil, e.Usage(manifest.In(c.File, err))
	}
	if err := f.Owner(c.Source); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.File, err)
	}
	if c.Prune && f.Source == "" {
		return nil, nil, e.usage("--prune: %s does not say whose jobs it holds; write source: NAME "+
			"into it, or give --source", c.File)
	}
	rows, err := Check(ctx, f, slog.New(slog.NewTextHandler(e.Errors, nil)))
	if err != nil {
		return nil, nil, e.Usage(manifest.In(c.File, err))
	}
	return f, rows, nil
}

// text reads the file; "-" is standard input.
func (c *source) text(e *Env) ([]byte, error) {
	in := e.In
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s: is larger than %d MiB; make several files of it", c.File, maxFile>>20)
	}
	return text, err
}

// plan compares the file with the jobs of the database.
func (c *source) plan(ctx context.Context, st ax.Store, f *manifest.File, rows []task.Job) (
	[]manifest.Step, error) {
	s, err := c.quiet(st, "")
	if err != nil {
		return nil, err
	}
	have, err := s.Jobs(ctx)
	if err = cmp.Or(err, opened(have)); err != nil {
		return nil, err
	}
	now, err := st.Now(ctx)
	if err != nil {
		return nil, err
	}
	steps, err := manifest.Plan(f, rows, have, manifest.PlanOptions{Prune: c.Prune, Adopt: c.Adopt,
		Now: now})
	return steps, manifest.In(c.File, err)
}

// perform does the steps: jobs that are to be paused are so before they change, and jobs are
// deleted last.
func (d database) perform(ctx context.Context, st ax.Store, steps []manifest.Step, by ax.By) error {
	for i := range steps {
		if err := d.performStep(ctx, st, &steps[i], by); err != nil {
			return fmt.Errorf("%w; the %d jobs before it are done, apply the file again", err, i)
		}
	}
	return nil
}

func (d database) performStep(ctx context.Context, st ax.Store, step *manifest.Step,
	by ax.By) error {
	group := ""
	if step.Job != nil {
		group = step.Job.Row.Group
	}
	s, err := d.quiet(st, group)
	if err != nil {
		return err
	}
	pause, steer := step.Pause()
	switch step.Action {
	case manifest.Delete:
		if err := s.DeleteJob(ctx, step.Name); !errors.Is(err, ax.ErrNotFound) {
			return err
		}
		return nil
	case manifest.Change:
		if steer && pause {
			err = s.PauseJob(ctx, step.Name, time.Time{}, by)
		}
		if err = errors.Join(err, s.PutJob(ctx, Spec(step.Job))); err == nil && steer && !pause {
			err = s.ResumeJob(ctx, step.Name, by)
		}
	case manifest.Make:
		if err = s.PutJob(ctx, Spec(step.Job)); err == nil && steer {
			err = s.PauseJob(ctx, step.Name, time.Time{}, by)
		}
	}
	return err
}

// stepCounts are how many steps there are of each sort.
type stepCounts struct {
	Make   int `json:"make"`
	Change int `json:"change"`
	Keep   int `json:"keep"`
	Delete int `json:"delete"`
}

func tell(steps []manifest.Step) (n stepCounts) {
	for _, s := range steps {
		*map[string]*int{manifest.Make: &n.Make, manifest.Change: &n.Change, manifest.Keep: &n.Keep,
			manifest.Delete: &n.Delete}[s.Action]++
	}
	return n
}

func (c *source) print(e *Env, f *manifest.File, steps []manifest.Step, dry bool) error {
	n := tell(steps)
	if c.JSON {
		return show.JSON(e.Out, struct {
			Source string `json:"source"`
			DryRun bool   `json:"dry_run"`
			stepCounts
			Jobs []manifest.Step `json:"jobs"`
		}{f.Source, dry, n, append([]manifest.Step{}, steps...)})
	}
	if err := printSteps(e.Out, steps); err != nil {
		return err
	}
	words := "%d made, %d changed, %d deleted, %d as they were\n"
	if dry {
		words = "%d to make, %d to change, %d to delete, %d as they are\n"
	}
	_, err := fmt.Fprintf(e.Out, words, n.Make, n.Change, n.Delete, n.Keep)
	return err
}

// printSteps prints what is not as it was, and in which keys.
func printSteps(w io.Writer, steps []manifest.Step) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range steps {
		switch s.Action {
		case manifest.Make:
			fmt.Fprintf(t, "make\t%s\t%s\n", s.Name, Describe(s.Job.Row.Schedule))
		case manifest.Delete:
			fmt.Fprintf(t, "delete\t%s\n", s.Name)
		case manifest.Change:
			verb, name := s.Action, s.Name
			for _, d := range s.Changes {
				fmt.Fprintf(t, "%s\t%s\t%s: %s -> %s\n", verb, name, d.Key,
					shown(d.Old), shown(d.New))
				verb, name = "", ""
			}
		}
	}
	return t.Flush()
}

// shown cuts a value for a line.
func shown(v manifest.Value) string {
	if v == "" {
		return "-"
	}
	return task.CutText(string(v), 100)
}
