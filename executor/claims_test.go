package executor

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/task"
)

// TestExpect: an execution is known from its claim to its end.
func TestExpect(t *testing.T) {
	local(t, sleeper(time.Second), func(x *fixture) {
		k := &task.Task{ID: task.ID{1}, Kind: "k"}
		k.ExecutionID = task.ID{2}
		x.Expect(k.ExecutionID)
		x.Expect(task.ID{3})
		if !x.Known(k.ExecutionID) || !x.Known(task.ID{3}) || x.Known(task.ID{4}) {
			t.Error("what is claimed is not known, or what is not is")
		}
		x.CancelAll(ErrShutdown) // what has not started has no context to end
		x.Cancel(k.ExecutionID, ErrCanceled)
		short, cancel := context.WithTimeout(x.t.Context(), time.Second)
		defer cancel()
		if err := x.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("does not wait for claims under way: %v", err)
		}
		x.Unexpect(task.ID{3})
		x.Take("k")
		x.Start(x.t.Context(), k, time.Minute, false)
		synctest.Wait()
		if !x.Known(k.ExecutionID) || x.Known(task.ID{3}) {
			t.Error("what runs is not known, or what was given up is")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if x.Known(k.ExecutionID) {
			t.Error("what has ended is still known")
		}
	})
}

// TestClose: no slot is given after it and nothing starts, also not what has a slot; Wait waits
// until that is given back.
func TestClose(t *testing.T) {
	local(t, sleeper(5*time.Second), func(x *fixture) {
		x.Take("k")
		x.Take("k")
		x.Close()
		if x.Take("k") {
			t.Error("a closed executor gives slots")
		}
		k := &task.Task{Kind: "k"}
		k.ExecutionID = task.ID{2}
		time.AfterFunc(time.Second, func() {
			if x.Start(x.t.Context(), k, time.Minute, false) {
				t.Error("a closed executor starts")
			}
			x.Give("k")
		})
		time.AfterFunc(2*time.Second, func() { x.Give("k") })
		if err := x.Wait(x.t.Context()); err != nil || time.Since(x.began) != 2*time.Second {
			t.Errorf("%v after %s", err, time.Since(x.began))
		}
	})
}

