package command

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sh is a command of the shell with a usual environment.
func sh(t *testing.T, line string) Spec {
	t.Helper()
	return Spec{Shell: "/bin/sh", Line: line, Dir: t.TempDir(),
		Env: []string{"PATH=/usr/bin:/bin"}}
}

func run(t *testing.T, s Spec) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := Run(t.Context(), s, &out)
	return out.String(), err
}

func TestOutputAndInput(t *testing.T) {
	s := sh(t, "cat; echo err >&2; echo out; pwd; echo $X; env | grep -c ^AX_TEST_SECRET")
	t.Setenv("AX_TEST_SECRET", "1")
	s.Input, s.Env = "in\n", append(s.Env, "X=a b")
	out, err := run(t, s)
	want := "in\nerr\nout\n" + s.Dir + "\na b\n0\n"
	var exit *ExitError // of grep, which counts nothing
	if out != want || !errors.As(err, &exit) || exit.Status != "exit status 1" {
		t.Errorf("output %q, error %v; want %q, exit status 1", out, err, want)
	}
}

func TestSuccess(t *testing.T) {
	if out, err := run(t, sh(t, "echo a")); out != "a\n" || err != nil {
		t.Errorf("output %q, error %v", out, err)
	}
}

func TestFailureShowsTheTail(t *testing.T) {
	_, err := run(t, sh(t, "echo why; exit 3"))
	if err == nil || err.Error() != "exit status 3: why" {
		t.Errorf("error %v", err)
	}
	_, err = run(t, sh(t, "i=0; while [ $i -lt 1000 ]; do echo line $i; i=$((i+1)); done; exit 4"))
	if err == nil || len(err.Error()) > tailBytes+50 || !strings.HasSuffix(err.Error(), "line 999") ||
		!strings.HasPrefix(err.Error(), "exit status 4: ... line ") {
		t.Errorf("error %v", err)
	}
	_, err = run(t, sh(t, "kill -9 $$"))
	if err == nil || err.Error() != "signal: killed" {
		t.Errorf("error %v", err)
	}
}

func TestCannotStart(t *testing.T) {
	s := sh(t, "true")
	s.Shell = "/no/such/shell"
	_, err := run(t, s)
	if !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "start: ") {
		t.Errorf("error %v", err)
	}
	s = sh(t, "true")
	s.Dir = filepath.Join(s.Dir, "gone")
	if _, err := run(t, s); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestEndedContextStartsNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	var out bytes.Buffer
	if err := Run(ctx, sh(t, "echo a"), &out); !errors.Is(err, why) || out.Len() > 0 {
		t.Errorf("error %v, output %q", err, out.String())
	}
}

// started runs a command that prints "ready" and the id of a process, and waits for both.
func started(t *testing.T, s Spec) (pid int, stop context.CancelCauseFunc, result <-chan error) {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := Run(ctx, s, w)
		w.Close()
		done <- err
	}()
	lines := bufio.NewReader(r)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("%q: %v, %v", line, err, <-done)
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "ready "))); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, lines)
	return pid, stop, done
}

var errStop = errors.New("enough")

// TestStopAsksTheWholeGroup: a child of the shell ends too, before its time.
func TestStopAsksTheWholeGroup(t *testing.T) {
	s := sh(t, `sleep 600 & echo ready $!; wait`)
	s.KillAfter = func(cause error) time.Duration {
		if !errors.Is(cause, errStop) {
			t.Errorf("cause %v", cause)
		}
		return time.Hour
	}
	pid, stop, done := started(t, s)
	stop(errStop)
	err := <-done
	var exit *ExitError
	if !errors.As(err, &exit) || !errors.Is(err, errStop) || exit.Status != "signal: terminated" {
		t.Errorf("error %v", err)
	}
	gone(t, pid)
}

// TestKill: who ignores SIGTERM gets SIGKILL, with its children.
func TestKill(t *testing.T) {
	s := sh(t, `trap '' TERM; sleep 600 & echo ready $!; while :; do wait; done`)
	s.KillAfter = func(error) time.Duration { return 50 * time.Millisecond }
	pid, stop, done := started(t, s)
	stop(errStop)
	err := <-done
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Status != "signal: killed" {
		t.Errorf("error %v", err)
	}
	gone(t, pid)
}

// TestTidyEnd: a command that ends well when asked has succeeded.
func TestTidyEnd(t *testing.T) {
	s := sh(t, `trap 'exit 0' TERM; echo ready $$; while :; do sleep 0.01; done`)
	s.KillAfter = func(error) time.Duration { return time.Hour }
	_, stop, done := started(t, s)
	stop(errStop)
	if err := <-done; err != nil {
		t.Errorf("error %v", err)
	}
}

// TestBackground: what a command leaves behind does not keep it running.
func TestBackground(t *testing.T) {
	s := sh(t, `sleep 600 & echo $!`)
	out, err := run(t, s)
	if err != nil {
		t.Errorf("error %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the process in the background is gone: %v", err)
	}
}

// gone waits until a process no longer exists; a zombie is gone.
func gone(t *testing.T, pid int) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("process %d still exists: %s", pid, stat)
		}
	}
}
