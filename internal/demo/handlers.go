package demo

import (
	"context"
	"errors"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/retry"
)

// The kinds and jobs of the demo.
const (
	kindClose     = "demo.order.close"
	kindReconcile = "demo.reconcile"
	kindReport    = "demo.report"
	kindReceipt   = "demo.receipt"
	kindCharge    = "demo.charge"
)

const (
	reconcileEvery = 2 * time.Second
	reconcileTakes = 3 * time.Second
	reportCron     = "*/5 * * * * *" // seconds first
	orderCount     = 12
)

// pace fits the demo into its time.
type pace struct {
	place   time.Duration // between two orders
	timeout time.Duration // of an order
	retry   time.Duration // of the receipt
}

func paceFor(total time.Duration) pace {
	p := pace{place: 400 * time.Millisecond, timeout: 4 * time.Second, retry: time.Second}
	if total > 0 {
		p.place = min(p.place, total/30)
		p.timeout = min(p.timeout, total/5)
		p.retry = min(p.retry, total/10)
	}
	return p
}

func (p pace) retryPolicy() retry.Policy {
	return retry.Policy{Kind: retry.Fixed, DelayMS: p.retry.Milliseconds()}
}

// handlers registers what the sample tasks do.
func (d *demo) handlers() error {
	return errors.Join(
		d.handle(kindClose, d.closeOrder),
		d.handle(kindReconcile, d.reconcile),
		d.handle(kindReport, d.report),
		d.handle(kindReceipt, d.receipt, ax.Retry(d.pace.retryPolicy())),
		d.handle(kindCharge, d.charge),
	)
}

// handle registers a handler that is timed from when its task was due.
func (d *demo) handle(kind string, h ax.Handler, opts ...ax.HandleOption) error {
	return d.ax.Handle(kind, func(ctx context.Context, t *ax.Task) error {
		d.starts.add(time.Since(t.RunAt))
		return h(ctx, t)
	}, opts...)
}

func (d *demo) closeOrder(ctx context.Context, t *ax.Task) error {
	closed, err := d.orders.closeUnpaid(ctx, t.Key)
	switch {
	case err != nil:
		return err
	case closed:
		d.tell.say("order "+t.Key, "time-out: not paid, so it is closed")
	default:
		d.tell.say("order "+t.Key, "time-out: was paid, so nothing to do")
	}
	return nil
}

// reconcile takes longer than the distance of its fires: those that come meanwhile are skipped.
func (d *demo) reconcile(ctx context.Context, _ *ax.Task) error {
	d.tell.say("reconcile", "started; is due every %s and takes %s", reconcileEvery, reconcileTakes)
	if !pause(ctx, reconcileTakes) {
		return context.Cause(ctx)
	}
	d.tell.say("reconcile", "done")
	return nil
}

func (d *demo) report(ctx context.Context, _ *ax.Task) error {
	c, err := d.orders.count(ctx)
	if err != nil {
		return err
	}
	d.tell.say("report", "cron job: %d orders, %d paid, %d closed", c.Placed, c.Paid, c.Closed)
	return nil
}

// receipt fails twice.
func (d *demo) receipt(_ context.Context, t *ax.Task) error {
	if t.Attempt <= 2 {
		d.tell.say("receipt", "attempt %d failed: the mail server is busy; again in %s", t.Attempt,
			d.pace.retry)
		return errors.New("the mail server is busy")
	}
	d.tell.say("receipt", "attempt %d succeeded", t.Attempt)
	return nil
}

// charge dies: it says itself that no retry can help.
func (d *demo) charge(context.Context, *ax.Task) error {
	return ax.Permanent(errors.New("the card is blocked"))
}
