package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ax-sched/ax"
)

// jobs makes the two jobs.
func (d *demo) jobs(ctx context.Context) error {
	return errors.Join(
		d.ax.PutJob(ctx, ax.JobSpec{Name: kindReconcile, Kind: kindReconcile,
			Schedule: ax.Every(reconcileEvery), Overlap: ax.Skip}),
		d.ax.PutJob(ctx, ax.JobSpec{Name: kindReport, Kind: kindReport,
			Schedule: ax.Cron(reportCron)}),
	)
}

// step is one thing that happens in the shop.
type step struct {
	at time.Duration
	do func(ctx context.Context) error
}

// steps are the twelve orders, every other one paid in time, and two single tasks.
func (d *demo) steps() []step {
	steps := []step{
		{d.pace.place * 3 / 2, func(ctx context.Context) error {
			_, err := d.ax.Submit(ctx, ax.NewTask{Kind: kindReceipt})
			return err
		}},
		{d.pace.place * 5 / 2, func(ctx context.Context) error {
			_, err := d.ax.Submit(ctx, ax.NewTask{Kind: kindCharge})
			return err
		}},
	}
	for i := range orderCount {
		id, at := i+1, time.Duration(i)*d.pace.place
		steps = append(steps, step{at, func(ctx context.Context) error { return d.place(ctx, id) }})
		if id%2 == 1 {
			steps = append(steps, step{at + d.pace.timeout/2, func(ctx context.Context) error {
				return d.pay(ctx, id)
			}})
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return steps
}

// script plays the steps in their time, then waits for the end.
func (d *demo) script(ctx context.Context) error {
	for _, s := range d.steps() {
		if !pause(ctx, s.at-d.tell.since()) {
			return ctx.Err()
		}
		if err := s.do(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("the shop: %w", err)
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

func (d *demo) place(ctx context.Context, id int) error {
	if err := d.orders.place(ctx, id); err != nil {
		return err
	}
	_, err := d.ax.Delay(ctx, kindClose, strconv.Itoa(id), d.pace.timeout, nil)
	if err == nil {
		d.tell.say("order "+strconv.Itoa(id), "placed; closes in %s unless paid",
			d.pace.timeout.Round(10*time.Millisecond))
	}
	return err
}

func (d *demo) pay(ctx context.Context, id int) error {
	paid, err := d.orders.pay(ctx, id)
	if err == nil && paid {
		d.tell.say("order "+strconv.Itoa(id), "paid")
	}
	return err
}

// pause waits, and reports false if ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return ctx.Err() == nil
	}
}
