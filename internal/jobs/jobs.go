// Package jobs is `ax jobs`: files of jobs are compared with those of a database and applied to it;
// jobs are listed, paused, resumed and triggered.
package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/manifest"
	"github.com/ax-sched/ax/internal/show"
	"github.com/ax-sched/ax/seal"
	"github.com/ax-sched/ax/task"
)

// Cmd is the command with those below it.
type Cmd struct {
	Apply   applyCmd   `cmd:"" help:"Make the jobs of a file, and change those that differ."`
	Diff    diffCmd    `cmd:"" help:"Show what apply would do."`
	Export  exportCmd  `cmd:"" help:"Write a file from the jobs that there are."`
	List    listCmd    `cmd:"" help:"List jobs, with their next and latest fires."`
	Pause   pauseCmd   `cmd:"" help:"Stop the fires of jobs."`
	Resume  resumeCmd  `cmd:"" help:"Let paused jobs fire again."`
	Trigger triggerCmd `cmd:"" help:"Run a job now, beside its schedule."`
}

// Env is what the commands are given, bound by pointer.
type Env struct {
	// Open opens the database that a DSN names, "" the default one; a file that does not exist is
	// made only if create is set.
	Open func(ctx context.Context, dsn string, create bool) (ax.Store, error)
	// Usage marks an error as one that the caller has to mend: exit status 2.
	Usage func(err error) error
	// Actor names who acts.
	Actor func() string
	// Instant reads a time, or a duration from now on.
	Instant     func(text string) (time.Time, error)
	In          io.Reader
	Out, Errors io.Writer
}

func (e *Env) usage(format string, args ...any) error {
	return e.Usage(fmt.Errorf(format, args...))
}

// database is the flag of commands that work on one.
type database struct {
	DB       string `name:"db" placeholder:"DSN" help:"${db}"`
	KeysFile string `name:"keys-file" placeholder:"FILE" help:"${keys_file}"`
}

// withStore opens the database, calls use and closes it.
func (d database) withStore(ctx context.Context, e *Env, create bool,
	use func(st ax.Store) error) error {
	st, err := e.Open(ctx, d.DB, create)
	if err != nil {
		return err
	}
	return errors.Join(use(st), st.Close())
}

// quiet is a scheduler with the keys of the flag that does not log what the command prints anyway.
func (d database) quiet(st ax.Store, group string) (*ax.Scheduler, error) {
	c := ax.Config{Group: group, Logger: slog.New(slog.DiscardHandler)}
	if d.KeysFile != "" {
		var err error
		if c.Seal, err = seal.ReadFile(d.KeysFile); err != nil {
			return nil, err
		}
	}
	return ax.New(st, c)
}

// opened refuses to go on with payloads that cannot be read here: compared or put again they would
// be taken for other ones.
func opened(jobs []task.Job) error {
	for i := range jobs {
		if p := jobs[i].Payload; seal.Sealed(p) {
			id, _ := seal.KeyID(p)
			return fmt.Errorf("job %s: its payload is encrypted with key %q; give --keys-file FILE",
				jobs[i].Name, id)
		}
	}
	return nil
}

type listCmd struct {
	database
	Source string `env:"-" placeholder:"NAME" help:"Only jobs of this source."`
	JSON   bool   `help:"Print JSON."`
}

// Help shows an example.
func (listCmd) Help() string {
	return `Works while another process runs the jobs. Times are UTC. A fire that does not run, because
the one before it still did for example, is a fire too: LAST OUTCOME says so.

Example: ax jobs list --db sqlite:ax.db

JSON: items[] (name, kind, schedule, ... as in a file, paused, paused_until, paused_by,
pause_reason, next_fire, last_fire, fires, last_task {id, state, reason, error}).`
}

// Run prints all jobs.
func (c *listCmd) Run(ctx context.Context, e *Env) error {
	return c.withStore(ctx, e, false, func(st ax.Store) error {
		rows, err := c.seenJobs(ctx, st, c.Source)
		if err != nil {
			return err
		}
		if !c.JSON {
			return printJobs(e.Out, rows)
		}
		items := make([]manifest.Object, len(rows))
		for i := range rows {
			if items[i], err = rows[i].object(); err != nil {
				return err
			}
		}
		return show.JSON(e.Out, struct {
			Items []manifest.Object `json:"items"`
		}{items})
	})
}

// seenJob is a job with what becomes of it.
type seenJob struct {
	task.Job
	now    task.Time
	next   task.Time  // 0: none that time alone decides
	latest *task.Task // that of its latest fire; nil: none, or it is no longer kept
}

// seenJobs reads the jobs of a source, of all if it is "".
func (d database) seenJobs(ctx context.Context, st ax.Store, source string) ([]seenJob, error) {
	s, err := d.quiet(st, "")
	if err != nil {
		return nil, err
	}
	now, err := st.Now(ctx)
	if err != nil {
		return nil, err
	}
	jobs, err := s.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	// By name, so that two exports can be compared.
	slices.SortFunc(jobs, func(a, b task.Job) int { return strings.Compare(a.Name, b.Name) })
	var out []seenJob
	for _, j := range jobs {
		if source != "" && j.Labels[manifest.Source] != source {
			continue
		}
		x := seenJob{Job: j, now: now}
		if ts, err := s.NextFires(j, 1); err == nil && len(ts) > 0 {
			x.next = task.FromGo(ts[0])
		}
		if !j.LastTask.IsZero() {
			switch t, err := s.Get(ctx, j.LastTask); {
			case err == nil:
				x.latest = &t
			case !errors.Is(err, ax.ErrNotFound):
				return nil, err
			}
		}
		out = append(out, x)
	}
	return out, nil
}

