package dispatch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// TestKeyBusy: of several tasks with one overlap key one runs, the others are SKIPPED(overlap).
func TestKeyBusy(t *testing.T) {
	dispatcher(t, 8, time.Second, func(r *rig) {
		its := r.insert(5, "k", func(_ int, k *task.Task) {
			k.Overlap, k.OverlapKey = task.OverlapSkip, "job/1"
		})
		r.Push(its)
		synctest.Wait()
		if r.runs() != 1 || r.local.Free() != 7 || len(r.settled) != 5 {
			t.Errorf("%d run, %d slots free, %d settled", r.runs(), r.local.Free(), len(r.settled))
		}
		for _, it := range its {
			if k := r.read(it.ID); k.State != task.Running &&
				(k.State != task.Skipped || k.Reason != task.Overlapped) {
				t.Errorf("%s rests in %s(%s)", k.ID, k.State, k.Reason)
			}
		}
		if len(r.skipped) != 4 {
			t.Errorf("%d skipped tasks were told of", len(r.skipped))
		}
		for _, k := range r.skipped { // as the row is now
			if row := r.read(k.ID); k.State != task.Skipped || k.Version != row.Version ||
				k.FinishedAt != row.FinishedAt {
				t.Errorf("told of %+v, the row is %+v", k, row)
			}
		}
	})
}

// TestUnhandledKind: a kind without a handler takes no slot.
func TestUnhandledKind(t *testing.T) {
	dispatcher(t, 2, time.Second, func(r *rig) {
		its := append(r.insert(3, "elsewhere", nil), r.insert(1, "k", nil)...)
		r.Push(its)
		synctest.Wait()
		if r.runs() != 1 || r.local.Free() != 1 || r.states()[task.Scheduled] != 3 {
			t.Errorf("%d ran, %d slots free, states %v", r.runs(), r.local.Free(), r.states())
		}
	})
}

// TestBacklogPauses: while too many outcomes are not recorded, nothing is claimed.
func TestBacklogPauses(t *testing.T) {
	dispatcher(t, 2, time.Second, func(r *rig) {
		r.set(func() { r.backlog = MaxBacklog + 1 })
		r.Push(r.insert(1, "k", nil))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if r.runs() != 0 || r.Waiting() != 1 {
			t.Errorf("%d ran, %d wait", r.runs(), r.Waiting())
		}
		r.set(func() { r.backlog = MaxBacklog })
		r.Wake()
		synctest.Wait()
		if r.runs() != 1 {
			t.Errorf("%d ran when the backlog was gone", r.runs())
		}
	})
}

// TestH11NoLeaseNoStart: without a believed executor lease nothing is claimed; when it is back the
// queue goes on without a push.
func TestH11NoLeaseNoStart(t *testing.T) {
	dispatcher(t, 2, time.Second, func(r *rig) {
		r.set(func() { r.member = false })
		r.Push(r.insert(1, "k", nil))
		time.Sleep(time.Minute)
		synctest.Wait()
		if r.runs() != 0 || r.states()[task.Scheduled] != 1 || r.local.Free() != 2 {
			t.Errorf("%d ran, states %v, %d slots free", r.runs(), r.states(), r.local.Free())
		}
		r.set(func() { r.member = true })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if r.runs() != 1 {
			t.Errorf("%d ran two seconds after the lease was back", r.runs())
		}
	})
}

// TestStoreAway: tasks go back to the queue with their slots, and run when the store is back.
func TestStoreAway(t *testing.T) {
	dispatcher(t, 4, time.Millisecond, func(r *rig) {
		r.store.set(func(s *faulty) { s.down = true })
		r.Push(r.insert(10, "k", nil))
		time.Sleep(time.Minute)
		if r.Waiting()+4-r.local.Free() != 10 || r.runs() != 0 {
			t.Errorf("%d wait, %d slots free, %d ran", r.Waiting(), r.local.Free(), r.runs())
		}
		r.mu.Lock()
		tries := r.errors
		r.mu.Unlock()
		if tries < 10 || tries > 60 {
			t.Errorf("%d tries in a minute", tries)
		}
		r.store.set(func(s *faulty) { s.down = false })
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if r.runs() != 10 || r.Waiting() != 0 {
			t.Errorf("%d ran, %d wait", r.runs(), r.Waiting())
		}
	})
}

