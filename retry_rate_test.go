package ax_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
)

// TestR08RetriesDoNotPileUp: while everything fails, no minute has more retries than the rate and a
// tenth of its first attempts; when it works again, nothing is lost (R08).
func TestR08RetriesDoNotPileUp(t *testing.T) {
	const rate, firsts, minutes = 10, 200, 5
	var mu sync.Mutex
	var again []time.Time
	failing := true
	bubble(t, ax.Config{RetryRate: rate}, func(a *ax.Scheduler) {
		a.Handle("k", func(_ context.Context, k *ax.Task) error {
			mu.Lock()
			defer mu.Unlock()
			if k.Attempt > 1 {
				again = append(again, time.Now())
			}
			if failing {
				return errors.New("the bank is down")
			}
			return nil
		}, ax.Retry(retry.Policy{Kind: retry.Fixed, DelayMS: 1000}), ax.MaxRetries(1000))
	}, func(x *fixture) {
		for range firsts * minutes {
			x.submit(ax.NewTask{Kind: "k"})
			time.Sleep(time.Minute / firsts)
		}
		stats := x.Stats()
		mu.Lock()
		failing = false
		for i, from := range again {
			n := 0
			for _, at := range again[i:] {
				if at.Sub(from) < time.Minute-time.Second {
					n++
				}
			}
			if n > rate+firsts/10+1 {
				t.Fatalf("%d retries in the minute from %s, at most %d are right", n, from,
					rate+firsts/10)
			}
		}
		if most := minutes * (rate + firsts/10); len(again) < most/2 || stats.RetriesDelayed == 0 {
			t.Errorf("%d retries in %d minutes, %d may be; %d were put off", len(again), minutes, most,
				stats.RetriesDelayed)
		}
		mu.Unlock()
		time.Sleep(3 * time.Hour) // by then all have had their turn
		n, err := x.Count(t.Context(), 0)
		if err != nil || n[task.Succeeded] != firsts*minutes {
			t.Errorf("%v, %v; want %d succeeded", n, err, firsts*minutes)
		}
	})
}
