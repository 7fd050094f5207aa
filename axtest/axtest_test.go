package axtest_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/axtest"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// nothing succeeds.
func nothing(context.Context, *ax.Task) error { return nil }

// TestAdvance: a task does not run before its instant and has run when Advance has reached it,
// also when the instant is not on a whole millisecond.
func TestAdvance(t *testing.T) {
	for _, odd := range []time.Duration{0, time.Microsecond, 999 * time.Microsecond} {
		axtest.Run(t, ax.Config{}, func(tt *axtest.T) {
			var late time.Duration
			tt.Handle("k", func(_ context.Context, t *ax.Task) error {
				late = time.Since(t.RunAt)
				return nil
			})
			time.Sleep(odd)
			res, err := tt.Delay(tt.Context(), "k", "", time.Hour, nil)
			if err != nil {
				tt.Fatal(err)
			}
			tt.Advance(time.Hour - 3*time.Millisecond)
			tt.WantState(res.ID, task.Scheduled)
			tt.Advance(2 * time.Millisecond)
			tt.WantState(res.ID, task.Succeeded)
			if late < 0 || late >= time.Millisecond {
				tt.Errorf("it ran %s late", late)
			}
		})
	}
}

// TestRunDue: nothing runs before the start, then what is due now and nothing else, also what
// handlers submit.
func TestRunDue(t *testing.T) {
	axtest.Run(t, ax.Config{}, func(tt *axtest.T) {
		ran := 0
		tt.Handle("first", func(ctx context.Context, _ *ax.Task) error {
			ran++
			_, err := tt.Submit(ctx, ax.NewTask{Kind: "second", Key: "7", Payload: []byte("p")})
			return err
		})
		tt.Handle("second", nothing)
		for _, n := range []ax.NewTask{{Kind: "first"}, {Kind: "second", Delay: time.Hour}} {
			if _, err := tt.Submit(tt.Context(), n); err != nil {
				tt.Fatal(err)
			}
		}
		tt.NotSubmitted("second", "7")
		if ran != 0 {
			tt.Error("it runs before it was started")
		}
		tt.RunDue()
		second := tt.Submitted("second", "7")
		if second.State != task.Succeeded || string(second.Payload) != "p" {
			tt.Errorf("the task that the handler submitted: %s, payload %q", second.State,
				second.Payload)
		}
		tt.RunDue() // a later millisecond, so that one is the newest
		last := mustSubmit(tt, ax.NewTask{Kind: "second", Key: "8"})
		if got := tt.Submitted("second", ""); got.ID != last || got.Key != "8" {
			tt.Errorf("an empty key finds the one with key %q, not the newest", got.Key)
		}
		tt.RunDue()
		waiting := ax.Filter{States: []ax.State{task.Scheduled}}
		if rows, err := tt.List(tt.Context(), waiting); err != nil || len(rows) != 1 {
			tt.Errorf("%d tasks wait, want the one of in an hour; %v", len(rows), err)
		}
	})
}

// TestJobsFire: three nights of a nightly job, at its instants.
func TestJobsFire(t *testing.T) {
	quiet := ax.Config{Poll: time.Minute, Sweep: time.Minute, LeaseTTL: 10 * time.Minute,
		ExecutorTTL: time.Hour}
	axtest.Run(t, quiet, func(tt *axtest.T) {
		var fires []string
		tt.Handle("settle", func(_ context.Context, t *ax.Task) error {
			fires = append(fires, t.FireTime.Format(time.RFC3339))
			if late := time.Since(t.FireTime); late < 0 || late > time.Millisecond {
				tt.Errorf("the fire of %s ran %s late", t.FireTime, late)
			}
			return nil
		})
		if err := tt.PutJob(tt.Context(), ax.JobSpec{Name: "nightly", Kind: "settle",
			Schedule: ax.Cron("30 3 * * *")}); err != nil {
			tt.Fatal(err)
		}
		tt.Advance(3 * 24 * time.Hour)
		if len(fires) != 3 || fires[0] != "2000-01-01T03:30:00Z" || fires[2] != "2000-01-03T03:30:00Z" {
			tt.Errorf("fired at %v", fires)
		}
	})
}

