package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/ax-sched/ax/internal/crontab"
	"github.com/ax-sched/ax/internal/jobs"
	"github.com/ax-sched/ax/internal/manifest"

	"github.com/ax-sched/ax/internal/show"
)

type importCmd struct {
	Crontab importCrontabCmd `cmd:"" help:"Print the lines of a crontab as a file of jobs."`
}

type importCrontabCmd struct {
	File   string `arg:"" help:"The crontab."`
	System bool   `help:"${run_system}"`
	TZ     string `name:"tz" env:"-" placeholder:"ZONE" help:"${import_tz}"`
	JSON   bool   `help:"Print JSON, which ax run reads too, in a file whose name ends with .json."`
}

// Help shows an example.
func (importCrontabCmd) Help() string {
	return `The file is for ax run -f, and does what ax run does with the crontab, under the same names
of jobs. Rename them as you like. What has no equal in ax is said on standard error.

Example: ax import crontab ~/crontab > ax.yaml`
}

// Run prints the file.
func (c *importCrontabCmd) Run(a *app) error {
	if c.TZ != "" {
		if _, err := loadZone(c.TZ); err != nil {
			return usage("--tz: %w", err)
		}
	}
	text, err := readFile(c.File)
	if err != nil {
		return &usageError{err}
	}
	f, err := crontab.Parse(text, crontab.Options{Name: filepath.Base(c.File),
		System: c.System || isSystem(c.File)})
	var bad *crontab.Error
	if errors.As(err, &bad) {
		return &usageError{placed(c.File, bad.Lines)}
	}
	notes := append(f.Notes, crontab.Line{Text: "a job does not start again while it still runs, " +
		"unlike under the classic cron; write overlap: allow where that is meant"})
	for _, n := range notes {
		where := c.File
		if n.Number > 0 {
			where = fmt.Sprintf("%s:%d", c.File, n.Number)
		}
		fmt.Fprintf(a.err, "ax: note: %s: %s\n", where, n.Text)
	}
	file := jobs.FromCrontab(f, c.TZ)
	if c.JSON {
		return show.JSON(a.out, file.Show())
	}
	out, err := manifest.Write(file)
	if err != nil {
		return err
	}
	_, err = a.out.Write(out)
	return err
}
