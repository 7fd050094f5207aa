package guides

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/axtest"
	"github.com/ax-sched/ax/task"
)

func TestUnpaidOrderIsClosed(t *testing.T) {
	axtest.Run(t, ax.Config{}, func(tt *axtest.T) {
		shop := openShop(tt) // calls NewShop(db, tt.Scheduler)
		if err := shop.Place(tt.Context(), "1007"); err != nil {
			tt.Fatal(err)
		}
		timeout := tt.Submitted("order.close", "1007")
		tt.Advance(29 * time.Minute)
		tt.WantState(timeout.ID, task.Scheduled)
		tt.Advance(time.Minute)
		tt.WantState(timeout.ID, task.Succeeded)
		if got := shop.state(tt.T, "1007"); got != "closed" {
			tt.Errorf("the order is %s", got)
		}
	})
}

func TestBankIsDownForAMinute(t *testing.T) {
	axtest.Run(t, ax.Config{}, func(tt *axtest.T) {
		back := time.Now().Add(time.Minute)
		tt.Handle("charge", func(context.Context, *ax.Task) error {
			if time.Now().Before(back) {
				return errors.New("the bank does not answer")
			}
			return nil
		})
		res, err := tt.Submit(tt.Context(), ax.NewTask{Kind: "charge"})
		if err != nil {
			tt.Fatal(err)
		}
		tt.RunDue() // the first attempt
		tt.WantState(res.ID, task.Scheduled)
		tt.Advance(10 * time.Minute) // the retries, after 5, 25 and 125 s
		tt.WantState(res.ID, task.Succeeded)
	})
}
