// Package riverload drives River over any of its drivers and prints what it does.
package riverload

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
)

// Options are the flags of a program that drives River.
type Options struct {
	mode     string
	workers  int
	cooldown time.Duration
	poll     time.Duration

	callers int
	many    int
	length  time.Duration
	jobs    int
	limit   time.Duration
	submits int
	rate    int
	firing  time.Duration
}

// Flags declares the flags. Those of the fetching have River's defaults.
func Flags() *Options {
	var o Options
	flag.StringVar(&o.mode, "mode", "insert", "insert, work, latency or fire")
	flag.IntVar(&o.workers, "workers", 100, "MaxWorkers")
	flag.DurationVar(&o.cooldown, "cooldown", river.FetchCooldownDefault, "FetchCooldown")
	flag.DurationVar(&o.poll, "poll", river.FetchPollIntervalDefault, "FetchPollInterval")
	flag.IntVar(&o.callers, "callers", 32, "insert: goroutines beside a single one")
	flag.IntVar(&o.many, "many", 1000, "insert: jobs of one InsertManyFast")
	flag.DurationVar(&o.length, "for", 2*time.Second, "insert: length of each measurement")
	flag.IntVar(&o.jobs, "jobs", 100_000, "work: stored no-op jobs")
	flag.DurationVar(&o.limit, "limit", 15*time.Second, "work: longest measurement; the rate is "+
		"that of the jobs completed until then")
	flag.IntVar(&o.submits, "submits", 500, "latency: inserts, one every 13 ms")
	flag.IntVar(&o.rate, "rate", 500, "fire: jobs due a second")
	flag.DurationVar(&o.firing, "firing", 20*time.Second, "fire: for how long jobs fall due")
	return &o
}

// Run measures what -mode names on an empty, migrated database. tag begins the figures' names.
func Run[T any](ctx context.Context, o *Options, tag string, d riverdriver.Driver[T]) error {
	inserter, err := river.NewClient(d, &river.Config{Logger: silent()})
	if err != nil {
		return err
	}
	b := &bench[T]{Options: o, tag: tag, driver: d, inserter: inserter}
	modes := map[string]func(context.Context) error{
		"insert": b.insert, "work": b.work, "latency": b.latency, "fire": b.fire}
	run, ok := modes[o.mode]
	if !ok {
		return fmt.Errorf("-mode: %q; use insert, work, latency or fire", o.mode)
	}
	return run(ctx)
}

type bench[T any] struct {
	*Options
	tag      string
	driver   riverdriver.Driver[T]
	inserter *river.Client[T]
}

// args are those of a job that does nothing: a number, the time of its insert, and ballast that
// makes it as large as ax's.
type args struct {
	Number int    `json:"number"`
	Sent   int64  `json:"sent"`
	Pad    string `json:"pad"`
}

func (args) Kind() string { return "noop" }

var pad = strings.Repeat("x", 64)

type worker struct {
	river.WorkerDefaults[args]
	run func(*river.Job[args])
}

func (w *worker) Work(_ context.Context, j *river.Job[args]) error {
	w.run(j)
	return nil
}

// client makes a client that works, with the settings of the flags.
func (b *bench[T]) client(run func(*river.Job[args])) (*river.Client[T], error) {
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, &worker{run: run}); err != nil {
		return nil, err
	}
	return river.NewClient(b.driver, &river.Config{
		FetchCooldown:     b.cooldown,
		FetchPollInterval: b.poll,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: b.workers}},
		Workers:           workers,
		Logger:            silent(),
	})
}

func (b *bench[T]) settings() string {
	return fmt.Sprintf("MaxWorkers=%d FetchCooldown=%v FetchPollInterval=%v", b.workers,
		b.cooldown, b.poll)
}

// fill stores n jobs; at gives the time of each, or is nil.
func (b *bench[T]) fill(ctx context.Context, n int, at func(i int) time.Time) error {
	const most = 5000
	for first := 0; first < n; first += most {
		params := make([]river.InsertManyParams, min(most, n-first))
		for k := range params {
			params[k].Args = args{Number: first + k, Pad: pad}
			if at != nil {
				params[k].InsertOpts = &river.InsertOpts{ScheduledAt: at(first + k)}
			}
		}
		if _, err := b.inserter.InsertManyFast(ctx, params); err != nil {
			return err
		}
	}
	return nil
}

// end stops a client that may still have jobs to do: what is left is abandoned.
func end[T any](ctx context.Context, c *river.Client[T]) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err := c.StopAndCancel(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

func silent() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
