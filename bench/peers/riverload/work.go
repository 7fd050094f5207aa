package riverload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ax-sched/ax/bench/peers/measure"
	"github.com/riverqueue/river"
)

// work measures how fast stored jobs are completed. A job counts when its event says that the
// completion is in the database.
func (b *bench[T]) work(ctx context.Context) error {
	if err := b.fill(ctx, b.jobs, nil); err != nil {
		return err
	}
	c, err := b.client(func(*river.Job[args]) {})
	if err != nil {
		return err
	}
	events, cancel := c.SubscribeConfig(&river.SubscribeConfig{ChanSize: b.jobs + 1000,
		Kinds: []river.EventKind{river.EventKindJobCompleted}})
	defer cancel()
	start := time.Now()
	if err := c.Start(ctx); err != nil {
		return err
	}
	limit := time.NewTimer(b.limit)
	defer limit.Stop()
	done := 0
	for late := false; done < b.jobs && !late; {
		select {
		case <-events:
			done++
		case <-limit.C:
			late = true
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f := measure.Figure{Name: fmt.Sprintf("%s, %d stored no-op jobs, %s", b.tag, b.jobs,
		b.settings()), Unit: "jobs/s", Value: float64(done) / time.Since(start).Seconds(), Runs: 1}
	if done < b.jobs {
		f.Detail = fmt.Sprintf("%d completed in %v", done, b.limit)
	}
	return errors.Join(measure.Print(f), end(ctx, c))
}
