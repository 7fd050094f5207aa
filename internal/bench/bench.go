// Package bench is `ax bench`: what ax does on the machine and the database at hand.
package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ax-sched/ax"
)

// Cmd measures ax on the machine and database at hand. Figures are medians of --runs runs;
// compare them only with figures of the same run of the same machine.
type Cmd struct {
	Submit     submitCmd     `cmd:"" help:"Tasks made a second, one by one and in bulk."`
	Throughput throughputCmd `cmd:"" help:"Stored no-op tasks brought to SUCCEEDED a second."`
	Latency    latencyCmd    `cmd:"" help:"Submit to start, and start minus due at fixed rates."`
	Idle       idleCmd       `cmd:"" help:"What many waiting tasks cost: memory, CPU, statements."`
	Wheel      wheelCmd      `cmd:"" help:"Cost of a timer in the wheel; no database."`
}

// target is what the benchmarks that need a database share.
type target struct {
	DB   string `help:"Database; default: a new SQLite file that is deleted at the end." env:"AX_DB"`
	Runs int    `help:"Runs whose median is printed." default:"3"`
	JSON bool   `help:"Print JSON, one object a line." name:"json"`
	Dir  string `help:"Folder of the SQLite file; the disk decides the figures." default:"."`
}

// figure is one printed result.
type figure struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Min    float64 `json:"min,omitempty"`
	Max    float64 `json:"max,omitempty"`
	Runs   int     `json:"runs,omitempty"`
	Detail string  `json:"detail,omitempty"`
}

// bencher prints figures and opens databases.
type bencher struct {
	target
	env *Env
}

// Env is what the commands are given, bound by pointer.
type Env struct {
	// Open opens the database that a DSN names, and makes a file that does not exist.
	Open func(ctx context.Context, dsn string) (ax.Store, error)
	// Out takes the figures.
	Out io.Writer
}

func (e *Env) bencher(t target) *bencher { return &bencher{target: t, env: e} }

func (b *bencher) print(f figure) {
	if b.JSON {
		line, _ := json.Marshal(f) // plain numbers and strings cannot fail
		fmt.Fprintf(b.env.Out, "%s\n", line)
		return
	}
	fmt.Fprintf(b.env.Out, "%-58s %12s %-8s", f.Name, number(f.Value), f.Unit)
	if f.Runs > 1 {
		fmt.Fprintf(b.env.Out, " (min %s, max %s, n=%d)", number(f.Min), number(f.Max), f.Runs)
	}
	if f.Detail != "" {
		fmt.Fprintf(b.env.Out, " %s", f.Detail)
	}
	fmt.Fprintln(b.env.Out)
}

// number prints three digits that matter.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// rate prints the median of runs of f, each a rate.
func (b *bencher) rate(name, unit string, f func() (float64, error)) error {
	vs := make([]float64, 0, b.Runs)
	for range b.Runs {
		runtime.GC()
		v, err := f()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		vs = append(vs, v)
	}
	slices.Sort(vs)
	b.print(figure{Name: name, Unit: unit, Value: vs[len(vs)/2], Min: vs[0], Max: vs[len(vs)-1],
		Runs: len(vs)})
	return nil
}

// open makes an empty database for one measurement. A server's database is used as it is: the
// figures then include what its tables hold.
func (b *bencher) open(ctx context.Context) (ax.Store, func(), error) {
	if b.DB != "" {
		st, err := b.env.Open(ctx, b.DB)
		if err != nil {
			return nil, nil, err
		}
		return st, func() { st.Close() }, nil
	}
	dir, err := os.MkdirTemp(b.Dir, "ax-bench-")
	if err != nil {
		return nil, nil, err
	}
	st, err := b.env.Open(ctx, "sqlite:"+filepath.Join(dir, "ax.db"))
	if err != nil {
		os.RemoveAll(dir)
		return nil, nil, err
	}
	return st, func() { st.Close(); os.RemoveAll(dir) }, nil
}

// warnings logs to stderr only what spoils a figure.
func warnings() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// pause waits for d, or returns why ctx has ended.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// kindOf gives each measurement a kind of its own, so that tasks of an earlier one are not run.
func kindOf(what string) string {
	return fmt.Sprintf("bench.%s.%d", what, time.Now().UnixNano())
}

// latencies are durations to be summed up.
type latencies []time.Duration

func (l latencies) at(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	return l[min(len(l)-1, int(q*float64(len(l))))]
}

// spread prints the distribution in milliseconds: the value is the p99.
func (b *bencher) spread(name string, l latencies, detail string) {
	slices.Sort(l)
	ms := func(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/1e6) }
	words := []string{"p50 " + ms(l.at(.5)), "p90 " + ms(l.at(.9)), "p99.9 " + ms(l.at(.999)),
		"max " + ms(l.at(1)), fmt.Sprintf("n=%d", len(l))}
	if detail != "" {
		words = append(words, detail)
	}
	b.print(figure{Name: name, Unit: "ms p99", Value: float64(l.at(.99)) / 1e6,
		Detail: strings.Join(words, ", ")})
}

// median is for a handful of durations.
func median[T cmp.Ordered](vs []T) T {
	slices.Sort(vs)
	return vs[len(vs)/2]
}
