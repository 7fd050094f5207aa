package ax_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// fixture is one scheduler over a memory store in a bubble of fake time.
type fixture struct {
	*ax.Scheduler
	t     *testing.T
	store *memory.Store
	stop  func() // graceful, waits
}

// bubble runs f in fake time with a scheduler that runs. Handlers are registered by setup.
func bubble(t *testing.T, cfg ax.Config, setup func(*ax.Scheduler), f func(*fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		x := start(t, st, cfg, setup)
		f(x)
		x.stop()
	})
}

// start runs a scheduler on st until stop.
func start(t *testing.T, st *memory.Store, cfg ax.Config, setup func(*ax.Scheduler)) *fixture {
	t.Helper()
	cfg.Clock = time.Now
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	cfg.Seed = max(cfg.Seed, 1) // two processes of one test need two seeds
	a, err := ax.New(st, cfg)
	if err != nil {
		t.Fatal(err)
	}
	setup(a)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	synctest.Wait()
	return &fixture{Scheduler: a, t: t, store: st, stop: func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}}
}

func (x *fixture) submit(n ax.NewTask) ax.ID {
	x.t.Helper()
	r, err := x.Submit(x.t.Context(), n)
	if err != nil {
		x.t.Fatal(err)
	}
	return r.ID
}

// walk prints a task's history, times counted from the start of the bubble.
func (x *fixture) walk(w *bytes.Buffer, title string, id ax.ID) {
	x.t.Helper()
	h, err := x.History(x.t.Context(), id)
	if err != nil {
		x.t.Fatal(err)
	}
	fmt.Fprintf(w, "# %s\n", title)
	for _, e := range h {
		fmt.Fprintf(w, "%2d %9s  %-9s -> %-9s %-14s", e.Version,
			e.At.Sub(bubbleStart).Round(time.Millisecond), e.From, e.To, e.Event)
		fmt.Fprintf(w, " attempt %d by %q epoch %d token %d", e.Attempt, e.Executor, e.Epoch,
			e.Token)
		for _, s := range []string{e.Reason.String(), e.Detail, e.Actor} {
			if s != "" {
				fmt.Fprintf(w, ", %s", s)
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

// TestWalk freezes what a task goes through, row by row.
func TestWalk(t *testing.T) {
	var w bytes.Buffer
	flaky := retry.Policy{Kind: retry.Fixed, DelayMS: 5000} // no jitter: it depends on the order
	fails := 0
	cfg := ax.Config{NodeID: "n1"}
	setup := func(a *ax.Scheduler) {
		a.Handle("plain", func(context.Context, *ax.Task) error { return nil })
		a.Handle("flaky", func(context.Context, *ax.Task) error {
			if fails++; fails < 2 {
				return errors.New("the bank does not answer")
			}
			return nil
		}, ax.Retry(flaky))
		a.Handle("wait", func(ctx context.Context, _ *ax.Task) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}
	bubble(t, cfg, setup, func(x *fixture) {
		delayed := x.submit(ax.NewTask{Kind: "plain", Delay: 30 * time.Minute})
		now := x.submit(ax.NewTask{Kind: "plain"})
		retried := x.submit(ax.NewTask{Kind: "flaky"})
		canceled := x.submit(ax.NewTask{Kind: "wait"})
		synctest.Wait()
		by := ax.By{Actor: "ana", Reason: "wrong order"}
		if err := x.Cancel(t.Context(), canceled, by); err != nil {
			t.Fatal(err)
		}
		job := ax.JobSpec{Name: "report", Schedule: ax.Every(time.Minute), Kind: "plain"}
		if err := x.PutJob(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		time.Sleep(31 * time.Minute)
		synctest.Wait()
		x.walk(&w, "a delayed task", delayed)
		x.walk(&w, "a task that is due at once, inserted as claimed", now)
		x.walk(&w, "a retry", retried)
		x.walk(&w, "a canceled task that was running", canceled)
		fires, err := x.List(t.Context(), ax.Filter{Job: "report", Limit: 1})
		if err != nil || len(fires) != 1 {
			t.Fatalf("fires: %v, %v", fires, err)
		}
		x.walk(&w, "a fire of a job", fires[0].ID)
	})
	synctest.Test(t, func(t *testing.T) { lostClaim(t, &w) })
	golden(t, "walk.golden", w.Bytes())
}

// lostClaim lets a process end under a handler that ignores its context: the next process retires
// its epoch and runs the task again.
func lostClaim(t *testing.T, w *bytes.Buffer) {
	st := memory.New(memory.Options{})
	block := make(chan struct{})
	x := start(t, st, ax.Config{NodeID: "n1"}, func(a *ax.Scheduler) {
		a.Handle("hang", func(context.Context, *ax.Task) error { <-block; return nil })
	})
	id := x.submit(ax.NewTask{Kind: "hang"})
	synctest.Wait()
	x.stop()
	y := start(t, st, ax.Config{NodeID: "n2", Seed: 2}, func(a *ax.Scheduler) {
		a.Handle("hang", func(context.Context, *ax.Task) error { return nil })
	})
	time.Sleep(2 * time.Minute)
	y.walk(w, "an execution lost with its process", id)
	y.stop()
	close(block) // the handler of the dead process: its report comes from nowhere
}

// golden compares got with a file of testdata; AX_GOLDEN=1 rewrites it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("AX_GOLDEN") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (AX_GOLDEN=1 rewrites it):\n%s", path, d)
	}
}

// bubbleStart is where fake time begins.
var bubbleStart = task.FromGo(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
