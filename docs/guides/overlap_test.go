package guides

import (
	"context"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/axtest"
	"github.com/ax-sched/ax/task"
)

// bookings of one account are applied one after the other; a rebuild makes the one before it
// pointless.
func accounts(ctx context.Context, a *ax.Scheduler, account string) error {
	_, err := a.Submit(ctx, ax.NewTask{Kind: "account.book", Payload: []byte(account),
		OverlapKey: "account/" + account}) // of tasks the default is ax.Queue
	if err != nil {
		return err
	}
	return a.PutJob(ctx, ax.JobSpec{Name: "rebuild", Kind: "search.rebuild",
		Schedule: ax.Every(time.Hour), Overlap: ax.Replace})
}

// TestOverlapPolicies: bookings of an account run one after the other, those of two beside each
// other; a rebuild that takes more than its hour is replaced by the next.
func TestOverlapPolicies(t *testing.T) {
	axtest.Run(t, ax.Config{}, func(tt *axtest.T) {
		booked := make(chan string, 10)
		tt.Handle("account.book", func(_ context.Context, k *ax.Task) error {
			time.Sleep(10 * time.Second)
			booked <- string(k.Payload)
			return nil
		})
		tt.Handle("search.rebuild", func(ctx context.Context, _ *ax.Task) error {
			<-ctx.Done()
			return ctx.Err()
		}, ax.Timeout(ax.NoTimeout))
		for _, account := range []string{"a", "a", "b"} {
			if err := accounts(tt.Context(), tt.Scheduler, account); err != nil {
				tt.Fatal(err)
			}
		}
		tt.Advance(15 * time.Second)
		if len(booked) != 2 {
			tt.Errorf("%d bookings in the time of one, want one of each account", len(booked))
		}
		tt.Advance(10 * time.Second)
		if len(booked) != 3 {
			tt.Errorf("%d bookings, want all", len(booked))
		}
		tt.Advance(3 * time.Hour)
		var running, replaced int
		fires, err := tt.List(tt.Context(), ax.Filter{Job: "rebuild"})
		for _, k := range fires {
			switch k.State {
			case task.Running:
				running++
			case task.Canceled:
				replaced++
			}
		}
		if err != nil || running != 1 || replaced != 2 {
			tt.Errorf("%d rebuilds run and %d were replaced, %v; want the newest and the two before it",
				running, replaced, err)
		}
	})
}
