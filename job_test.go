package ax_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// TestAtThatHasJustPassed: a job "at" an instant that has just passed is accepted, so it runs.
func TestAtThatHasJustPassed(t *testing.T) {
	var calls atomic.Int64
	bubble(t, ax.Config{}, func(a *ax.Scheduler) {
		a.Handle("k", func(context.Context, *ax.Task) error { calls.Add(1); return nil })
	}, func(x *fixture) {
		err := x.PutJob(t.Context(), ax.JobSpec{Name: "once", Kind: "k",
			Schedule: ax.At(time.Now().Add(-time.Second))})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if calls.Load() != 1 {
			t.Errorf("ran %d times, want once: PutJob accepted the schedule", calls.Load())
		}
	})
}

// TestReplacedScheduleOwesNothing: a replaced schedule owes no fires of the past.
func TestReplacedScheduleOwesNothing(t *testing.T) {
	var calls atomic.Int64
	bubble(t, ax.Config{}, func(a *ax.Scheduler) {
		a.Handle("k", func(context.Context, *ax.Task) error { calls.Add(1); return nil })
	}, func(x *fixture) {
		put := func(s ax.Schedule) {
			if err := x.PutJob(t.Context(), ax.JobSpec{Name: "j", Kind: "k", Schedule: s}); err != nil {
				t.Fatal(err)
			}
		}
		put(ax.Cron("0 0 1 1 *"))
		time.Sleep(30*time.Minute + 30*time.Second)
		put(ax.Cron("0 * * * *"))
		time.Sleep(time.Second)
		put(ax.Cron("*/10 * * * *"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if calls.Load() != 0 {
			t.Errorf("the new schedule ran %d times for the past", calls.Load())
		}
	})
}

// TestZoneLocalIsRefused: a schedule must not depend on the zone of the host (C31, R5).
func TestZoneLocalIsRefused(t *testing.T) {
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.PutJob(t.Context(), ax.JobSpec{Name: "j", Kind: "k",
		Schedule: ax.CronIn("Local", "0 0 * * *")}); err == nil {
		t.Error("zone Local was accepted")
	}
}

// TestAfterClockWentBack: a step back of the store's clock by a second must not end an "after" job.
func TestAfterClockWentBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shift atomic.Int64
		var fires atomic.Int64
		st := &countFires{Store: memory.New(memory.Options{Now: func() task.Time {
			return task.FromGo(time.Now()) + task.Time(shift.Load())
		}})}
		a, err := ax.New(st, ax.Config{Logger: quiet, Clock: time.Now, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		var calls atomic.Int64
		a.Handle("k", func(context.Context, *ax.Task) error {
			if calls.Add(1); calls.Load() == 3 {
				shift.Store(-1_000_000)
			}
			return nil
		})
		if err := a.PutJob(t.Context(), ax.JobSpec{Name: "j", Kind: "k",
			Schedule: ax.After(500 * time.Millisecond)}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		st.most, st.stop, st.n = 100_000, cancel, &fires
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		select {
		case <-time.After(time.Minute):
		case <-ctx.Done():
		}
		cancel()
		<-done
		if n := fires.Load(); n > 1000 || calls.Load() < 50 {
			t.Errorf("%d runs in a minute, %d calls of Fire", calls.Load(), n)
		}
	})
}

// countFires ends the run when Fire is called in a hot loop: in a bubble that would never end.
type countFires struct {
	*memory.Store
	most int64
	n    *atomic.Int64
	stop func()
}

func (s *countFires) Fire(ctx context.Context, f store.Fence, fs []store.Fire) ([]store.FireResult,
	error) {
	if s.n.Add(1) > s.most {
		s.stop()
		return nil, errors.New("too many")
	}
	return s.Store.Fire(ctx, f, fs)
}

// TestNotDueDoesNotSpin: while the store's clock is behind the estimate, a claim that came too
// early is tried again when it can succeed, not in a hot loop.
func TestNotDueDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shift, applies atomic.Int64
		st := &countApplies{Store: memory.New(memory.Options{Now: func() task.Time {
			return task.FromGo(time.Now()) + task.Time(shift.Load())
		}}), n: &applies}
		a, err := ax.New(st, ax.Config{Logger: quiet, Clock: time.Now, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		ran := make(chan struct{})
		a.Handle("k", func(context.Context, *ax.Task) error { close(ran); return nil })
		ctx, cancel := context.WithCancel(t.Context())
		st.stop = cancel
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		synctest.Wait()
		if _, err := a.Delay(t.Context(), "k", "", 5*time.Second, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4900 * time.Millisecond)
		shift.Store(-100_000) // a small step, within what is slewed
		select {
		case <-ran:
		case <-ctx.Done():
		case <-time.After(time.Minute):
		}
		cancel()
		<-done
		if n := applies.Load(); n > 100 {
			t.Errorf("%d applies for one task: a hot loop until the clocks agree", n)
		}
	})
}

type countApplies struct {
	*memory.Store
	n    *atomic.Int64
	stop func()
}

func (s *countApplies) Apply(ctx context.Context, f store.Fence, trs []*task.Transition) (
	[]store.Result, error) {
	if n := s.n.Add(1); n > 100_000 {
		s.stop()
		return nil, fmt.Errorf("apply %d", n)
	}
	return s.Store.Apply(ctx, f, trs)
}

// TestJobTasksHaveItsLimits: what a job says of an outcome that nobody knows, of lateness and of a
// long life is in the tasks of its fires and of its runs by hand.
func TestJobTasksHaveItsLimits(t *testing.T) {
	runs := 0
	setup := func(a *ax.Scheduler) {
		a.Handle("k", func(context.Context, *ax.Task) error { runs++; return errors.New("no") })
	}
	bubble(t, ax.Config{}, setup, func(x *fixture) {
		must(t, x.PutJob(t.Context(), ax.JobSpec{Name: "j", Kind: "k",
			Schedule: ax.Cron("0 * * * *"), AtMostOnce: true, MaxLateness: time.Minute,
			MaxLifetime: 2 * time.Hour}))
		byHand, err := x.TriggerJob(t.Context(), "j", ax.JobRun{}, ax.By{})
		must(t, err)
		time.Sleep(61 * time.Minute)
		if runs != 2 {
			t.Errorf("%d runs of two tasks that fail and run at most once", runs)
		}
		// The fire of two o'clock is an hour late when somebody schedules again.
		x.stop()
		time.Sleep(118 * time.Minute)
		*x = *start(x.t, x.store, ax.Config{Seed: 2}, setup)
		synctest.Wait()
		states := map[ax.State]int{}
		rows, err := x.List(t.Context(), ax.Filter{Job: "j"})
		must(t, err)
		for _, r := range rows {
			states[r.State]++
			if r.OnUnknown != ax.HoldUnknown || r.MaxRetries != 0 || r.MaxLateness != time.Minute ||
				r.MaxLifetime != 2*time.Hour {
				t.Errorf("the task of %s: %+v", r.FireTime.Go(), r)
			}
			if r.State == task.Skipped && r.Reason != task.Late {
				t.Errorf("the late one: %s", r.Reason)
			}
		}
		if states[task.Dead] != 2 || states[task.Skipped] != 1 || len(rows) != 3 {
			t.Errorf("%v", states)
		}
		if row, err := x.Get(t.Context(), byHand.ID); err != nil || row.State != task.Dead {
			t.Errorf("the run by hand is %s, %v", row.State, err)
		}
	})
}
