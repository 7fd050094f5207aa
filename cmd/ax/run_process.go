package main

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/command"
)

// How long a command may take to end after SIGTERM: when it is canceled or past its time-out, and
// at a stop. At a shutdown the grace has passed already,
// and the scheduler waits only a little longer than this.
const (
	killAtStop   = time.Second
	killAtCancel = 10 * time.Second
)

// commandLine is a command that a line starts.
type commandLine struct {
	args    []string // a program with its arguments; none: a line for the shell
	line    string
	input   string
	dir     string      // "" is the home of the environment
	env     [][2]string // names and values
	account *command.Account
}

func (p *commandLine) run(ctx context.Context, t *ax.Task, out io.Writer) error {
	return command.Run(ctx, p.spec(t), out)
}

// spec is the command for one task.
func (p *commandLine) spec(t *ax.Task) command.Spec {
	env := p.environment()
	s := command.Spec{Args: p.args, Shell: env["SHELL"], Line: p.line, Input: p.input, Dir: p.dir,
		As: p.account, KillAfter: killAfter}
	if s.Dir == "" {
		s.Dir = env["HOME"]
	}
	env["AX_TASK_ID"] = t.ID.String()
	env["AX_TASK_RUN"] = strconv.Itoa(t.Run)
	env["AX_TASK_JOB"] = t.Job
	env["AX_TASK_FIRE_TIME"] = t.FireTime.UTC().Format(stamp)
	for k, v := range env {
		s.Env = append(s.Env, k+"="+v)
	}
	return s
}

// environment is made from nothing, as crontab(5) says: what this process got from its parent,
// secrets perhaps, is not handed on.
func (p *commandLine) environment() map[string]string {
	env := map[string]string{"SHELL": "/bin/sh", "PATH": "/usr/bin:/bin", "HOME": p.account.Home}
	for _, v := range p.env {
		env[v[0]] = v[1]
	}
	env["LOGNAME"], env["USER"] = p.account.Name, p.account.Name
	return env
}

func killAfter(cause error) time.Duration {
	if errors.Is(cause, ax.ErrCanceled) || errors.Is(cause, ax.ErrTimeout) {
		return killAtCancel
	}
	return killAtStop
}
