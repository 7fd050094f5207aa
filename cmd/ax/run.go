package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/crontab"
	"github.com/ax-sched/ax/internal/group"
	"github.com/ax-sched/ax/internal/webcall"
	"github.com/ax-sched/ax/task"
)

type runCmd struct {
	dbFlag
	Files []string `name:"file" short:"f" required:"" sep:"none" placeholder:"FILE" help:"${run_file}"`

	System bool          `help:"${run_system}"`
	TZ     string        `name:"tz" placeholder:"ZONE" help:"${run_tz}"`
	Name   string        `default:"crontab" help:"${run_name}"`
	Grace  time.Duration `default:"10s" help:"${run_grace}"`
	For    time.Duration `placeholder:"DURATION" help:"Stop by itself after this time."`
	JSON   bool          `help:"Print events as JSON, one a line."`
}

// Help shows an example.
func (runCmd) Help() string {
	return `Lines of crontabs are those of crontab(5): five fields or @daily and so on, @reboot (once
at each start of ax run), NAME=value, CRON_TZ, % for standard input. Further: "@every 10s", and
L, W, #, H in fields. A file of jobs says more:

  jobs:
    backup:
      command: [pg_dump, -f, /srv/shop.sql, shop]     # or shell: "pg_dump shop | gzip > ..."
      env: {PGPASSWORD: "${PGPASSWORD}"}              # also input, dir, user
      schedule: {cron: "0 3 * * *", tz: Europe/Berlin}
      timeout: 1h
      max_retries: 2
    ping:
      http:                                           # url, method, headers, body
        url: https://example.com/hook
        headers: {Authorization: "Bearer ${TOKEN}"}
        body: {from: ax}
      schedule: {every: 5m}

The other keys are those of ax jobs apply; a schedule "@reboot" too. ${NAME} in env, url and headers
is a variable of ax; the values in url and headers are never printed. An HTTP call succeeds with
2xx; 408, 425, 429, 5xx and no answer are retried, after Retry-After if it is there; all else is
permanent. It has 30s and 5 retries unless it says otherwise, and an Idempotency-Key of the task
and its run. A command has no time-out and no retries unless it says otherwise.

Unlike the classic daemon a line does not start again while it still runs (the fire is SKIPPED),
each fire is a task that can be looked at, and of fires missed while ax was down the latest runs
at the start. A command that ends with a status other than 0 is DEAD and not retried. One that
was cut off, because ax was killed or its grace ran out, starts again at the next start of ax. One
that is canceled, or past its time-out, gets SIGTERM, and SIGKILL 10s later.

Commands come from the files alone; the database only names lines. Lines and jobs that left the
files are forgotten at the start and at SIGHUP, which reads the files again. Commands find
AX_TASK_ID, AX_TASK_RUN, AX_TASK_JOB and AX_TASK_FIRE_TIME in their environment, and of that of ax
nothing that env does not name.

Example: ax run -f ~/crontab --db sqlite:ax.db

JSON events: at, event (started, output, succeeded, failed, canceled, refused, skipped, note),
job, task_id, text.`
}

// The kinds of the tasks of ax run: of the lines of crontabs, and of the jobs of other files.
const (
	crontabKind = "crontab"
	commandKind = "ax.command"
	httpKind    = "ax.http"
)

// crond runs what the files say.
type crond struct {
	cmd   *runCmd
	ax    *ax.Scheduler
	log   *journal
	zone  string
	lines lines
	web   []*webcall.Client // of the lines
	tally tally
}

// hangUp closes the connections of the lines, and takes those of others that come.
func (d *crond) hangUp(next []*webcall.Client) {
	for _, c := range d.web {
		c.Close()
	}
	d.web = next
}