// TestRealRules: retries, time-outs and what a stop does are those of the scheduler itself.
func TestRealRules(t *testing.T) {
	var st *memory.Store
	var waits ax.ID
	axtest.Run(t, ax.Config{}, func(tt *axtest.T) {
		st = tt.Store
		tt.Handle("fails", func(context.Context, *ax.Task) error { return errors.New("no") },
			ax.MaxRetries(2), ax.Retry(retry.Policy{Kind: retry.Fixed, DelayMS: 60_000}))
		tt.Handle("waits", func(ctx context.Context, _ *ax.Task) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}, ax.MaxRetries(0), ax.Timeout(time.Hour))
		tt.Handle("sleeps", func(context.Context, *ax.Task) error {
			time.Sleep(time.Hour)
			return nil
		})
		fails, err := tt.Submit(tt.Context(), ax.NewTask{Kind: "fails"})
		if err != nil {
			tt.Fatal(err)
		}
		for range 2 {
			tt.Advance(50 * time.Second)
			tt.WantState(fails.ID, task.Scheduled)
		}
		tt.Advance(30 * time.Second)
		tt.WantState(fails.ID, task.Dead)
		late, err := tt.Submit(tt.Context(), ax.NewTask{Kind: "waits"})
		if err != nil {
			tt.Fatal(err)
		}
		tt.Advance(time.Hour)
		tt.WantState(late.ID, task.Dead)
		waits = mustSubmit(tt, ax.NewTask{Kind: "waits"})
		mustSubmit(tt, ax.NewTask{Kind: "sleeps"}) // through the end; it fails nothing
		tt.RunDue()
		tt.WantState(waits, task.Running)
	})
	rows, err := st.Tasks(t.Context(), []ax.ID{waits})
	if err != nil || len(rows) != 1 || rows[0].State != task.Scheduled || rows[0].Failures != 0 {
		t.Errorf("after the end a running task is not handed back: %+v, %v", rows, err)
	}
}

func mustSubmit(tt *axtest.T, n ax.NewTask) ax.ID {
	tt.Helper()
	res, err := tt.Submit(tt.Context(), n)
	if err != nil {
		tt.Fatal(err)
	}
	return res.ID
}

// TestSeed: the same test makes the same ids and the same jitter, another seed others.
func TestSeed(t *testing.T) {
	walk := func(seed uint64) (id ax.ID, retryAt time.Time) {
		axtest.Run(t, ax.Config{Seed: seed}, func(tt *axtest.T) {
			tt.Handle("k", func(context.Context, *ax.Task) error { return errors.New("no") })
			id = mustSubmit(tt, ax.NewTask{Kind: "k"})
			tt.RunDue()
			retryAt = tt.Submitted("k", "").RunAt.Go()
		})
		return id, retryAt
	}
	id, at := walk(0)
	again, atAgain := walk(0)
	other, _ := walk(7)
	if id != again || !at.Equal(atAgain) || id == other {
		t.Errorf("%s at %s, then %s at %s; with another seed %s", id, at, again, atAgain, other)
	}
}

