// Command compare measures ax and its peers alternately on this machine and prints one table:
// medians, ratios, targets, and whether they are reached. Run it in bench/peers, with nothing else
// running; see bench/README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ax-sched/ax/bench/peers/measure"
)

// options are the flags.
type options struct {
	only     string
	rounds   int
	dsn      string
	dir      string
	ax       string
	markdown bool
	small    bool
}

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "groups, some of wheel,sqlite,postgres,firing (default all)")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds of what is compared; firing and idle run once")
	flag.StringVar(&o.dsn, "dsn", "", "URL of a PostgreSQL role that may create databases "+
		"(default: a private server is started)")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "folder of the databases; its disk decides")
	flag.StringVar(&o.ax, "ax", "", "a built ax (default: built from this repository)")
	flag.BoolVar(&o.markdown, "markdown", false, "print the result as Markdown")
	flag.BoolVar(&o.small, "small", false, "tiny sizes: shows that all runs, the figures mean nothing")
	measure.Main(func() error {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return o.run(ctx)
	})
}

func (o options) run(ctx context.Context) (err error) {
	z := fullSizes()
	if o.small {
		z = smallSizes()
	}
	groups, err := plan(z, o.only)
	if err != nil {
		return err
	}
	if o.rounds < 1 {
		return fmt.Errorf("-rounds: %d; use 1 or more", o.rounds)
	}
	if o.ax != "" {
		if o.ax, err = filepath.Abs(o.ax); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, wholeLimit)
	defer cancel()
	dir, err := os.MkdirTemp(o.dir, "ax-compare-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	bin, err := build(ctx, dir, o.ax)
	if err != nil {
		return err
	}
	server, err := o.server(ctx, groups)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	r := &runner{bin: bin, dir: dir, server: server, progress: os.Stderr,
		results: results{figures: map[string][]measure.Figure{}}}
	return o.measure(ctx, r, groups, z)
}

// server is nil if no group needs PostgreSQL.
func (o options) server(ctx context.Context, groups []group) (*server, error) {
	needs := func(g group) bool {
		return slices.ContainsFunc(g.steps, func(s step) bool { return s.postgres })
	}
	switch {
	case !slices.ContainsFunc(groups, needs):
		return nil, nil
	case o.dsn != "":
		return &server{dsn: o.dsn}, nil
	}
	return startServer(ctx, o.dir)
}

// measure runs the groups between two checks of the disk and prints the result.
func (o options) measure(ctx context.Context, r *runner, groups []group, z sizes) error {
	lines, err := machine(ctx, r.bin, r.dir, r.server)
	if err != nil {
		return err
	}
	check := step{name: "disk", program: "rawfsync",
		args: []string{"-dir", "{dir}", "-n", fmt.Sprint(z.writes)}}
	before, err := r.step(ctx, check)
	if err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	for _, g := range groups {
		if err := r.group(ctx, g, o.rounds); err != nil {
			r.failed("%s: %v", g.name, err) // what has been measured is shown all the same
			break
		}
	}
	after, err := r.step(context.WithoutCancel(ctx), check)
	if err != nil {
		r.failed("disk: %v", err)
	}
	lines = append(append(lines, disk(before, after)...), fmt.Sprintf("rounds: %d", o.rounds))
	if o.small {
		lines = append(lines, "sizes: small; the figures mean nothing")
	}
	if err := o.print(lines, groups, &r.results); err != nil {
		return err
	}
	if n := len(r.results.failures); n > 0 {
		return fmt.Errorf("%d measurements failed", n)
	}
	return nil
}

func (o options) print(lines []string, groups []group, res *results) error {
	for _, f := range res.failures {
		lines = append(lines, "failed: "+f)
	}
	prefix := ""
	if o.markdown {
		prefix = "- "
	}
	if _, err := fmt.Printf("%s%s\n\n", prefix, strings.Join(lines, "\n"+prefix)); err != nil {
		return err
	}
	return writeTable(os.Stdout, groups, res, o.markdown)
}