// Run runs until a signal or the end of --for.
func (c *runCmd) Run(a *app) (err error) {
	d, db, loaded, err := c.prepare(a)
	if err != nil {
		return err
	}
	st, err := db.open(a.ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if err := checkOwner(a.ctx, st, ownerWait); err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	d.ax, err = ax.New(st, ax.Config{Logger: logger, Grace: c.Grace, Service: c.Name})
	if err != nil {
		return err
	}
	if err := d.register(); err != nil {
		return err
	}
	d.log.say("", "%s, times in %s, database %s", loaded, d.zone, db)
	defer func() { d.hangUp(nil) }()
	if err := d.install(a.ctx, loaded); err != nil {
		return err
	}
	if err := d.reboot(a.ctx); err != nil {
		return err
	}
	return d.serve(a.ctx)
}

// prepare does what needs no database: a wrong file is refused before anything is opened.
func (c *runCmd) prepare(a *app) (*crond, database, *loaded, error) {
	d := &crond{cmd: c, log: &journal{out: a.out, json: c.JSON, now: time.Now}, zone: c.TZ}
	if d.zone == "" {
		d.zone = crontab.HostZone()
	}
	_, zoneErr := loadZone(d.zone)
	switch {
	case zoneErr != nil:
		return nil, database{}, nil, usage("--tz: %w", zoneErr)
	case c.For < 0:
		return nil, database{}, nil, usage("--for is %s; use a positive duration", c.For)
	case task.CheckName("--name", c.Name, false) != nil:
		return nil, database{}, nil, task.CheckName("--name", c.Name, false)
	}
	db, err := c.parse()
	if err != nil {
		return nil, db, nil, err
	}
	loaded, err := d.load(a.ctx)
	if err != nil {
		return nil, db, nil, &usageError{err}
	}
	return d, db, loaded, nil
}

// kind is that of a sort of lines; a --name of one's own is added to it.
func (c *runCmd) kind(sort string) string {
	if c.Name == crontabKind {
		return sort
	}
	return sort + "/" + c.Name
}

// register names the handler. A command takes as long as it takes and is not repeated, unless its
// job says otherwise; an HTTP call has the defaults of all kinds.
func (d *crond) register() error {
	var errs []error
	for _, sort := range []string{crontabKind, commandKind} {
		errs = append(errs, d.ax.Handle(d.cmd.kind(sort), d.handle, ax.Timeout(ax.NoTimeout),
			ax.MaxRetries(0)))
	}
	return errors.Join(append(errs, d.ax.Handle(d.cmd.kind(httpKind), d.handle))...)
}

func (d *crond) load(ctx context.Context) (*loaded, error) {
	return load(ctx, d.cmd.Files, loadOptions{system: d.cmd.System, zone: d.zone, kind: d.cmd.kind})
}

// serve runs the parts, and stops them: the scheduler first, because its commands still print.
func (d *crond) serve(ctx context.Context) error {
	if d.cmd.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.cmd.For)
		defer cancel()
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	scheduler, rest := group.New(ctx, "run"), group.New(ctx, "run")
	scheduler.Go("scheduler", d.ax.Run)
	rest.Go("reload", func(ctx context.Context) error { return d.reload(ctx, hup) })
	rest.Go("skipped fires", d.watchSkips)
	unused := context.AfterFunc(ctx, func() {
		d.log.say("", "stopping; commands that run get %s to end", d.cmd.Grace)
	})
	defer unused()
	err := group.Run(ctx, group.Stage{Group: scheduler}, group.Stage{Group: rest})
	d.log.say("", "stopped: %s", d.tally.String())
	return err
}

// reload reads the files again at each SIGHUP. Wrong ones change nothing.
func (d *crond) reload(ctx context.Context, hup <-chan os.Signal) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-hup:
		}
		loaded, err := d.load(ctx)
		if err != nil {
			d.log.say("", "not read again, the lines stay as they were: %v", err)
			continue
		}
		d.log.say("", "read again: %s", loaded)
		if err := d.install(ctx, loaded); err != nil && ctx.Err() == nil {
			d.log.say("", "only in part; send SIGHUP again: %v", err)
		}
	}
}
