package ax_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// countTasks ends the run when Tasks is called in a hot loop.
type countTasks struct {
	*memory.Store
	n    atomic.Int64
	stop func()
}

func (s *countTasks) Tasks(ctx context.Context, ids []task.ID) ([]task.Task, error) {
	if s.n.Add(1) > 100_000 {
		s.stop()
		return nil, errors.New("too many reads")
	}
	return s.Store.Tasks(ctx, ids)
}

// TestWaitingSuspectDoesNotSpin: while one suspect runs, the next one waits without reading.
func TestWaitingSuspectDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &countTasks{Store: memory.New(memory.Options{})}
		rows := make([]task.Task, 2)
		for i := range rows {
			rows[i] = task.Task{ID: task.ID{1, byte(i)}, Kind: "k", Group: "default",
				Bucket: task.Normal, MaxRetries: -1, Mutable: task.Mutable{State: task.Scheduled,
					Run: 1, RunAt: task.StoreNow, Recoveries: 2}}
		}
		if _, err := st.Insert(t.Context(), store.Fence{}, rows); err != nil {
			t.Fatal(err)
		}
		a, err := ax.New(st, ax.Config{Logger: quiet, Clock: time.Now, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		var calls atomic.Int64
		a.Handle("k", func(context.Context, *ax.Task) error {
			calls.Add(1)
			time.Sleep(10 * time.Second)
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		st.stop = cancel
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
		}
		cancel()
		<-done
		if st.n.Load() > 1000 || calls.Load() != 2 {
			t.Errorf("%d reads of tasks, %d runs in %v", st.n.Load(), calls.Load(),
				time.Since(bubbleStart.Go()))
		}
	})
}

// TestClaimsGoOnWhenTheLeaseIsBack: the registry alone is away for a while.
func TestClaimsGoOnWhenTheLeaseIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &noRenew{Store: memory.New(memory.Options{})}
		a, err := ax.New(st, ax.Config{Logger: quiet, Clock: time.Now, Seed: 1,
			ExecutorTTL: 6 * time.Second, Heartbeat: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var at atomic.Int64
		a.Handle("k", func(context.Context, *ax.Task) error {
			at.Store(time.Now().UnixNano())
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		synctest.Wait()
		st.down.Store(true)
		if _, err := a.Delay(t.Context(), "k", "", 7*time.Second, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(7500 * time.Millisecond)
		st.down.Store(false)
		back := time.Now()
		time.Sleep(5 * time.Minute)
		if ran := time.Unix(0, at.Load()); at.Load() == 0 || ran.Sub(back) > 10*time.Second {
			t.Errorf("lease back at %v, the due task ran at %v", back, ran)
		}
		cancel()
		<-done
	})
}

type noRenew struct {
	*memory.Store
	down atomic.Bool
}

func (s *noRenew) Registry() registry.Registry { return flakyRegistry{s.Store.Registry(), s} }

type flakyRegistry struct {
	registry.Registry
	s *noRenew
}

func (r flakyRegistry) Renew(ctx context.Context, e int64, d time.Duration) error {
	if r.s.down.Load() {
		return errors.New("no connection")
	}
	return r.Registry.Renew(ctx, e, d)
}
