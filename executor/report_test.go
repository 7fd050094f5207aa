package executor

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

func bare(t *testing.T, cfg Config) *Local {
	t.Helper()
	base := time.Now()
	cfg.Slots, cfg.ZombieWait = 4, time.Minute
	cfg.Limit = func(string) int { return 0 }
	cfg.Freed = func() {}
	cfg.Stuck = func(*task.Task, time.Duration) {}
	cfg.Now = func() int64 { return time.Since(base).Microseconds() }
	cfg.Spawn = func(f func()) { go f() }
	l, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestWaitMeansReported: when Wait returns, every outcome has been handed over; else a stop
// flushes an empty queue and loses the last ones.
func TestWaitMeansReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported atomic.Bool
		l := bare(t, Config{Overdue: func(*task.Task) {},
			Run:    func(context.Context, *task.Task) task.Report { return good },
			Report: func(*task.Task, task.Report) { time.Sleep(time.Millisecond); reported.Store(true) }})
		k := &task.Task{Kind: "k"}
		k.ExecutionID = task.ID{1}
		l.Take("k")
		l.Start(t.Context(), k, time.Hour, false)
		if err := l.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !reported.Load() {
			t.Error("Wait returned before the outcome was handed over")
		}
		time.Sleep(time.Second)
	})
}

// TestOverdueRaces fails under -race: the row given to Overdue is read while the report of the
// same execution is being recorded into it.
func TestOverdueRaces(t *testing.T) {
	var sum atomic.Int64
	reported := make(chan struct{}, 1)
	l := bare(t, Config{
		Run: waiter,
		Report: func(t *task.Task, _ task.Report) {
			t.Version++ // as the completer does
			reported <- struct{}{}
		},
		Overdue: func(t *task.Task) { row := *t; sum.Add(row.Version) },
	})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { l.Run(ctx) })
	for i := range 500 {
		k := &task.Task{Kind: "k"}
		k.ExecutionID = task.ID{1, byte(i), byte(i >> 8)}
		l.Take("k")
		l.Start(t.Context(), k, time.Millisecond, false)
		<-reported
	}
	cancel()
	wg.Wait()
}

// TestLeaveIsFinal: a renewal under way while the member leaves does not register it again.
func TestLeaveIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := slowRenewals{memory.New(memory.Options{}).Registry()}
		base := time.Now()
		retired := false
		m := NewMember(MemberConfig{Registry: r, Member: registry.Member{Name: "n", Instance: "i"},
			TTL: 30 * time.Second, Every: 10 * time.Second,
			Since:   func() time.Duration { return time.Since(base) },
			Retired: func() { retired = true }, Failed: func(error) {}})
		if err := m.Register(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		time.Sleep(10500 * time.Millisecond) // a renewal is under way
		if err := m.Leave(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		cancel()
		<-done
		if ms, err := r.Members(t.Context()); len(ms) != 0 || retired || err != nil {
			t.Errorf("after Leave: members %+v, retired %v, %v", ms, retired, err)
		}
	})
}

type slowRenewals struct{ registry.Registry }

func (r slowRenewals) Renew(ctx context.Context, e int64, d time.Duration) error {
	time.Sleep(time.Second)
	return r.Registry.Renew(ctx, e, d)
}

// TestStuck: a handler that ignores the end of its context is told of once, when it is given up,
// with the time it has run; one that obeys is not.
func TestStuck(t *testing.T) {
	h := func(ctx context.Context, k *task.Task) task.Report {
		if k.Kind == "obeys" {
			return waiter(ctx, k)
		}
		time.Sleep(10 * time.Minute)
		return good
	}
	local(t, h, func(x *fixture) {
		x.start("obeys", 2*time.Second)
		late := x.start("ignores", 2*time.Second)
		canceled := x.start("ignores", task.NoTimeout)
		time.Sleep(30 * time.Second)
		x.Cancel(canceled.ExecutionID, ErrCanceled)
		if got := x.soFar(); len(got.stuck) != 0 {
			t.Errorf("told of %v before it was given up", got.stuck)
		}
		time.Sleep(20 * time.Minute)
		got := x.soFar()
		if len(got.stuck) != 2 || got.stuck[0] != late.ExecutionID ||
			got.stuck[1] != canceled.ExecutionID {
			t.Fatalf("told of %v", got.stuck)
		}
		for i, want := range []time.Duration{62 * time.Second, 90 * time.Second} {
			if d := got.ran[i] - want; d < 0 || d > time.Second {
				t.Errorf("%d has run for %s, want %s", i, got.ran[i], want)
			}
		}
	})
}
