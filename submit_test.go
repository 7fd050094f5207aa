package ax_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// TestSubmitSameIDWhileItRuns: "the same id is the same task", so a repeated submit starts nothing.
func TestSubmitSameIDWhileItRuns(t *testing.T) {
	var calls atomic.Int64
	bubble(t, ax.Config{}, func(a *ax.Scheduler) {
		a.Handle("slow", func(context.Context, *ax.Task) error {
			calls.Add(1)
			time.Sleep(3 * time.Second)
			return nil
		})
	}, func(x *fixture) {
		id := x.submit(ax.NewTask{Kind: "slow"})
		synctest.Wait()
		r, err := x.Submit(t.Context(), ax.NewTask{ID: id, Kind: "slow"})
		if err != nil || r.ID != id || r.Duplicate {
			t.Errorf("second submit: %+v, %v", r, err)
		}
		time.Sleep(time.Minute)
		if calls.Load() != 1 {
			t.Errorf("the handler was called %d times for one task that succeeded", calls.Load())
		}
	})
}

// TestD17NothingStartsAfterStop: a submit under way while Run stops starts nothing any more.
func TestD17NothingStartsAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &slowStore{Store: memory.New(memory.Options{})}
		a, err := ax.New(st, ax.Config{Clock: time.Now, Logger: quiet, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		var stopped, late bool
		a.Handle("long", func(ctx context.Context, _ *ax.Task) error {
			time.Sleep(8 * time.Second)
			return nil
		})
		a.Handle("short", func(context.Context, *ax.Task) error { late = stopped; return nil })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		synctest.Wait()
		if _, err := a.Submit(t.Context(), ax.NewTask{Kind: "long"}); err != nil {
			t.Fatal(err)
		}
		st.insert = 3 * time.Second
		go a.Submit(t.Context(), ax.NewTask{Kind: "short"})
		synctest.Wait()
		cancel()
		stopped = true
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if late {
			t.Error("a handler started 3 s after Run was told to stop")
		}
	})
}

type slowStore struct {
	*memory.Store
	insert time.Duration
}

func (s *slowStore) Insert(ctx context.Context, f store.Fence, ts []task.Task) ([]store.Inserted,
	error) {
	time.Sleep(s.insert)
	return s.Store.Insert(ctx, f, ts)
}

// TestPayloadIsTheCallersOwn: a caller may use its buffer again as soon as Submit returns.
func TestPayloadIsTheCallersOwn(t *testing.T) {
	got := make(chan string, 1)
	start := make(chan struct{})
	setup := func(a *ax.Scheduler) {
		a.Handle("k", func(_ context.Context, x *ax.Task) error {
			<-start
			got <- string(x.Payload)
			return nil
		})
	}
	st := memory.New(memory.Options{})
	a, err := ax.New(st, ax.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	setup(a)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	buf := []byte("first")
	if _, err := a.Submit(t.Context(), ax.NewTask{Kind: "k", Payload: buf}); err != nil {
		t.Fatal(err)
	}
	copy(buf, "later")
	close(start)
	if s := <-got; s != "first" {
		t.Errorf("the handler saw %q", s)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
