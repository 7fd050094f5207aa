package guides

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/axtest"
	"github.com/ax-sched/ax/task"
)

var ana = ax.By{Actor: "ana", Reason: "the bank moves house"}

// bankCloses: no fires until somebody resumes the job, but one run now.
func bankCloses(ctx context.Context, a *ax.Scheduler) error {
	var noEnd time.Time // another instant: the job goes on by itself from there
	if err := a.PauseJob(ctx, "reconcile-eu", noEnd, ana); err != nil {
		return err
	}
	_, err := a.TriggerJob(ctx, "reconcile-eu", ax.JobRun{Key: "before the move"}, ana)
	return err
}

func bankOpens(ctx context.Context, a *ax.Scheduler) error {
	return a.ResumeJob(ctx, "reconcile-eu", ana)
}

// skipOne returns the time of the fire that will not run.
func skipOne(ctx context.Context, a *ax.Scheduler) (time.Time, error) {
	return a.SkipNext(ctx, "reconcile-eu", ana)
}

func campaign(ctx context.Context, a *ax.Scheduler) error {
	return a.PutJob(ctx, ax.JobSpec{
		Name:         "campaign",
		Kind:         "mail.send",
		Schedule:     ax.Cron("0 9 * * *"),
		Jitter:       10 * time.Minute, // due at a time from 09:00 to 09:10 that the name decides
		Misfire:      ax.MisfireSkip,   // no mail at noon because the service was down at nine
		MisfireGrace: 30 * time.Minute,
		MaxFires:     3, // then the job is over
	})
}

// seenRun is what a handler saw of a run.
type seenRun struct {
	at, fire time.Time
	count    int
	from     time.Time
	job      string
}

// runsOf notes the runs of a kind; the func it returns gives them in their order.
func runsOf(tt *axtest.T, kind string) func() []seenRun {
	var mu sync.Mutex
	var runs []seenRun
	tt.Handle(kind, func(_ context.Context, t *ax.Task) error {
		mu.Lock()
		defer mu.Unlock()
		runs = append(runs, seenRun{time.Now(), t.FireTime, t.FireCount, t.FireFrom, t.Job})
		return nil
	})
	return func() []seenRun {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(runs)
	}
}

// TestActs: what persons do with a job, and what the handler sees of it.
func TestActs(t *testing.T) {
	axtest.Run(t, ax.Config{}, func(tt *axtest.T) {
		runs := runsOf(tt, "ledger.reconcile")
		err := tt.PutJob(tt.Context(), ax.JobSpec{Name: "reconcile-eu",
			Schedule: ax.Cron("*/2 * * * *"), Args: Reconcile{Ledger: "eu"}})
		if err != nil {
			tt.Fatal(err)
		}
		tt.Advance(3 * time.Minute)
		for range 2 { // the key makes the second one harmless
			if err := bankCloses(tt.Context(), tt.Scheduler); err != nil {
				tt.Fatal(err)
			}
		}
		tt.Advance(6 * time.Minute)
		if err := bankOpens(tt.Context(), tt.Scheduler); err != nil {
			tt.Fatal(err)
		}
		tt.Advance(2 * time.Minute)
		at, err := skipOne(tt.Context(), tt.Scheduler)
		if err != nil || at.Minute() != 12 {
			tt.Errorf("skips %s, %v", at, err)
		}
		tt.Advance(4 * time.Minute)
		want := []struct{ fire, count, from int }{
			{2, 1, -1}, {3, 0, -1}, {8, 3, 4}, {10, 1, -1}, {14, 1, -1}}
		got := runs()
		if len(got) != len(want) {
			tt.Fatalf("runs: %+v", got)
		}
		for i, w := range want {
			from := -1
			if !got[i].from.IsZero() {
				from = got[i].from.Minute()
			}
			if got[i].fire.Minute() != w.fire || got[i].count != w.count || from != w.from ||
				got[i].job != "reconcile-eu" {
				tt.Errorf("run %d: %+v, want %+v", i, got[i], w)
			}
		}
	})
}

// TestCampaign: three mails at about nine, none for a fire that was missed.
func TestCampaign(t *testing.T) {
	cfg := ax.Config{Poll: time.Minute, Sweep: time.Minute, LeaseTTL: 10 * time.Minute,
		ExecutorTTL: time.Hour} // days pass faster
	axtest.Run(t, cfg, func(tt *axtest.T) {
		runs := runsOf(tt, "mail.send")
		if err := campaign(tt.Context(), tt.Scheduler); err != nil {
			tt.Fatal(err)
		}
		time.Sleep(36 * time.Hour) // nobody schedules for two fires
		tt.Advance(6 * 24 * time.Hour)
		for _, r := range runs() {
			late := r.at.Sub(r.fire)
			if r.fire.UTC().Format(time.TimeOnly) != "09:00:00" || late < 0 || late > 11*time.Minute {
				tt.Errorf("%+v", r)
			}
		}
		skipped, err := tt.List(tt.Context(), ax.Filter{Job: "campaign",
			States: []ax.State{task.Skipped}})
		if err != nil || len(skipped) != 1 || skipped[0].FireCount != 2 || len(runs()) != 3 {
			tt.Errorf("%d ran; skipped: %+v, %v", len(runs()), skipped, err)
		}
	})
}