// lastFire is the time of the latest fire that was to run. The cursor of a job is not that: it
// moves with fires that were not to run, and when a schedule begins.
func (j *seenJob) lastFire() task.Time {
	if j.latest != nil {
		return j.latest.FireTime
	}
	if j.Fires > 0 {
		return j.LastFire
	}
	return 0
}

func (j *seenJob) object() (manifest.Object, error) {
	m, err := manifest.FromRow(j.Job, j.now)
	if err != nil {
		return nil, err
	}
	paused := j.Control.Paused(j.now)
	m.Paused = &paused
	var until, by, reason, latest any
	if paused {
		until, by, reason = timeOrNil(j.PausedUntil), j.PausedBy, j.PauseReason
	}
	if t := j.latest; t != nil {
		latest = manifest.Object{{Key: "id", Value: t.ID.String()},
			{Key: "state", Value: t.State.String()}, {Key: "reason", Value: t.Reason.String()},
			{Key: "error", Value: t.Error}}
	}
	o := append(manifest.Object{{Key: "name", Value: j.Name}}, m.Show()...)
	return append(o, manifest.Object{{Key: "paused_until", Value: until},
		{Key: "paused_by", Value: by}, {Key: "pause_reason", Value: reason},
		{Key: "next_fire", Value: timeOrNil(j.next)}, {Key: "last_fire", Value: timeOrNil(j.lastFire())},
		{Key: "fires", Value: j.Fires}, {Key: "last_task", Value: latest}}...), nil
}

func timeOrNil(t task.Time) any {
	if t == 0 {
		return nil
	}
	return show.Time(t)
}

// printJobs prints one line a job.
func printJobs(w io.Writer, rows []seenJob) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "no jobs")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tKIND\tSCHEDULE\tNEXT FIRE\tLAST FIRE\tLAST OUTCOME\tPAUSED")
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.Kind, Describe(r.Schedule),
			formatTime(r.next), formatTime(r.lastFire()), r.outcome(), r.pause())
	}
	return t.Flush()
}

func (j *seenJob) outcome() string {
	switch t := j.latest; {
	case t == nil:
		return "-"
	case t.Reason != 0:
		return fmt.Sprintf("%s (%s)", t.State, t.Reason)
	default:
		return t.State.String()
	}
}

func (j *seenJob) pause() string {
	switch {
	case !j.Control.Paused(j.now):
		return "-"
	case j.PausedUntil != 0:
		return "until " + formatTime(j.PausedUntil)
	}
	return "yes"
}

// Describe says when a schedule fires.
func Describe(s task.Schedule) string {
	switch {
	case s.Every != 0:
		return "every " + manifest.Short(s.Every)
	case s.After != 0:
		return manifest.Short(s.After) + " after the last"
	case s.At != 0:
		return "once at " + s.At.Go().Format(time.RFC3339)
	case s.Zone != "":
		return s.Cron + " " + s.Zone
	}
	return s.Cron
}

type exportCmd struct {
	database
	Source string `env:"-" placeholder:"NAME" help:"Only jobs of this source, as its file."`
	JSON   bool   `help:"Print JSON, which apply reads too."`
}

// Help shows an example.
func (exportCmd) Help() string {
	return `Applying the file changes nothing. Jobs of ax run are left out: their files are elsewhere.
What the kind or the job has by default is not written.

Example: ax jobs export --db sqlite:ax.db > jobs.yaml`
}

// Run prints the file.
func (c *exportCmd) Run(ctx context.Context, e *Env) error {
	return c.withStore(ctx, e, false, func(st ax.Store) error {
		rows, err := c.seenJobs(ctx, st, c.Source)
		if err != nil {
			return err
		}
		f := &manifest.File{Source: c.Source}
		left := 0
		for i := range rows {
			if rows[i].Labels[manifest.OfRun] != "" {
				left++
				continue
			}
			if err := opened([]task.Job{rows[i].Job}); err != nil {
				return err
			}
			j, err := manifest.FromRow(rows[i].Job, rows[i].now)
			if err != nil {
				return err
			}
			if c.Source != "" {
				delete(j.Row.Labels, manifest.Source) // the file says it for all
			}
			f.Jobs = append(f.Jobs, j)
		}
		if left > 0 {
			fmt.Fprintf(e.Errors, "ax: note: left out what ax run has made: %d\n", left)
		}
		if c.JSON {
			return show.JSON(e.Out, f.Show())
		}
		text, err := manifest.Write(f)
		if err != nil {
			return err
		}
		_, err = e.Out.Write(text)
		return err
	})
}

// formatTime is a time in a table.
func formatTime(t task.Time) string { return cmp.Or(show.Time(t), "-") }
