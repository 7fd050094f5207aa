package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/group"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// throughputCmd measures how fast stored tasks are claimed, run and recorded, with full history.
type throughputCmd struct {
	target `embed:""`
	Tasks  int `help:"Stored no-op tasks." short:"n" default:"100000"`
	Slots  int `help:"Slots; default as the library." default:"0"`
}

func (c *throughputCmd) Run(ctx context.Context, e *Env) error {
	b := e.bencher(c.target)
	name := fmt.Sprintf("%d stored no-op tasks to SUCCEEDED", c.Tasks)
	return b.rate(name, "tasks/s", func() (float64, error) { return c.once(ctx, b) })
}

func (c *throughputCmd) once(ctx context.Context, b *bencher) (float64, error) {
	st, done, err := b.open(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	a, err := ax.New(st, ax.Config{Slots: c.Slots, Logger: warnings()})
	if err != nil {
		return 0, err
	}
	kind := kindOf("work")
	before, err := succeeded(ctx, st)
	if err != nil {
		return 0, err
	}
	if err := fill(ctx, a, kind, c.Tasks); err != nil {
		return 0, err
	}
	var left atomic.Int64
	left.Store(int64(c.Tasks))
	ran := make(chan struct{})
	err = a.Handle(kind, func(context.Context, *ax.Task) error {
		if left.Add(-1) == 0 {
			close(ran)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	start := time.Now()
	g := background(ctx, a)
	defer g.Stop(0)
	select {
	case <-ran:
	case <-g.Failed():
		return 0, g.Err()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	for { // the last outcomes are being recorded; this question is cheap, counting is not
		live, err := st.Live(ctx, store.LiveQuery{Limit: 1})
		if err != nil {
			return 0, err
		}
		if len(live) == 0 {
			break
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return 0, err
		}
	}
	took := time.Since(start)
	after, err := succeeded(ctx, st)
	if err != nil {
		return 0, err
	}
	if after-before != int64(c.Tasks) {
		return 0, fmt.Errorf("%d of %d tasks are SUCCEEDED", after-before, c.Tasks)
	}
	return float64(c.Tasks) / took.Seconds(), nil
}

// fill stores n tasks that are due at once.
func fill(ctx context.Context, a *ax.Scheduler, kind string, n int) error {
	payload := make([]byte, 64)
	for n > 0 {
		ts := make([]ax.NewTask, min(n, 1000))
		for i := range ts {
			ts[i] = ax.NewTask{Kind: kind, Payload: payload}
		}
		if _, err := a.SubmitMany(ctx, ts); err != nil {
			return err
		}
		n -= len(ts)
	}
	return nil
}

func succeeded(ctx context.Context, st store.Reader) (int64, error) {
	m, err := st.Count(ctx, 0)
	return m[task.Succeeded], err
}

// background runs a scheduler; its Stop waits for the end, its Failed says that Run gave up.
func background(ctx context.Context, a *ax.Scheduler) *group.Group {
	g := group.New(ctx, "scheduler")
	g.Go("run", a.Run)
	return g
}
