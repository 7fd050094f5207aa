// Package command runs one line of shell, or one program, as a process of its own, the way a cron
// daemon does: in a new session, with an environment made from nothing, as another user where that
// is asked for.
//
// Stopping it stops the whole process group. What a command left running in the background when
// its shell ended goes on, but cannot write any more.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Spec is a command and its surroundings.
type Spec struct {
	Shell string // absolute path; it gets "-c" and Line
	Line  string
	// Args, if set, is a program with its arguments, in place of a shell. A name without a slash is
	// looked for in the PATH of Env.
	Args  []string
	Input string   // standard input
	Dir   string   // working directory
	Env   []string // the whole environment, NAME=value
	As    *Account // nil: the user of this process
	// KillAfter is how long the command may take to end after SIGTERM, before SIGKILL. It depends
	// on why it is stopped: the cause of the context.
	KillAfter func(cause error) time.Duration
}

// drainWait is how long output may come after the shell has ended.
const drainWait = 500 * time.Millisecond

// ExitError says that a command ended otherwise than with status 0.
type ExitError struct {
	Status  string // "exit status 3", "signal: killed"
	Stopped error  // why it was stopped: the cause of the context; nil if it ended by itself
	Tail    string // the last lines of its output
}

func (e *ExitError) Error() string {
	s := e.Status
	if e.Stopped != nil {
		s += " (stopped: " + e.Stopped.Error() + ")"
	}
	if e.Tail != "" {
		s += ": " + e.Tail
	}
	return s
}

// Unwrap returns why it was stopped.
func (e *ExitError) Unwrap() error { return e.Stopped }

// Run starts the command and waits until it has ended; out gets its standard output and error, in
// calls that never overlap. It returns nil if the exit status is 0, an *ExitError if it is not,
// and another error if the command could not be started. When ctx ends the process group gets
// SIGTERM, and SIGKILL after Spec.KillAfter. If this process is killed, Linux sends the shell a
// SIGTERM.
func Run(ctx context.Context, s Spec, out io.Writer) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// The signal at the death of the parent is in truth one at the death of the thread that
	// started the child: this keeps it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var last tail
	cmd, err := s.cmd()
	if err == nil && s.Dir != "" {
		err = folder(s.Dir) // else the command is blamed for it
	}
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.Dir, s.Env, drainWait
	cmd.SysProcAttr = attributes(s.As)
	cmd.Stdin = strings.NewReader(s.Input)
	both := io.MultiWriter(&last, out)
	cmd.Stdout, cmd.Stderr = both, both
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	stopped := make(chan struct{})
	unused := context.AfterFunc(ctx, func() {
		defer close(stopped)
		stop(cmd.Process.Pid, s.killAfter(context.Cause(ctx)))
	})
	err = cmd.Wait()
	var cause error
	if !unused() {
		<-stopped
		cause = context.Cause(ctx)
	}
	return outcome(err, cause, last.String())
}

// folder says why a working directory cannot be one.
func folder(path string) error {
	st, err := os.Stat(path)
	if err == nil && !st.IsDir() {
		err = fmt.Errorf("%s is no folder", path)
	}
	if err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	return nil
}

func (s *Spec) cmd() (*exec.Cmd, error) {
	if len(s.Args) == 0 {
		return exec.Command(s.Shell, "-c", s.Line), nil
	}
	path := s.Args[0]
	if !strings.Contains(path, "/") {
		var err error
		if path, err = find(path, s.Env); err != nil {
			return nil, err
		}
	}
	return &exec.Cmd{Path: path, Args: s.Args}, nil
}

// find looks for a program in the PATH that it is going to have. exec.LookPath would look in that
// of this process.
func find(name string, env []string) (string, error) {
	for _, v := range env {
		dirs, ok := strings.CutPrefix(v, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(dirs) {
			path := filepath.Join(dir, name)
			if st, err := os.Stat(path); err == nil && !st.IsDir() && st.Mode()&0o111 != 0 &&
				filepath.IsAbs(path) {
				return path, nil
			}
		}
		return "", fmt.Errorf("program %q is not in the PATH %s", name, dirs)
	}
	return "", fmt.Errorf("program %q: there is no PATH; give its whole path", name)
}

func (s *Spec) killAfter(cause error) time.Duration {
	if s.KillAfter == nil {
		return 0
	}
	return s.KillAfter(cause)
}

func outcome(err, cause error, tail string) error {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil // status 0; perhaps something in the background still had the output open
	case errors.As(err, &exit):
		return &ExitError{Status: exit.ProcessState.String(), Stopped: cause, Tail: tail}
	default:
		return fmt.Errorf("wait: %w", err)
	}
}

// groupPoll is how often a group that was asked to end is looked at.
const groupPoll = 10 * time.Millisecond

// stop ends a process group: it asks, waits until nobody is left in it, and kills who is.
func stop(pid int, after time.Duration) {
	deadline := time.NewTimer(after)
	defer deadline.Stop()
	poll := time.NewTicker(groupPoll)
	defer poll.Stop()
	for alive := signalGroup(pid, syscall.SIGTERM); alive; alive = signalGroup(pid, 0) {
		select {
		case <-deadline.C:
			signalGroup(pid, syscall.SIGKILL)
			return
		case <-poll.C:
		}
	}
}
