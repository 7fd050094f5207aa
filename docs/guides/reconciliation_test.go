package guides

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/axtest"
	"github.com/ax-sched/ax/task"
)

// Reconcile compares a ledger with what the bank says.
type Reconcile struct {
	Ledger string `json:"ledger"`
}

func (Reconcile) Kind() string { return "ledger.reconcile" }

// Bank compares ledgers.
type Bank struct {
	compare func(ctx context.Context, ledger string, from, until time.Time) error
	done    time.Time // keep it in your database, beside the ledger
}

func (b *Bank) reconcile(ctx context.Context, t *ax.TaskOf[Reconcile]) error {
	until := t.FireTime // not time.Now(): a retry does the same work
	if err := b.compare(ctx, t.Args.Ledger, b.done, until); err != nil {
		return err
	}
	b.done = until
	return nil
}

func schedule(ctx context.Context, a *ax.Scheduler, b *Bank) error {
	err := ax.HandleFunc(a, b.reconcile, ax.Timeout(10*time.Minute))
	if err != nil {
		return err
	}
	return a.PutJob(ctx, ax.JobSpec{
		Name:     "reconcile-eu", // putting it again replaces the definition
		Schedule: ax.Cron("*/2 * * * *"),
		Args:     Reconcile{Ledger: "eu"},
	})
}

// TestReconcile: slow runs never meet, and what is compared has no gap.
func TestReconcile(t *testing.T) {
	axtest.Run(t, ax.Config{}, func(tt *axtest.T) {
		var mu sync.Mutex // one run is still under way when the hour is over
		running, runs := 0, 0
		var last time.Time
		b := &Bank{compare: func(_ context.Context, ledger string, from, until time.Time) error {
			mu.Lock()
			defer mu.Unlock()
			if running++; running > 1 || ledger != "eu" || !from.Equal(last) || !until.After(from) {
				tt.Errorf("%d run; %s from %s until %s, last until %s", running, ledger, from, until, last)
			}
			mu.Unlock()
			time.Sleep(5 * time.Minute)
			mu.Lock()
			last = until
			running--
			runs++
			return nil
		}}
		if err := schedule(tt.Context(), tt.Scheduler, b); err != nil {
			tt.Fatal(err)
		}
		tt.Advance(time.Hour)
		skipped, err := tt.List(tt.Context(), ax.Filter{Job: "reconcile-eu",
			States: []ax.State{task.Skipped}})
		if err != nil {
			tt.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if runs < 8 || runs > 10 || len(skipped) < 18 {
			tt.Errorf("%d runs in an hour, %d fires were skipped", runs, len(skipped))
		}
	})
}

// TestReconcileFails: a run that fails makes room for the next fire, and is seen.
func TestReconcileFails(t *testing.T) {
	axtest.Run(t, ax.Config{}, func(tt *axtest.T) {
		b := &Bank{compare: func(context.Context, string, time.Time, time.Time) error {
			return errors.New("the bank does not answer")
		}}
		if err := schedule(tt.Context(), tt.Scheduler, b); err != nil {
			tt.Fatal(err)
		}
		tt.Advance(time.Hour)
		dead, err := tt.List(tt.Context(), ax.Filter{Job: "reconcile-eu",
			States: []ax.State{task.Dead}})
		if err != nil || len(dead) < 20 || dead[0].Reason != task.Superseded {
			tt.Errorf("%d are dead, %v", len(dead), err)
		}
	})
}