// TestAnswerLost: the claim was written but its answer did not come. The execution is not started
// and not known, so that its row is found and handed back; no slot is lost.
func TestAnswerLost(t *testing.T) {
	dispatcher(t, 4, time.Second, func(r *rig) {
		r.store.set(func(s *faulty) { s.lose = 1 })
		its := r.insert(1, "k", nil)
		r.Push(its)
		time.Sleep(time.Minute)
		synctest.Wait()
		k := r.read(its[0].ID)
		if r.runs() != 0 || k.State != task.Running || r.local.Known(k.ExecutionID) {
			t.Errorf("%d ran, the row is %s, known %v", r.runs(), k.State,
				r.local.Known(k.ExecutionID))
		}
		if r.Waiting() != 0 || r.local.Free() != 4 || r.settled[its[0].ID] != 1 {
			t.Errorf("%d wait, %d slots free, settled %v", r.Waiting(), r.local.Free(), r.settled)
		}
	})
}

// TestFencedEndsTheTerm: after a newer leader was installed nothing is claimed, and Run says so.
func TestFencedEndsTheTerm(t *testing.T) {
	dispatcher(t, 4, time.Second, func(r *rig) {
		if _, err := r.store.Install(r.t.Context(), 0, r.Fence().Token, "other"); err != nil {
			t.Fatal(err)
		}
		r.Push(r.insert(3, "k", nil))
		synctest.Wait()
		if r.runs() != 0 || r.states()[task.Scheduled] != 3 || r.local.Free() != 4 {
			t.Errorf("%d ran, states %v, %d slots free", r.runs(), r.states(), r.local.Free())
		}
	})
}

// TestSuspectsOneAtATime: tasks that may take executors down run alone among their like, the
// others beside them; waiting costs no reads.
func TestSuspectsOneAtATime(t *testing.T) {
	dispatcher(t, 8, 10*time.Second, func(r *rig) {
		suspects := r.insert(3, "k", func(_ int, k *task.Task) { k.Recoveries = 2 })
		r.Push(append(suspects, r.insert(3, "k", nil)...))
		for i := range 3 {
			synctest.Wait()
			if r.runs() != 4+i {
				t.Errorf("%d ran, want %d", r.runs(), 4+i)
			}
			time.Sleep(10 * time.Second)
		}
		synctest.Wait()
		if r.store.reads > 20 || r.Waiting() != 0 {
			t.Errorf("%d reads, %d wait", r.store.reads, r.Waiting())
		}
	})
}

// TestEndlessSuspect: one that runs on and on keeps the others waiting for its time, no longer.
func TestEndlessSuspect(t *testing.T) {
	dispatcher(t, 8, 30*time.Minute, func(r *rig) {
		ctx, cancel := context.WithCancel(r.t.Context())
		defer cancel()
		go r.local.Run(ctx)
		r.Push(r.insert(3, "k", func(_ int, k *task.Task) { k.Recoveries = 2 }))
		for i := range 3 {
			synctest.Wait()
			if r.runs() != 1+i {
				t.Errorf("%d run after %s", r.runs(), time.Since(r.began))
			}
			time.Sleep(complete.SuspectTime - time.Second)
			synctest.Wait()
			if r.runs() != 1+i {
				t.Errorf("%d run after %s", r.runs(), time.Since(r.began))
			}
			time.Sleep(time.Second + 10*time.Millisecond)
		}
		if r.store.reads > 20 || r.Waiting() != 0 {
			t.Errorf("%d reads, %d wait", r.store.reads, r.Waiting())
		}
	})
}

