package bench

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/group"
)

// submitCmd measures how fast durable tasks are made.
type submitCmd struct {
	target  `embed:""`
	Callers []int         `help:"Numbers of goroutines that submit one by one." default:"1,32"`
	Many    int           `help:"Tasks of one SubmitMany." default:"1000"`
	For     time.Duration `help:"Length of a run." default:"2s"`
}

func (c *submitCmd) Run(ctx context.Context, e *Env) error {
	b := e.bencher(c.target)
	st, done, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	a, err := ax.New(st, ax.Config{Logger: warnings()})
	if err != nil {
		return err
	}
	payload := make([]byte, 64)
	for _, n := range c.Callers {
		name := fmt.Sprintf("submit one by one, unique keys, %d goroutines", n)
		err := b.rate(name, "tasks/s", func() (float64, error) {
			kind := kindOf("submit")
			return c.loop(ctx, n, 1, func(i int64) error {
				_, err := a.Submit(ctx, ax.NewTask{Kind: kind, Key: strconv.FormatInt(i, 10),
					Payload: payload, Delay: time.Hour})
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	for _, keys := range []bool{false, true} {
		name := fmt.Sprintf("SubmitMany of %d, unique keys: %v", c.Many, keys)
		err := b.rate(name, "tasks/s", func() (float64, error) {
			kind := kindOf("many")
			return c.loop(ctx, 1, c.Many, func(i int64) error {
				ts := make([]ax.NewTask, c.Many)
				for k := range ts {
					ts[k] = ax.NewTask{Kind: kind, Payload: payload, Delay: time.Hour}
					if keys {
						ts[k].Key = strconv.FormatInt(i*int64(c.Many)+int64(k), 10)
					}
				}
				_, err := a.SubmitMany(ctx, ts)
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// loop calls f from n goroutines and returns tasks a second; each call makes per tasks.
func (c *submitCmd) loop(ctx context.Context, n, per int, f func(i int64) error) (float64,
	error) {
	var calls atomic.Int64
	var failed atomic.Pointer[error]
	g := group.New(ctx, "submit")
	start := time.Now()
	for range n {
		g.Spawn(func(context.Context) {
			for time.Since(start) < c.For {
				if err := f(calls.Add(1)); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	if err := g.Stop(0); err != nil { // waits: the calls use the context of the command
		return 0, err
	}
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(calls.Load()) * float64(per) / time.Since(start).Seconds(), nil
}