// TestFailures: what is wrong fails the test and says why. Each case runs in a process of its own,
// because a test cannot fail and go on to succeed.
func TestFailures(t *testing.T) {
	const name = "AXTEST_CASE"
	cases := map[string]struct {
		want string // of the output
		f    func(tt *axtest.T)
	}{
		"state": {"k \"7\" is SUCCEEDED, want DEAD\n", func(tt *axtest.T) {
			tt.Handle("k", nothing)
			id := mustSubmit(tt, ax.NewTask{Kind: "k", Key: "7"})
			tt.RunDue()
			tt.WantState(id, task.Dead)
		}},
		"history": {"2000-01-01 00:00:00  SCHEDULED -> RUNNING, ", func(tt *axtest.T) {
			tt.Handle("k", nothing)
			id := mustSubmit(tt, ax.NewTask{Kind: "k"})
			tt.RunDue()
			tt.WantState(id, task.Dead)
		}},
		"unknown id": {"not found", func(tt *axtest.T) { tt.WantState(ax.ID{1}, task.Dead) }},
		"submitted": {`no task of kind "k" with key "7" was submitted`, func(tt *axtest.T) {
			mustSubmit(tt, ax.NewTask{Kind: "k", Key: "8"})
			tt.Submitted("k", "7")
		}},
		"not submitted": {`a task of kind "k" with key "7" was submitted: `, func(tt *axtest.T) {
			mustSubmit(tt, ax.NewTask{Kind: "k", Key: "7"})
			tt.NotSubmitted("k", "")
		}},
		"back": {"d is -1s; time does not go back", func(tt *axtest.T) { tt.Advance(-time.Second) }},
		"registration": {"this kind has a handler already", func(tt *axtest.T) {
			tt.Handle("k", nothing)
			tt.Handle("k", nothing)
			tt.RunDue()
		}},
		"warnings": {"tasks are due that no handler here runs", func(tt *axtest.T) {
			mustSubmit(tt, ax.NewTask{Kind: "k"})
			tt.RunDue()
			tt.Fail() // the output of a test that passes is not shown
		}},
		"never ends": {"axtest_test.TestFailures.func", func(tt *axtest.T) {
			tt.Handle("k", func(context.Context, *ax.Task) error { select {} })
			mustSubmit(tt, ax.NewTask{Kind: "k"})
			tt.RunDue()
		}},
		"panic": {"oops", func(tt *axtest.T) { tt.RunDue(); panic("oops") }},
	}
	if c, ok := cases[os.Getenv(name)]; ok {
		axtest.Run(t, ax.Config{}, c.f)
		return
	}
	for n, c := range cases {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFailures$", "-test.v")
		cmd.Env = append(os.Environ(), name+"="+n)
		out, err := cmd.CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte(c.want)) ||
			bytes.Contains(out, []byte("deadlock")) != (n == "never ends") {
			t.Errorf("%s: %v, want %q in\n%s", n, err, c.want, out)
		}
	}
}

// TestNotes: what handlers have said is there when they have ended, of many at the same instant
// too, and of one that still runs a second later.
func TestNotes(t *testing.T) {
	axtest.Run(t, ax.Config{}, func(tt *axtest.T) {
		tt.Handle("k", func(ctx context.Context, t *ax.Task) error {
			ax.Progress(ctx, 1, 2)
			ax.Logger(ctx).Info("hello", "key", t.Key)
			err := ax.Output(ctx, t.Key)
			if t.Key == "slow" {
				time.Sleep(time.Minute)
			}
			return err
		}, ax.Timeout(time.Hour))
		ids := map[string]ax.ID{}
		for _, key := range []string{"a", "b", "c", "slow"} {
			ids[key] = mustSubmit(tt, ax.NewTask{Kind: "k", Key: key})
		}
		tt.RunDue()
		for _, key := range []string{"a", "b", "c", "slow"} {
			if key == "slow" {
				tt.Advance(time.Second)
				tt.WantState(ids[key], task.Running)
			}
			p, err := tt.Progress(tt.Context(), ids[key])
			if err != nil || p.Done != 1 || string(p.Output) != `"`+key+`"` {
				tt.Errorf("progress of %s: %+v, %v", key, p, err)
			}
			ls, err := tt.Logs(tt.Context(), ax.LogFilter{Task: ids[key]})
			if err != nil || len(ls) != 1 || ls[0].Text != "hello key="+key {
				tt.Errorf("log of %s: %+v, %v", key, ls, err)
			}
		}
	})
}

// TestConfig: a wrong configuration ends the test, the given parts of a right one are kept.
func TestConfig(t *testing.T) {
	var log strings.Builder
	cfg := ax.Config{NodeID: "mine", Service: "billing",
		Logger: slog.New(slog.NewTextHandler(&log, nil))}
	axtest.Run(t, cfg, func(tt *axtest.T) {
		tt.Handle("k", nothing)
		id := mustSubmit(tt, ax.NewTask{Kind: "k"})
		tt.RunDue()
		row := tt.Submitted("k", "")
		if row.ID != id || row.Executor != "mine" || row.OwnerService != "billing" {
			tt.Errorf("executor %q, service %q", row.Executor, row.OwnerService)
		}
	})
	if !strings.Contains(log.String(), "leading") {
		t.Errorf("the logger was not used: %q", log.String())
	}
}
