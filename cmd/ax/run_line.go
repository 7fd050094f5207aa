package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/manifest"
	"github.com/ax-sched/ax/internal/show"
	"github.com/ax-sched/ax/task"
)

// tally counts what happened.
type tally struct{ ok, failed, skipped atomic.Int64 }

func (t *tally) String() string {
	return fmt.Sprintf("%d succeeded, %d failed, %d skipped", t.ok.Load(), t.failed.Load(),
		t.skipped.Load())
}

// errChanged refuses a task whose line has left the files or runs something else now.
var errChanged = errors.New("this line is no longer in the files; nothing was run")

// find returns the line that a task names.
func (d *crond) find(payload []byte) (string, *line, error) {
	var k ticket
	if err := json.Unmarshal(payload, &k); err != nil || k.Line == "" {
		return "?", nil, errors.New("the payload names no line; nothing was run")
	}
	l := d.lines.find(k.Line)
	if l == nil || l.digest != k.Digest {
		return k.Line, nil, errChanged
	}
	return k.Line, l, nil
}

// handle runs the line that a task names.
func (d *crond) handle(ctx context.Context, t *ax.Task) error {
	name, l, err := d.find(t.Payload)
	if err != nil {
		d.tally.failed.Add(1)
		d.log.event("refused", name, t.ID, err.Error())
		return ax.Permanent(err)
	}
	d.log.event("started", name, t.ID, started(t, l))
	out := d.log.output(name, t.ID)
	began := time.Now()
	err = l.do.Run(ctx, t, out)
	out.Flush()
	took := time.Since(began).Round(time.Millisecond)
	switch {
	case err == nil:
		d.tally.ok.Add(1)
		d.log.event("succeeded", name, t.ID, "in "+took.String())
	case errors.Is(err, ax.ErrCanceled):
		d.log.event("canceled", name, t.ID, ending(took, err))
	default:
		d.tally.failed.Add(1)
		d.log.event("failed", name, t.ID, ending(took, err))
	}
	return err
}

func ending(took time.Duration, err error) string {
	return fmt.Sprintf("after %s: %s", took, show.FirstLine(err.Error()))
}

func started(t *ax.Task, l *line) string {
	s := "task " + t.ID.String()
	if t.FireCount > 1 {
		s += fmt.Sprintf(", for %d fires since %s", t.FireCount, t.FireFrom.Format(show.Stamp))
	}
	switch n := l.spec.MaxRetries; {
	case t.Attempt == 1:
	case n != nil && *n == 0:
		s += ", again: it was cut off"
	default:
		s += fmt.Sprintf(", attempt %d", t.Attempt)
	}
	return s
}

// skipPoll is how often skipped fires are looked for; nobody announces them.
const skipPoll = time.Second

// watchSkips prints the fires that were skipped because the line was still running. It looks only
// at the latest fire of each job, so its cost does not grow with the table.
func (d *crond) watchSkips(ctx context.Context) error {
	tick := time.NewTicker(skipPoll)
	defer tick.Stop()
	told := map[ax.ID]ax.ID{} // by job: the fire that needs no further look
	for first := true; ; first = false {
		jobs, err := d.ax.Jobs(ctx)
		if err == nil { // a database that is away is reported by the scheduler
			d.skips(ctx, jobs, told, first)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// skips prints what was skipped since the last look. Fires before the first look are known.
func (d *crond) skips(ctx context.Context, jobs []task.Job, told map[ax.ID]ax.ID, first bool) {
	for _, j := range jobs {
		if j.Labels[manifest.OfRun] != d.cmd.Name || j.LastTask.IsZero() || told[j.ID] == j.LastTask {
			continue
		}
		t, err := d.ax.Get(ctx, j.LastTask)
		if err != nil || !t.State.Final() {
			continue
		}
		told[j.ID] = t.ID
		if t.State != task.Skipped || first {
			continue
		}
		d.tally.skipped.Add(1)
		d.log.event("skipped", t.Job, t.ID, fmt.Sprintf("%s: the fire of %s%s", t.Reason,
			show.Time(t.FireTime), show.StandsFor(&t)))
	}
}
