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

func handleCharges(a *ax.Scheduler, charge ax.Handler) error {
	return a.Handle("card.charge", charge, ax.Timeout(time.Minute), ax.AtMostOnce())
}

// decide answers for the charges whose end nobody knows, by what the bank has booked.
func decide(ctx context.Context, a *ax.Scheduler, booked func(order string) bool) error {
	held, err := a.List(ctx, ax.Filter{Kind: "card.charge", States: []ax.State{task.Held}})
	if err != nil {
		return err
	}
	for _, t := range held {
		as := ax.AnswerRerun // or ax.AnswerDead: DEAD(given_up)
		if booked(t.Key) {
			as = ax.AnswerSucceeded
		}
		err := a.Resolve(ctx, t.ID, as, ax.By{Actor: "ana", Reason: "statement of today"})
		if err != nil && !errors.Is(err, ax.ErrConflict) { // a late report was faster
			return err
		}
	}
	return nil
}

func sendOffer(ctx context.Context, a *ax.Scheduler, customer string, ends time.Time) error {
	_, err := a.Submit(ctx, ax.NewTask{
		Kind:        "offer.send",
		Key:         customer,
		Delay:       10 * time.Minute,
		ExpiresAt:   ends,             // no attempt starts after it: DEAD(expired)
		MaxLateness: 15 * time.Minute, // not begun so long after it was due: SKIPPED(late)
		MaxLifetime: 2 * time.Minute,  // begun, and no result for so long: HELD
	})
	return err
}

// TestCharges: a charge that does not come back is not repeated; who has looked decides.
func TestCharges(t *testing.T) {
	axtest.Run(t, ax.Config{}, func(tt *axtest.T) {
		var mu sync.Mutex
		calls := map[string]int{}
		err := handleCharges(tt.Scheduler, func(_ context.Context, t *ax.Task) error {
			mu.Lock()
			calls[t.Key]++
			first := calls[t.Key] == 1
			mu.Unlock()
			if first {
				time.Sleep(time.Hour) // deaf to its time-out
			}
			return nil
		})
		if err != nil {
			tt.Fatal(err)
		}
		for _, key := range []string{"booked", "not booked"} {
			if _, err := tt.Delay(tt.Context(), "card.charge", key, 0, nil); err != nil {
				tt.Fatal(err)
			}
		}
		tt.Advance(10 * time.Minute)
		booked, other := tt.Submitted("card.charge", "booked"), tt.Submitted("card.charge", "not booked")
		tt.WantState(booked.ID, task.Held)
		tt.WantState(other.ID, task.Held)
		err = decide(tt.Context(), tt.Scheduler, func(key string) bool { return key == "booked" })
		if err != nil {
			tt.Fatal(err)
		}
		tt.RunDue()
		tt.WantState(booked.ID, task.Succeeded)
		tt.WantState(other.ID, task.Succeeded)
		mu.Lock()
		defer mu.Unlock()
		if calls["booked"] != 1 || calls["not booked"] != 2 {
			tt.Errorf("calls: %v", calls)
		}
	})
}

// TestOffer: each of the three limits ends the task as the guide says.
func TestOffer(t *testing.T) {
	for name, c := range map[string]struct {
		down, ends time.Duration
		want       ax.State
		why        task.Reason
		calls      int
	}{
		"expired": {22 * time.Minute, 20 * time.Minute, task.Dead, task.Expired, 0},
		"late":    {26 * time.Minute, 2 * time.Hour, task.Skipped, task.Late, 0},
		"silent":  {20 * time.Minute, 2 * time.Hour, task.Held, task.Overlong, 1},
	} {
		t.Run(name, func(t *testing.T) {
			axtest.Run(t, ax.Config{}, func(tt *axtest.T) {
				var mu sync.Mutex
				calls := 0
				tt.Handle("offer.send", func(context.Context, *ax.Task) error {
					mu.Lock()
					calls++
					mu.Unlock()
					time.Sleep(5 * time.Minute)
					return nil
				}, ax.Timeout(10*time.Minute))
				ends := time.Now().Add(c.ends)
				if err := sendOffer(tt.Context(), tt.Scheduler, "ana", ends); err != nil {
					tt.Fatal(err)
				}
				time.Sleep(c.down) // nobody schedules
				tt.Advance(3 * time.Minute)
				offer := tt.Submitted("offer.send", "ana")
				if tt.WantState(offer.ID, c.want); offer.Reason != c.why {
					tt.Errorf("the reason is %s, want %s", offer.Reason, c.why)
				}
				tt.Advance(3 * time.Minute)
				if c.want == task.Held {
					tt.WantState(offer.ID, task.Succeeded) // its late report counts
				}
				mu.Lock()
				defer mu.Unlock()
				if calls != c.calls {
					tt.Errorf("%d calls", calls)
				}
			})
		})
	}
}
