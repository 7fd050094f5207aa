package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/ax-sched/ax/bench/peers/measure"
)

// Limits: a store that hangs costs a row, not the evening.
const (
	stepLimit  = 3 * time.Minute
	groupLimit = 8 * time.Minute
	wholeLimit = 25 * time.Minute
)

// runner runs steps and collects their figures.
type runner struct {
	bin      programs
	dir      string
	server   *server // nil if no group needs it
	progress io.Writer
	results  results
}

// group runs the steps of g round by round. What fails is kept in the results.
func (r *runner) group(ctx context.Context, g group, rounds int) error {
	limited, cancel := context.WithTimeout(ctx, groupLimit)
	defer cancel()
	for round := range rounds {
		for _, s := range g.steps {
			if s.once && round > 0 {
				continue
			}
			start := time.Now()
			figures, err := r.step(limited, s)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if limited.Err() != nil {
				r.failed("%s: not all is measured: the limit of %v is reached", g.name, groupLimit)
				return nil
			}
			if err != nil {
				r.failed("%s, round %d, %s: %v", g.name, round+1, s.name, err)
			}
			r.results.figures[s.name] = append(r.results.figures[s.name], figures...)
			fmt.Fprintf(r.progress, "%s %d/%d  %s  %.1f s\n", g.name, round+1, rounds, s.name,
				time.Since(start).Seconds())
			for _, f := range figures {
				fmt.Fprintf(r.progress, "    %s  %s %s  %s\n", f.Name, short(f.Value), f.Unit, f.Detail)
			}
		}
	}
	return nil
}

func (r *runner) failed(format string, words ...any) {
	line := fmt.Sprintf(format, words...)
	r.results.failures = append(r.results.failures, line)
	fmt.Fprintln(r.progress, line)
}

// step runs one program, on a fresh database if it needs one. Figures printed before an error are
// returned with it.
func (r *runner) step(ctx context.Context, s step) (_ []measure.Figure, err error) {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	var dsn string
	if s.postgres {
		var drop func() error
		if dsn, drop, err = r.server.fresh(ctx); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, drop()) }()
	}
	known := strings.NewReplacer("{dir}", r.dir, "{schema}", r.bin.schema)
	args := make([]string, len(s.args))
	for i, a := range s.args {
		args[i] = known.Replace(a)
	}
	cmd := exec.CommandContext(ctx, r.bin.path(s.program), args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = environment(dsn)
	cmd.Dir = r.dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("ended after %v: %w", stepLimit, err)
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, lastLine(errs.String()))
	}
	figures, bad := parse(out.Bytes())
	return figures, errors.Join(err, bad)
}

// environment is that of this process without ax's variables, which would change what is
// measured, and with the database, if one is needed.
func environment(dsn string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "AX_") {
			env = append(env, kv)
		}
	}
	if dsn != "" {
		env = append(env, "AX_DB="+dsn, "BENCH_DSN="+dsn)
	}
	return env
}

// parse reads figures, one a line.
func parse(out []byte) (fs []measure.Figure, err error) {
	for line := range bytes.Lines(out) {
		var f measure.Figure
		if err := json.Unmarshal(line, &f); err != nil {
			return fs, fmt.Errorf("output %q: %w", line, err)
		}
		fs = append(fs, f)
	}
	return fs, nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
