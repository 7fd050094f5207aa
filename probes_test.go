package ax_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// TestT01ClockAheadAndBack: the clock of the store goes two hours ahead and is corrected. No fire
// time runs twice, and the job goes on once time has passed the latest fire: what ran in the wrong
// hours has its record, and the cursor of a job never moves back (T01).
func TestT01ClockAheadAndBack(t *testing.T) { synctest.Test(t, clockAheadAndBack) }

func clockAheadAndBack(t *testing.T) {
	var off atomic.Int64
	wrong := func() time.Time { return time.Now().Add(time.Duration(off.Load())) }
	st := memory.New(memory.Options{Now: func() task.Time { return task.FromGo(wrong()) }})
	a, err := ax.New(st, ax.Config{Clock: wrong, Logger: quiet, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	fires := map[time.Time]int{}
	a.Handle("k", func(_ context.Context, k *ax.Task) error {
		mu.Lock()
		defer mu.Unlock()
		fires[k.FireTime]++
		return nil
	})
	err = a.PutJob(t.Context(), ax.JobSpec{Name: "j", Kind: "k", Schedule: ax.Cron("* * * * *")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	time.Sleep(150 * time.Second)
	off.Store(int64(2 * time.Hour))
	time.Sleep(time.Minute)
	off.Store(0)
	time.Sleep(2*time.Hour + 10*time.Minute)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	late := 0
	for at, n := range fires {
		if n != 1 {
			t.Errorf("the fire of %s ran %d times", at, n)
		}
		if at.After(time.Now().Add(-5 * time.Minute)) {
			late++
		}
	}
	if late < 4 {
		t.Errorf("%d fires in the last five minutes: the job does not go on", late)
	}
}

// TestT08WokenEarly: a clock that runs ahead of the store's by a quarter of a second wakes the
// scheduler early. The nightly fire runs once, and the next one is tomorrow's (T08).
func TestT08WokenEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		host := func() time.Time { return time.Now().Add(245 * time.Millisecond) }
		a, err := ax.New(st, ax.Config{Clock: host, Logger: quiet, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		var runs []string
		a.Handle("k", func(_ context.Context, k *ax.Task) error {
			if time.Now().Before(k.RunAt) {
				t.Errorf("started %s before its time", time.Until(k.RunAt))
			}
			runs = append(runs, k.FireTime.Format("02 15:04"))
			return nil
		})
		err = a.PutJob(t.Context(), ax.JobSpec{Name: "j", Kind: "k", Schedule: ax.Cron("0 3 * * *")})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		time.Sleep(30 * time.Hour)
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(runs) != "[01 03:00 02 03:00]" {
			t.Errorf("ran for %v", runs)
		}
	})
}

// TestT20LateRuns: a task that starts late because all slots are busy runs, and the history shows
// how late; with a max lateness it is SKIPPED(late), and has its row (T20).
func TestT20LateRuns(t *testing.T) {
	bubble(t, ax.Config{Slots: 1}, func(a *ax.Scheduler) {
		a.Handle("long", func(context.Context, *ax.Task) error {
			time.Sleep(1800 * time.Millisecond)
			return nil
		})
		a.Handle("k", func(context.Context, *ax.Task) error { return nil })
	}, func(x *fixture) {
		x.submit(ax.NewTask{Kind: "long"})
		synctest.Wait()
		runs := x.submit(ax.NewTask{Kind: "k"})
		picky := x.submit(ax.NewTask{Kind: "k", MaxLateness: time.Second})
		time.Sleep(3 * time.Second)
		k := x.want(runs, task.Succeeded, 0)
		if late := k.StartedAt.Sub(k.FireTime); late < 1800*time.Millisecond {
			t.Errorf("the row says that it started %s late", late)
		}
		x.want(picky, task.Skipped, task.Late)
		h, err := x.History(t.Context(), picky)
		if err != nil || len(h) != 2 || h[1].Reason != task.Late {
			t.Errorf("history %+v, %v", h, err)
		}
	})
}

// TestD10FarDelay: a task that waits for much longer than any lease lasts runs once, and needs no
// lease meanwhile, whoever leads (D10).
func TestD10FarDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		var calls atomic.Int64
		handle := func(a *ax.Scheduler) {
			a.Handle("k", func(context.Context, *ax.Task) error { calls.Add(1); return nil })
		}
		var all []*fixture
		for seed := range uint64(10) {
			all = append(all, start(t, st, ax.Config{Seed: seed + 1}, handle))
		}
		id := all[3].submit(ax.NewTask{Kind: "k", Delay: 6 * time.Hour})
		for _, x := range all[:5] { // the leader goes, and others after it
			time.Sleep(time.Hour)
			x.stop()
		}
		k, err := all[9].Get(t.Context(), id)
		if err != nil || k.State != task.Scheduled || k.Epoch != 0 || calls.Load() != 0 {
			t.Errorf("after five hours: %s with epoch %d, %d calls, %v", k.State, k.Epoch, calls.Load(),
				err)
		}
		time.Sleep(2 * time.Hour)
		all[9].want(id, task.Succeeded, 0)
		for _, x := range all[5:] {
			x.stop()
		}
		if calls.Load() != 1 {
			t.Errorf("%d executions", calls.Load())
		}
	})
}

// TestO05ShownIsFired: the next fires that a reader is shown are those that fire, for each sort of
// schedule and over a restart (O05).
func TestO05ShownIsFired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		var mu sync.Mutex
		fired := map[string][]time.Time{}
		handle := func(a *ax.Scheduler) {
			a.Handle("k", func(_ context.Context, k *ax.Task) error {
				mu.Lock()
				defer mu.Unlock()
				fired[k.Job] = append(fired[k.Job], k.FireTime)
				return nil
			})
		}
		first := start(t, st, ax.Config{}, handle)
		for name, s := range map[string]ax.Schedule{"cron": ax.Cron("*/7 * * * *"),
			"zone": ax.CronIn("Asia/Kathmandu", "H/10 9-23 * * *"), "every": ax.Every(11 * time.Minute),
			"once": ax.At(time.Now().Add(100 * time.Minute))} {
			err := first.PutJob(t.Context(), ax.JobSpec{Name: name, Kind: "k", Schedule: s,
				Misfire: ax.MisfireAll, Overlap: ax.Allow})
			if err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		shown := map[string][]time.Time{}
		js, err := first.Jobs(t.Context())
		for _, j := range js {
			next, nerr := first.NextFires(j, 30)
			shown[j.Name], err = next, errors.Join(err, nerr)
		}
		if err != nil || len(js) != 4 {
			t.Fatalf("%d jobs, %v", len(js), err)
		}
		time.Sleep(2 * time.Hour)
		first.stop()
		time.Sleep(time.Hour) // an upgrade that takes its time
		second := start(t, st, ax.Config{Seed: 2}, handle)
		time.Sleep(time.Hour)
		second.stop()
		for name, want := range shown {
			slices.SortFunc(fired[name], time.Time.Compare) // those of the hour's stop ran side by side
			n := 0
			for _, at := range want {
				if at.After(time.Now()) {
					break
				}
				n++
			}
			if got := fired[name]; n == 0 || fmt.Sprint(got[:min(n, len(got))]) != fmt.Sprint(want[:n]) {
				t.Errorf("%s fired for\n%v\nshown was\n%v", name, got, want[:n])
			}
		}
	})
}

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
