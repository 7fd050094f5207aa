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

// TestEndlessSuspect: one that never ends keeps the others waiting for a minute, not for ever.
func TestEndlessSuspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		rows := make([]task.Task, 3)
		for i := range rows {
			rows[i] = task.Task{ID: task.ID{1, byte(i)}, Kind: "k", Group: "default",
				Bucket: task.Normal, MaxRetries: -1, Timeout: task.NoTimeout,
				Mutable: task.Mutable{State: task.Scheduled, Run: 1, RunAt: task.StoreNow,
					Recoveries: 2}}
		}
		if _, err := st.Insert(t.Context(), store.Fence{}, rows); err != nil {
			t.Fatal(err)
		}
		a, err := ax.New(st, ax.Config{Logger: quiet, Clock: time.Now, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		var calls atomic.Int64
		a.Handle("k", func(ctx context.Context, _ *ax.Task) error {
			calls.Add(1)
			<-ctx.Done()
			return ctx.Err()
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		for i := range int64(len(rows)) {
			time.Sleep(30 * time.Second)
			if synctest.Wait(); calls.Load() != i+1 {
				t.Errorf("half a minute after start %d: %d run", i+1, calls.Load())
			}
			time.Sleep(31 * time.Second)
		}
		cancel()
		<-done
	})
}

// mortal is the way of one process to the store: when the process is dead it leads nowhere.
type mortal struct {
	*memory.Store
	dead atomic.Bool
}

var errDead = errors.New("this process is dead")

func (s *mortal) Apply(ctx context.Context, f store.Fence, trs []*task.Transition) (
	[]store.Result, error) {
	if s.dead.Load() {
		return nil, errDead
	}
	return s.Store.Apply(ctx, f, trs)
}

func (s *mortal) Registry() registry.Registry { return mortalRegistry{s.Store.Registry(), s} }

type mortalRegistry struct {
	registry.Registry
	s *mortal
}

func (r mortalRegistry) Renew(ctx context.Context, epoch int64, d time.Duration) error {
	if r.s.dead.Load() {
		return errDead
	}
	return r.Registry.Renew(ctx, epoch, d)
}

func (r mortalRegistry) Leave(ctx context.Context, epoch int64) error {
	if r.s.dead.Load() {
		return errDead
	}
	return r.Registry.Leave(ctx, epoch)
}

// lives runs one process after the other on a store. Tasks of the kind "kills" take theirs down
// when they have run for a second, tasks of the kind "long" run until theirs dies.
type lives struct {
	t  *testing.T
	st *memory.Store
	n  uint64
}

// live runs a process until it is taken down, or dies after most.
func (l *lives) live(most time.Duration, submit ...ax.NewTask) {
	l.t.Helper()
	l.n++
	st := &mortal{Store: l.st}
	a, err := ax.New(st, ax.Config{Logger: quiet, Clock: time.Now, Seed: l.n})
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, die := context.WithCancel(l.t.Context())
	kill := func() { st.dead.Store(true); die() }
	a.Handle("kills", func(ctx context.Context, _ *ax.Task) error {
		time.Sleep(time.Second)
		kill()
		return nil
	})
	a.Handle("long", func(ctx context.Context, _ *ax.Task) error {
		<-ctx.Done()
		return nil
	}, ax.Timeout(ax.NoTimeout))
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	for _, k := range submit {
		if _, err := a.Submit(ctx, k); err != nil {
			l.t.Fatal(err)
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(most):
	}
	kill()
	<-done
}

func (l *lives) read(id ax.ID) task.Task {
	l.t.Helper()
	rows, err := l.st.Tasks(l.t.Context(), []task.ID{id})
	if err != nil || len(rows) != 1 {
		l.t.Fatalf("read: %v", err)
	}
	return rows[0]
}

// TestR04KillerAndBystander: the task that takes each process down within a second is dead after
// its third time; one that runs beside it for as long as each process lives never is, however many
// die under it later.
func TestR04KillerAndBystander(t *testing.T) {
	killer, bystander := ax.ID{1, 1}, ax.ID{1, 2}
	for name, tasks := range map[string][]ax.NewTask{
		"killer first":    {{ID: killer, Kind: "kills"}, {ID: bystander, Kind: "long"}},
		"bystander first": {{ID: bystander, Kind: "long"}, {ID: killer, Kind: "kills"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lives{t: t, st: memory.New(memory.Options{})}
				l.live(10*time.Minute, tasks...)
				for range 2 {
					l.live(10 * time.Minute)
				}
				if took := time.Since(bubbleStart.Go()); took > 10*time.Minute {
					t.Errorf("three processes were taken down within %v", took)
				}
				for range 20 {
					l.live(10 * time.Minute)
					if k := l.read(bystander); k.State != task.Running || k.Recoveries > 2 {
						t.Fatalf("bystander: %s(%s), %d recoveries", k.State, k.Reason, k.Recoveries)
					}
				}
				k := l.read(killer)
				if k.State != task.Dead || k.Reason != task.Poison || k.Attempt != 3 {
					t.Errorf("killer: %s(%s) after %d attempts", k.State, k.Reason, k.Attempt)
				}
				if n := l.read(bystander).Attempt; n < 22 {
					t.Errorf("the bystander ran %d times in %d processes", n, l.n)
				}
			})
		})
	}
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
