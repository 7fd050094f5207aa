package riverload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ax-sched/ax/bench/peers/measure"
	"github.com/riverqueue/river"
)

// latency measures from the call of Insert to the start of the job. 13 ms meet every phase of a
// poll.
func (b *bench[T]) latency(ctx context.Context) error {
	var l measure.Latencies
	ran := make(chan struct{}, b.submits)
	c, err := b.client(func(j *river.Job[args]) {
		l.Add(time.Since(time.Unix(0, j.Args.Sent)))
		ran <- struct{}{}
	})
	if err != nil {
		return err
	}
	if err := c.Start(ctx); err != nil {
		return err
	}
	time.Sleep(500 * time.Millisecond) // its leader has been elected by then
	for range b.submits {
		if _, err := c.Insert(ctx, args{Sent: time.Now().UnixNano(), Pad: pad}, nil); err != nil {
			return errors.Join(err, end(ctx, c))
		}
		time.Sleep(13 * time.Millisecond)
	}
	for range b.submits {
		select {
		case <-ran:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	name := fmt.Sprintf("%s, insert to start, one every 13 ms, %s", b.tag, b.settings())
	return errors.Join(l.Print(name), end(ctx, c))
}