// TestTryNow: when a submitted task may start at once, and when not.
func TestTryNow(t *testing.T) {
	none := func(*rig, *task.Task) {}
	waits := func(n int) func(*rig, *task.Task) {
		return func(r *rig, _ *task.Task) { r.set(func() { r.backlog = n }) }
	}
	for name, c := range map[string]struct {
		set   func(r *rig, k *task.Task)
		taken []string // kinds that have slots already, of two
		ok    bool
	}{
		"free slot":    {none, []string{"k"}, true},
		"full backlog": {waits(MaxBacklog), nil, true},
		"overlap key":  {func(_ *rig, k *task.Task) { k.OverlapKey = "o" }, nil, false},
		"no handler":   {func(_ *rig, k *task.Task) { k.Kind = "elsewhere" }, nil, false},
		"no lease":     {func(r *rig, _ *task.Task) { r.set(func() { r.member = false }) }, nil, false},
		"backlog":      {waits(MaxBacklog + 1), nil, false},
		"no slot":      {none, []string{"k", "k"}, false},
		"others wait": {func(r *rig, _ *task.Task) { r.Push(r.insert(1, "one", nil)) },
			[]string{"one"}, false},
		"kind at a limit": {func(_ *rig, k *task.Task) { k.Kind = "one" }, []string{"one"}, false},
	} {
		dispatcher(t, 2, time.Second, func(r *rig) {
			k := &task.Task{ID: task.ID{3}, Kind: "k", Group: "g", Bucket: task.Normal}
			k.Run, k.RunAt = 1, task.StoreNow
			for _, kind := range c.taken {
				r.local.Take(kind)
			}
			synctest.Wait()
			c.set(r, k) // the dispatcher sleeps and looks again in a second at the earliest
			synctest.Wait()
			r.tryNow(name, k, c.ok)
			for _, kind := range c.taken {
				r.local.Give(kind)
			}
			synctest.Wait()
		})
	}
}

// tryNow compares the answer of TryNow and gives the slot back.
func (r *rig) tryNow(name string, k *task.Task, want bool) {
	r.t.Helper()
	free := r.local.Free()
	_, drop, ok := r.TryNow(k)
	if ok != want {
		r.t.Errorf("%s: %v, want %v", name, ok, want)
	}
	if ok {
		if k.State != task.Running || k.Epoch != 7 || k.Attempt != 1 ||
			k.Token != r.Fence().Token || !r.local.Known(k.ExecutionID) {
			r.t.Errorf("%s: prepared %+v", name, k.Mutable)
		}
		drop()
	}
	if r.local.Free() != free || r.local.Known(k.ExecutionID) {
		r.t.Errorf("%s: %d slots free afterwards, %d before", name, r.local.Free(), free)
	}
}

// TestTryNowStarts: a task inserted as started runs with the times of the store.
func TestTryNowStarts(t *testing.T) {
	dispatcher(t, 1, time.Second, func(r *rig) {
		k := &task.Task{ID: task.ID{3}, Kind: "k", Group: "g", Bucket: task.Normal,
			FireTime: task.StoreNow}
		k.Run, k.RunAt = 1, task.StoreNow
		start, _, ok := r.TryNow(k)
		if !ok {
			t.Fatal("refused")
		}
		ins, err := r.store.Insert(r.t.Context(), r.Fence(), []task.Task{*k})
		if err != nil {
			t.Fatal(err)
		}
		start(ins[0])
		synctest.Wait()
		row := r.read(k.ID)
		if r.runs() != 1 || row.ExecutionID != k.ExecutionID || row.StartedAt != k.StartedAt ||
			row.FireTime != k.FireTime || row.Version != k.Version {
			t.Errorf("row %+v, in memory %+v", row, *k)
		}
	})
}

// TestLeaseLostInBetween: the lease ended between the claim and the start, so nothing starts.
func TestLeaseLostInBetween(t *testing.T) {
	dispatcher(t, 1, time.Second, func(r *rig) {
		k := &task.Task{ID: task.ID{3}, Kind: "k"}
		start, _, ok := r.TryNow(k)
		if !ok {
			t.Fatal("refused")
		}
		r.set(func() { r.member = false })
		start(store.Inserted{ID: k.ID, Version: 1})
		synctest.Wait()
		if r.runs() != 0 || r.local.Free() != 1 || r.local.Known(k.ExecutionID) {
			t.Errorf("%d ran, %d slots free", r.runs(), r.local.Free())
		}
		if len(r.back) != 1 || r.back[0] != k.ExecutionID {
			t.Errorf("handed back: %v, want the execution %s", r.back, k.ExecutionID)
		}
	})
}

// TestRunSaysFenced: the error of a fenced term is the store's.
func TestRunSaysFenced(t *testing.T) {
	dispatcher(t, 1, 0, func(r *rig) {
		if _, err := r.store.Install(r.t.Context(), 0, r.Fence().Token, "other"); err != nil {
			t.Fatal(err)
		}
		r.Push(r.insert(1, "k", nil))
		if _, err := r.runOnce(r.t.Context()); !errors.Is(err, store.ErrFenced) {
			t.Errorf("%v, want ErrFenced", err)
		}
	})
}