// TestSuspects: one suspect at a time; its place is free when it ends, however it ends.
func TestSuspects(t *testing.T) {
	ends := func(_ context.Context, k *task.Task) task.Report {
		time.Sleep(time.Second)
		if k.Kind == "panics" {
			panic("oops")
		}
		return good
	}
	local(t, ends, func(x *fixture) {
		for i, kind := range []string{"ends", "panics", "ends"} {
			if !x.TakeSuspect(time.Minute) || x.TakeSuspect(time.Minute) {
				t.Fatal("there is not exactly one place for a suspect")
			}
			k := &task.Task{Kind: kind}
			k.ExecutionID = task.ID{2, byte(i)}
			x.Take(kind)
			x.Start(x.t.Context(), k, time.Minute, true)
			x.start("bystander", time.Minute)
			time.Sleep(time.Second / 2)
			if x.TakeSuspect(time.Minute) {
				t.Fatal("a second suspect runs")
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		x.TakeSuspect(time.Minute)
		x.GiveSuspect()
		if !x.TakeSuspect(time.Minute) {
			t.Error("the place that was given back is not free")
		}
	})
}

// TestZombieSuspect: a suspect that ignores its end still is one.
func TestZombieSuspect(t *testing.T) {
	local(t, sleeper(10*time.Second), func(x *fixture) {
		k := &task.Task{Kind: "k"}
		k.ExecutionID = task.ID{2}
		x.TakeSuspect(time.Minute)
		x.Take("k")
		x.Start(x.t.Context(), k, time.Second, true)
		time.Sleep(5 * time.Second)
		if x.TakeSuspect(time.Minute) {
			t.Error("a second suspect runs beside a zombie")
		}
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if !x.TakeSuspect(time.Minute) {
			t.Error("the place is not free after the zombie has ended")
		}
	})
}

// TestSuspectTime: a suspect that runs on leaves its place when its time is over, and only its own.
func TestSuspectTime(t *testing.T) {
	h := func(ctx context.Context, k *task.Task) task.Report {
		if k.Kind == "short" {
			time.Sleep(time.Second)
			return good
		}
		return waiter(ctx, k)
	}
	local(t, h, func(x *fixture) {
		suspect := func(kind string) task.ID {
			t.Helper()
			if !x.TakeSuspect(time.Minute) {
				t.Fatalf("after %s the place is not free", time.Since(x.began))
			}
			return x.begin(kind, task.NoTimeout, true).ExecutionID
		}
		until := func(at time.Duration, free bool) {
			t.Helper()
			time.Sleep(at - time.Since(x.began))
			synctest.Wait()
			if x.SuspectFree() != free {
				t.Errorf("after %s the place is free: %v", at, !free)
			}
		}
		suspect("short")
		until(30*time.Second, true)
		first := suspect("long")
		until(89*time.Second, false) // the time of the short one ended at 60 s
		freed := x.soFar().freed
		until(91*time.Second, true)
		if x.soFar().freed != freed+1 || x.Free() != 3 || !x.Known(first) {
			t.Errorf("told %d times, %d slots free", x.soFar().freed-freed, x.Free())
		}
		suspect("long")
		x.Cancel(first, ErrCanceled)
		until(150*time.Second, false) // the end of the first is not that of the second
		until(152*time.Second, true)
		x.CancelAll(ErrCanceled)
	})
}

// TestD17Races starts and stops ten thousand times: when Wait has returned after the last start,
// nothing runs any more.
func TestD17Races(t *testing.T) {
	var running, reported atomic.Int64
	l, err := New(Config{Slots: 8, Limit: func(string) int { return 0 },
		Run: func(context.Context, *task.Task) task.Report {
			running.Add(1)
			defer running.Add(-1)
			return good
		},
		Report:  func(*task.Task, task.Report) { reported.Add(1) },
		Overdue: func(*task.Task) {}, Stuck: func(*task.Task, time.Duration) {},
		Freed: func() {}, ZombieWait: time.Minute,
		Now: func() int64 { return 0 }, Spawn: func(f func()) { go f() }})
	if err != nil {
		t.Fatal(err)
	}
	const rounds = 10_000
	var wg sync.WaitGroup
	for i := range rounds {
		k := &task.Task{Kind: "k"}
		k.ExecutionID = task.ID{byte(i), byte(i >> 8)}
		if !l.Take("k") {
			t.Fatal("no slot although nothing runs")
		}
		l.Start(t.Context(), k, time.Minute, false)
		wg.Go(func() { l.CancelAll(ErrShutdown) })
		if err := l.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := running.Load(); n != 0 || l.Known(k.ExecutionID) {
			t.Fatalf("round %d: %d handlers run after Wait", i, n)
		}
		wg.Wait()
	}
}

// TestCancelIgnored: a canceled handler that ignores its context loses its slot at once and is
// given up after the zombie wait; asking again changes nothing, a late success is still reported.
func TestCancelIgnored(t *testing.T) {
	local(t, sleeper(5*time.Minute), func(x *fixture) {
		k := x.start("k", task.NoTimeout)
		free := x.Free()
		x.Cancel(k.ExecutionID, ErrCanceled)
		if x.Free() != free+1 {
			t.Error("its slot is not free")
		}
		time.Sleep(30 * time.Second)
		x.Cancel(k.ExecutionID, ErrCanceled)
		x.pass(31 * time.Second)
		if r, _ := x.only(); r.Outcome != task.OutTimeout || !r.Stopped {
			t.Errorf("given up with %+v", r)
		}
		time.Sleep(5 * time.Minute)
		got := x.soFar()
		if n := len(got.reports); n != 2 || got.reports[1].Outcome != task.OutSucceeded ||
			got.reports[1].Stopped {
			t.Errorf("%+v", got.reports)
		}
		if used, zombies := x.Load(); used != 0 || zombies != 0 {
			t.Errorf("%d slots, %d zombies left", used, zombies)
		}
	})
}
