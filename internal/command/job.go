package command

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/manifest"
)

// How long a command may take to end after SIGTERM: when it is canceled or past its time-out, and
// at a stop. At a shutdown the grace has passed already,
// and the scheduler waits only a little longer than this.
const (
	killAtStop   = time.Second
	killAtCancel = 10 * time.Second
)

// Action is a command that a task starts. Its environment is made from nothing but Env.
type Action struct {
	Args    []string // a program with its arguments; none: Line is for the shell
	Line    string
	Input   string      // standard input
	Dir     string      // "" is the home of the environment
	Env     [][2]string // names and values
	Account *Account
}

// Run runs the command for one task; see the function Run.
func (p *Action) Run(ctx context.Context, t *ax.Task, out io.Writer) error {
	return Run(ctx, p.Spec(t), out)
}

// Spec is the command for one task.
func (p *Action) Spec(t *ax.Task) Spec {
	env := p.Environment()
	s := Spec{Args: p.Args, Shell: env["SHELL"], Line: p.Line, Input: p.Input, Dir: p.Dir,
		As: p.Account, KillAfter: killAfter}
	if s.Dir == "" {
		s.Dir = env["HOME"]
	}
	env["AX_TASK_ID"] = t.ID.String()
	env["AX_TASK_RUN"] = strconv.Itoa(t.Run)
	env["AX_TASK_JOB"] = t.Job
	env["AX_TASK_FIRE_TIME"] = t.FireTime.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	for k, v := range env {
		s.Env = append(s.Env, k+"="+v)
	}
	return s
}

// Environment is made from nothing, as crontab(5) says: what this process got from its parent,
// secrets perhaps, is not handed on.
func (p *Action) Environment() map[string]string {
	env := map[string]string{"SHELL": "/bin/sh", "PATH": "/usr/bin:/bin", "HOME": p.Account.Home}
	for _, v := range p.Env {
		env[v[0]] = v[1]
	}
	env["LOGNAME"], env["USER"] = p.Account.Name, p.Account.Name
	return env
}

func killAfter(cause error) time.Duration {
	if errors.Is(cause, ax.ErrCanceled) || errors.Is(cause, ax.ErrTimeout) {
		return killAtCancel
	}
	return killAtStop
}

// FromManifest makes an Action of what a file says, and names it for a reader.
func FromManifest(a *manifest.Action) (what string, p *Action, err error) {
	p = &Action{Args: a.Command, Line: a.Shell, Input: a.Input, Dir: a.Dir, Account: Own()}
	if a.User != "" {
		if p.Account, err = Lookup(a.User); err != nil {
			return "", nil, err
		}
	}
	for _, v := range a.Env {
		p.Env = append(p.Env, [2]string{v.Name, v.Value.Value})
	}
	if len(a.Command) > 0 {
		return strings.Join(a.Command, " "), p, nil
	}
	return a.Shell, p, nil
}
