package ax_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// TestRetention: what is finished vanishes when its time is over, with its history; what was kept
// by a rule, is dead, or has not run yet stays.
func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kinds := map[string]ax.Keep{"kept": {Succeeded: -1}}
		a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet, Clock: time.Now,
			Seed: 1, Retention: ax.Retention{Default: ax.Keep{Succeeded: 10 * time.Minute},
				Kinds: kinds}})
		if err != nil {
			t.Fatal(err)
		}
		kinds["done"] = ax.Keep{Succeeded: -1} // the caller's map is the caller's
		ok := func(context.Context, *ax.Task) error { return nil }
		a.Handle("done", ok)
		a.Handle("kept", ok)
		a.Handle("dead", func(context.Context, *ax.Task) error {
			return ax.Permanent(errors.New("no"))
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.Run(ctx) }()
		ids := map[string]ax.ID{}
		for _, n := range []ax.NewTask{{Kind: "done"}, {Kind: "kept"}, {Kind: "dead"},
			{Kind: "later", Delay: time.Hour}} {
			r, err := a.Submit(ctx, n)
			if err != nil {
				t.Fatal(err)
			}
			ids[n.Kind] = r.ID
		}
		time.Sleep(9 * time.Minute)
		states := map[string]ax.State{"done": task.Succeeded, "kept": task.Succeeded,
			"dead": task.Dead, "later": task.Scheduled}
		expect(t, a, ids, states)
		time.Sleep(3 * time.Minute)
		delete(states, "done")
		expect(t, a, ids, states)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// expect checks which tasks are there, each with a history.
func expect(t *testing.T, a *ax.Scheduler, ids map[string]ax.ID, states map[string]ax.State) {
	t.Helper()
	for kind, id := range ids {
		row, err := a.Get(t.Context(), id)
		_, lost := a.History(t.Context(), id)
		want, there := states[kind]
		switch {
		case there && (err != nil || lost != nil || row.State != want):
			t.Errorf("task %s: %s, %v, %v; want %s", kind, row.State, err, lost, want)
		case !there && (!errors.Is(err, ax.ErrNotFound) || !errors.Is(lost, ax.ErrNotFound)):
			t.Errorf("task %s is there: %s, %v, %v", kind, row.State, err, lost)
		}
	}
}

// TestRetentionIsChecked: every wrong field is named.
func TestRetentionIsChecked(t *testing.T) {
	_, err := ax.New(memory.New(memory.Options{}), ax.Config{Retention: ax.Retention{
		Default: ax.Keep{Succeeded: time.Second, Dead: time.Minute, Skipped: -1},
		Kinds:   map[string]ax.Keep{"k": {Canceled: 1}, "fine": {Dead: time.Hour}},
		Jobs:    map[string]ax.Keep{"": {}, "j": {Skipped: 59 * time.Second}}}})
	if err == nil {
		t.Fatal("it was taken")
	}
	for _, field := range []string{"Config.Retention.Default.Succeeded",
		`Config.Retention.Kinds["k"].Canceled`, `Config.Retention.Jobs[""]`,
		`Config.Retention.Jobs["j"].Skipped`} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not named in: %v", field, err)
		}
	}
	if n := strings.Count(err.Error(), "Config.Retention"); n != 4 {
		t.Errorf("%d fields are named; want 4: %v", n, err)
	}
}

// TestRetentionOfTheLastFire: a job that fires half an hour after its last run ended goes on when a
// new leader finds the task of that run deleted.
func TestRetentionOfTheLastFire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		begin := time.Now()
		var runs []time.Duration // of one handler at a time
		for leader := range 2 {
			a, err := ax.New(st, ax.Config{Logger: quiet, Clock: time.Now, Seed: uint64(leader + 1),
				Retention: ax.Retention{Default: ax.Keep{Succeeded: time.Minute}}})
			if err != nil {
				t.Fatal(err)
			}
			a.Handle("k", func(context.Context, *ax.Task) error {
				runs = append(runs, time.Since(begin))
				return nil
			})
			if err := a.PutJob(t.Context(), ax.JobSpec{Name: "j", Kind: "k",
				Schedule: ax.After(30 * time.Minute)}); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- a.Run(ctx) }()
			time.Sleep(40 * time.Minute)
			if rows, err := a.List(ctx, ax.Filter{}); err != nil || len(rows) != 0 {
				t.Errorf("leader %d leaves %d tasks, %v", leader, len(rows), err)
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if len(runs) != 2 || runs[1]-runs[0] > 31*time.Minute {
			t.Errorf("the job ran at %v; want two runs half an hour apart", runs)
		}
	})
}
