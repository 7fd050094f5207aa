// Package demo plays a shop whose orders, reports and mails are tasks of a real scheduler, for
// somebody who wants to see ax at work before reading about it.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/group"
	"github.com/ax-sched/ax/task"
)

// Config says where the demo plays; all fields but For are required.
type Config struct {
	Store    ax.Store
	Database string        // how a reader can name the store
	Orders   string        // file of the shop's own database, which must not exist
	For      time.Duration // 0: until the context ends
	Out      io.Writer     // gets one line an event
	Errors   io.Writer     // gets the errors of the scheduler
}

// demo is a scheduler with sample tasks of every sort.
type demo struct {
	cfg    Config
	ax     *ax.Scheduler
	tell   *teller
	orders *orders
	group  string // of this demo alone: whatever else lives in the database is left alone
	pace   pace
	starts starts
	// stopped is when no more work was made; what was due by then has to run.
	stopped time.Time
}

// Run plays until the time is over or ctx ends, lets what is due end, and says what happened.
func Run(ctx context.Context, cfg Config) (s *Summary, err error) {
	d := &demo{cfg: cfg, pace: paceFor(cfg.For), tell: newTeller(cfg.Out)}
	d.group = fmt.Sprintf("ax-dev-%d-%d", os.Getpid(), d.tell.began.Unix())
	if d.orders, err = openOrders(ctx, cfg.Orders); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.orders.close()) }()
	logger := slog.New(slog.NewTextHandler(cfg.Errors, &slog.HandlerOptions{Level: slog.LevelError}))
	d.ax, err = ax.New(cfg.Store, ax.Config{Group: d.group, Logger: logger})
	if err == nil {
		err = d.handlers()
	}
	if err != nil {
		return nil, err
	}
	d.tell.intro(cfg.Database)
	if err := d.play(ctx); err != nil {
		return nil, err
	}
	return d.summarize(context.WithoutCancel(ctx))
}

// play runs the scheduler and the shop.
func (d *demo) play(ctx context.Context) error {
	if d.cfg.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.cfg.For)
		defer cancel()
	}
	scheduler, shop := group.New(ctx, "dev"), group.New(ctx, "dev")
	scheduler.Go("scheduler", d.ax.Run)
	if err := d.jobs(ctx); err != nil {
		return errors.Join(err, scheduler.Stop(0))
	}
	shop.Go("skipped and dead", d.watch)
	shop.Go("shop", d.script)
	select {
	case <-ctx.Done():
	case <-shop.Failed():
	case <-scheduler.Failed():
	}
	err := shop.Stop(0)
	if scheduler.Err() == nil {
		d.settle(context.WithoutCancel(ctx))
	}
	return errors.Join(err, scheduler.Stop(0))
}

// settleWait is how long what is due at the end may take.
const settleWait = 10 * time.Second

// settle makes no more work and waits until what is due has ended.
func (d *demo) settle(ctx context.Context) {
	d.tell.say("", "stopping; what has started may end")
	for _, name := range []string{kindReconcile, kindReport} {
		if err := d.ax.DeleteJob(ctx, name); err != nil && !errors.Is(err, ax.ErrNotFound) {
			d.tell.say(title(name), "%v", err)
		}
	}
	d.stopped = time.Now()
	ctx, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	for pause(ctx, 20*time.Millisecond) {
		rows, err := d.rows(ctx)
		if err == nil && !slices.ContainsFunc(rows, d.owed) {
			return
		}
	}
}

// owed reports whether a task should have ended, or should end now.
func (d *demo) owed(t task.Task) bool {
	return t.State.Live() || t.State == task.Scheduled && !t.RunAt.Go().After(d.stopped)
}
