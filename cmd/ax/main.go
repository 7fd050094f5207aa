// Command ax runs work when it is due: a demo, a cron daemon for crontab files, and what a person
// at a terminal needs to see and stop tasks.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/bench"
	"github.com/ax-sched/ax/internal/jobs"
)

// cli lists the commands; each is in the file of its name.
type cli struct {
	Dev     devCmd     `cmd:"" help:"Watch a scheduler at work: a demo that needs nothing."`
	Run     runCmd     `cmd:"" help:"Run crontab files, and files of jobs: the modern crond."`
	Import  importCmd  `cmd:"" help:"Turn files of other schedulers into files of jobs."`
	Cron    cronCmd    `cmd:"" help:"Ask when a cron expression fires."`
	Submit  submitCmd  `cmd:"" help:"Submit a task."`
	Tasks   tasksCmd   `cmd:"" help:"${tasks}"`
	Jobs    jobs.Cmd   `cmd:"" help:"${jobs}"`
	Bench   bench.Cmd  `cmd:"" help:"Measure this machine and database."`
	Doctor  doctorCmd  `cmd:"" help:"Find what an operator must act on."`
	Migrate migrateCmd `cmd:"" help:"Make or upgrade the tables, or see whether that is needed."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

const about = `Runs work when it is due, with its state in a database.

Exit status: 0 ok, 1 failed, 2 wrong use. Most flags can be given as environment variables: --db ` +
	`as AX_DB, --json as AX_JSON; those that choose tasks, or say what becomes of them, cannot.`

// app is what commands share.
type app struct {
	ctx      context.Context // ends at the first SIGINT or SIGTERM
	out, err io.Writer
}

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }

func execute(args []string, out, errs io.Writer) int {
	var c cli
	k, err := kong.New(&c, kong.Name("ax"), kong.Description(about), kong.DefaultEnvars("AX"),
		flagHelp(), kong.Writers(out, errs),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}))
	if err != nil {
		return fail(errs, err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := k.Parse(args)
	if err != nil {
		return fail(errs, &usageError{fmt.Errorf("%w (%s --help shows how)", err, addressed(err))})
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	parsed.BindTo(ctx, (*context.Context)(nil))
	parsed.Bind(jobsEnv(out, errs))
	parsed.Bind(&bench.Env{Open: openStore, Out: out})
	if err := parsed.Run(&app{ctx: ctx, out: out, err: errs}); err != nil {
		return fail(errs, err)
	}
	return 0
}

// addressed names the command that a line was about, as far as it could be read.
func addressed(err error) string {
	var name strings.Builder
	name.WriteString("ax")
	if p := (*kong.ParseError)(nil); errors.As(err, &p) {
		for _, n := range p.Context.Path {
			if n.Command != nil {
				name.WriteString(" " + n.Command.Name)
			}
		}
	}
	return name.String()
}

// jobsEnv is what ax jobs is given.
func jobsEnv(out, errs io.Writer) *jobs.Env {
	return &jobs.Env{In: os.Stdin, Out: out, Errors: errs, Actor: actor,
		Usage:   func(err error) error { return &usageError{err} },
		Instant: func(text string) (time.Time, error) { return instant(text, time.Now()) },
		Open: func(ctx context.Context, dsn string, create bool) (ax.Store, error) {
			db, err := dbFlag{dsn}.parse()
			switch {
			case err != nil:
				return nil, err
			case create:
				return db.open(ctx)
			}
			return db.openExisting(ctx)
		}}
}

// usageError is one that the caller has to mend: exit status 2.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// fail prints the error and returns the exit status that belongs to it.
func fail(errs io.Writer, err error) int {
	fmt.Fprintf(errs, "ax: %v\n", err)
	var wrong *usageError
	var input *ax.InputError
	if errors.As(err, &wrong) || errors.As(err, &input) {
		return 2
	}
	return 1
}
