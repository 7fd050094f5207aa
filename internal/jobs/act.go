package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/manifest"
	"github.com/ax-sched/ax/internal/show"
)

// act is what acts of persons on jobs take. No variable stands in for the names and the reason.
type act struct {
	database
	Names  []string `arg:"" name:"name" help:"Names of jobs."`
	Reason string   `env:"-" required:"" help:"Why; others see it."`
	JSON   bool     `help:"Print JSON."`
}

const actJSON = `
JSON: items[], the jobs as in list.`

// run acts on each job, whatever becomes of the others, and prints what they are now.
func (c *act) run(ctx context.Context, e *Env, do func(s *ax.Scheduler, ctx context.Context,
	name string, by ax.By) error) error {
	if strings.TrimSpace(c.Reason) == "" {
		return e.usage("--reason is empty; say why, others see it")
	}
	return c.withStore(ctx, e, false, func(st ax.Store) error {
		s, err := c.quiet(st, "")
		if err != nil {
			return err
		}
		by := ax.By{Actor: e.Actor(), Reason: c.Reason}
		done := map[string]bool{}
		var failed error
		for _, name := range c.Names {
			if err := do(s, ctx, name, by); err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			done[name] = true
		}
		return errors.Join(c.print(ctx, e, st, done), failed)
	})
}

func (c *act) print(ctx context.Context, e *Env, st ax.Store, done map[string]bool) error {
	rows, err := c.seenJobs(ctx, st, "")
	if err != nil {
		return err
	}
	items := []manifest.Object{}
	for i := range rows {
		r := &rows[i]
		if !done[r.Name] {
			continue
		}
		o, err := r.object()
		if err != nil {
			return err
		}
		items = append(items, o)
		words := "fires; next " + formatTime(r.next)
		if r.Control.Paused(r.now) {
			words = "is paused"
			if r.PausedUntil != 0 {
				words += " until " + formatTime(r.PausedUntil)
			}
		}
		if !c.JSON {
			fmt.Fprintf(e.Out, "%s %s\n", r.Name, words)
		}
	}
	if !c.JSON {
		return nil
	}
	return show.JSON(e.Out, struct {
		Items []manifest.Object `json:"items"`
	}{items})
}

type pauseCmd struct {
	act
	Until string `env:"-" placeholder:"TIME" help:"${jobs_until}"`
}

// Help shows an example.
func (pauseCmd) Help() string {
	return `Tasks of earlier fires go on. Pausing again replaces the pause.

Example: ax jobs pause settle report --until 2h --reason 'the bank is down'
` + actJSON
}

// Run pauses.
func (c *pauseCmd) Run(ctx context.Context, e *Env) error {
	var until time.Time
	if c.Until != "" {
		var err error
		if until, err = e.Instant(c.Until); err != nil {
			return fmt.Errorf("--until: %w", err)
		}
	}
	return c.run(ctx, e, func(s *ax.Scheduler, ctx context.Context, name string, by ax.By) error {
		return s.PauseJob(ctx, name, until, by)
	})
}

type resumeCmd struct{ act }

// Help shows an example.
func (resumeCmd) Help() string {
	return `The misfire policy of each job decides about the fires of the pause: by default the latest
runs at once.

Example: ax jobs resume settle report --reason 'the bank is back'
` + actJSON
}

// Run resumes.
func (c *resumeCmd) Run(ctx context.Context, e *Env) error {
	return c.run(ctx, e, (*ax.Scheduler).ResumeJob)
}

type triggerCmd struct {
	database
	Name    string  `arg:"" help:"The job's name."`
	Reason  string  `env:"-" required:"" help:"Why."`
	Key     string  `env:"-" help:"Makes a repeated call harmless: one task for each key."`
	Payload *string `env:"-" help:"Replaces that of the job, as it is."`
	JSON    bool    `help:"Print JSON."`
}

// Help shows an example.
func (triggerCmd) Help() string {
	return `Also a paused job runs. The fires of its schedule stay as they are; with overlap skip it
does not run beside one of them.

Example: ax jobs trigger settle --reason 'last night failed' --key 2030-01-31

JSON: job, task_id, state, duplicate (the key had a task already).`
}

// Run makes the task.
func (c *triggerCmd) Run(ctx context.Context, e *Env) error {
	if strings.TrimSpace(c.Reason) == "" {
		return e.usage("--reason is empty; say why")
	}
	run := ax.JobRun{Key: c.Key}
	if c.Payload != nil {
		run.Payload = []byte(*c.Payload)
	}
	return c.withStore(ctx, e, false, func(st ax.Store) error {
		s, err := c.quiet(st, "")
		if err != nil {
			return err
		}
		res, err := s.TriggerJob(ctx, c.Name, run, ax.By{Actor: e.Actor(), Reason: c.Reason})
		if err != nil {
			return err
		}
		if c.JSON {
			return show.JSON(e.Out, struct {
				Job   string `json:"job"`
				Task  string `json:"task_id"`
				State string `json:"state"`
				Again bool   `json:"duplicate"`
			}{c.Name, res.ID.String(), res.State.String(), res.Duplicate})
		}
		words := "is"
		if res.Duplicate {
			words = "was made by an earlier call; it is"
		}
		_, err = fmt.Fprintf(e.Out, "%s: task %s %s %s\n", c.Name, res.ID, words, res.State)
		return err
	})
}
