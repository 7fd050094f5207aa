package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain builds the program once; what it is told to do is then done by real processes.
func TestMain(m *testing.M) {
	code, err := testMain(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func testMain(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "ax-cmd-test-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "AX_") && name != "AX_GOLDEN" &&
			!strings.HasPrefix(name, "AX_TEST_") {
			os.Unsetenv(name) // flags of the program must come from the tests alone
		}
	}
	folder = dir
	out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "ax"), ".").CombinedOutput()
	if err != nil {
		return 1, fmt.Errorf("build: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// folder holds the program, and what it leaves in the temporary folder.
var folder string

func axCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(folder, "ax"), args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+folder, "LC_ALL=C")
	return cmd
}

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

// result is what a finished process leaves.
type result struct {
	out, errs string
	code      int
}

// runAx runs the program to its end.
func runAx(t *testing.T, dir string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := axCommand(ctx, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("ax %q: %v", args, err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// process is ax while it runs.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string // of standard output
	errs  bytes.Buffer
	seen  []string
}

// start starts the program; it is killed at the end of the test if it still runs.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: axCommand(context.Background(), args...),
		lines: make(chan string, 10_000)}
	p.cmd.Stderr = &p.errs
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-read
		_ = p.cmd.Wait()
	})
	return p
}

// await reads lines until one holds all the words, and returns it.
func (p *process) await(words ...string) string {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("ax ended before a line with %q:\n%s", words, p.transcript())
			}
			p.seen = append(p.seen, line)
			if containsAll(line, words) {
				return line
			}
		case <-deadline:
			p.t.Fatalf("no line with %q:\n%s", words, p.transcript())
		}
	}
}

func containsAll(s string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

func (p *process) transcript() string { return strings.Join(p.seen, "\n") }

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait reads to the end and returns the exit status, -1 if a signal ended the process.
func (p *process) wait() int {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				_ = p.cmd.Wait() // the status tells
				return p.cmd.ProcessState.ExitCode()
			}
			p.seen = append(p.seen, line)
		case <-deadline:
			p.t.Fatalf("ax does not end:\n%s", p.transcript())
		}
	}
}
