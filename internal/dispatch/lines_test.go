package dispatch

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/executor"
	"github.com/ax-sched/ax/internal/admit"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// reported records what a handler reports, as the completer does.
func (r *rig) reported(k *task.Task, rep task.Report) {
	if r.outcome == nil {
		return
	}
	row := r.read(k.ID)
	rep.ID, rep.Execution, rep.Outcome = k.ID, k.ExecutionID, r.outcome(k)
	p := complete.Policy{MaxRetries: 5, Retry: retry.Policy{Kind: retry.Fixed, DelayMS: 10_000}}
	tr := complete.Decide(&row, rep, p, task.FromGo(time.Now()), 0)
	res, err := r.store.Store.Apply(r.t.Context(), store.Fence{}, []*task.Transition{tr})
	if err != nil || res[0].Status != store.Applied {
		r.t.Errorf("record %s: %v %v", k.ID, res, err)
		return
	}
	res[0].Into(&row, tr)
	if !row.HoldsKey() {
		r.Freed(row.OverlapKey)
	}
}

func succeed(*task.Task) task.Outcome { return task.OutSucceeded }

// overlapping makes tasks that share a key; fires gives the order in which they belong.
func (r *rig) overlapping(o task.Overlap, fires ...int) []admit.Item {
	now := task.FromGo(time.Now())
	return r.insert(len(fires), "k", func(i int, k *task.Task) {
		k.Overlap, k.OverlapKey = o, "shared"
		k.FireTime = now.Add(-time.Duration(fires[i]) * time.Hour)
	})
}

// TestQueueOrder: tasks that share a key run one after the other, in the order of their fire
// times, without a pause between two, and take no slot while they wait.
func TestQueueOrder(t *testing.T) {
	dispatcher(t, 8, time.Second, func(r *rig) {
		r.outcome = succeed
		first := r.overlapping(task.OverlapQueue, 9)
		r.Push(first)
		synctest.Wait()
		its := r.overlapping(task.OverlapQueue, 3, 5, 1, 4, 2)
		r.Push(its)
		synctest.Wait()
		if r.runs() != 1 || r.local.Free() != 7 {
			t.Errorf("%d run, %d slots are free; want one running and its slot taken", r.runs(),
				r.local.Free())
		}
		time.Sleep(6*time.Second + time.Millisecond)
		synctest.Wait()
		want := []task.ID{first[0].ID, its[1].ID, its[3].ID, its[0].ID, its[4].ID, its[2].ID}
		if !slices.Equal(r.ran, want) {
			t.Errorf("ran %v, want %v", r.ran, want)
		}
		if n := r.states()[task.Succeeded]; n != 6 || r.lines.Len() != 0 {
			t.Errorf("%d succeeded within six seconds of work, %d wait", n, r.lines.Len())
		}
	})
}

// TestQueueAcrossRetries: a task that waits for its retry keeps its key, so the next one does not
// overtake it.
func TestQueueAcrossRetries(t *testing.T) {
	dispatcher(t, 8, time.Second, func(r *rig) {
		r.outcome = func(k *task.Task) task.Outcome {
			if k.Attempt == 1 && k.FireTime < task.FromGo(r.began.Add(-time.Hour)) {
				return task.OutFailed
			}
			return task.OutSucceeded
		}
		its := r.overlapping(task.OverlapQueue, 2, 1)
		r.Push(its)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if k := r.read(its[0].ID); r.runs() != 1 || k.State != task.Scheduled || !k.HoldsKey() {
			t.Errorf("%d ran, the failed one is %s", r.runs(), k.State)
		}
		r.Push(its[1:]) // as the wheel does for the head of a line
		synctest.Wait()
		if r.runs() != 1 {
			t.Error("the next task runs before the retry of the one before it")
		}
		k := r.read(its[0].ID)
		time.Sleep(10 * time.Second)
		r.Push([]admit.Item{{ID: k.ID, RunAt: k.RunAt, Kind: k.Kind, Bucket: k.Bucket}})
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if want := []task.ID{its[0].ID, its[0].ID, its[1].ID}; !slices.Equal(r.ran, want) {
			t.Errorf("ran %v, want %v", r.ran, want)
		}
	})
}

// TestQueueCanceledHead: a waiting task that ends otherwise does not hold up those behind it.
func TestQueueCanceledHead(t *testing.T) {
	dispatcher(t, 8, time.Second, func(r *rig) {
		r.outcome = succeed
		its := r.overlapping(task.OverlapQueue, 3, 2, 1)
		r.Push(its)
		synctest.Wait()
		row := r.read(its[1].ID)
		if _, err := r.store.Store.Apply(t.Context(), store.Fence{},
			[]*task.Transition{complete.Cancel(&row, "", "")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if want := []task.ID{its[0].ID, its[2].ID}; !slices.Equal(r.ran, want) {
			t.Errorf("ran %v, want %v", r.ran, want)
		}
	})
}

// TestQueueStoreAway: a claim that failed leaves nobody called, and the order as it was.
func TestQueueStoreAway(t *testing.T) {
	dispatcher(t, 8, time.Second, func(r *rig) {
		r.outcome = succeed
		r.store.set(func(s *faulty) { s.lose = 1 })
		its := r.overlapping(task.OverlapQueue, 3, 2, 1)
		r.Push(its[1:])
		synctest.Wait()
		if r.errors != 1 {
			t.Fatalf("%d errors", r.errors)
		}
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		// The claim whose answer was lost runs nowhere: as the sweep of its own executions does, it
		// is handed back; meanwhile nobody else has the key.
		time.Sleep(5 * time.Second)
		row := r.read(its[1].ID)
		if row.State != task.Running || r.runs() != 0 {
			t.Fatalf("%s, %d ran", row.State, r.runs())
		}
		rep := task.Report{ID: row.ID, Execution: row.ExecutionID, Outcome: task.OutReleased}
		tr := complete.Decide(&row, rep, complete.Policy{}, task.FromGo(time.Now()), 0)
		if _, err := r.store.Store.Apply(t.Context(), store.Fence{},
			[]*task.Transition{tr}); err != nil {
			t.Fatal(err)
		}
		row = r.read(row.ID)
		r.Push([]admit.Item{{ID: row.ID, RunAt: row.RunAt, Kind: row.Kind, Bucket: row.Bucket}})
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if want := []task.ID{its[1].ID, its[2].ID}; !slices.Equal(r.ran, want) {
			t.Errorf("ran %v, want %v", r.ran, want)
		}
	})
}

// TestReplace: a newer task ends the one that runs and starts when it has ended; of several that
// wait only the newest runs.
func TestReplace(t *testing.T) {
	dispatcher(t, 8, time.Hour, func(r *rig) {
		r.outcome = func(k *task.Task) task.Outcome { return task.OutFailed }
		old := r.overlapping(task.OverlapReplace, 9)
		r.Push(old)
		synctest.Wait()
		its := r.overlapping(task.OverlapReplace, 3, 1, 2)
		r.Push(its)
		synctest.Wait()
		if k := r.read(old[0].ID); k.State != task.Canceled || k.Reason != task.ByRequest {
			t.Errorf("the replaced task is %s(%s): %s", k.State, k.Reason, k.Error)
		}
		h, err := r.store.History(t.Context(), old[0].ID)
		if err != nil || h[2].Event != task.AskCancel ||
			h[2].Detail != "replaced by task "+its[0].ID.String() {
			t.Errorf("history %+v, %v", h, err)
		}
		for i, want := range []task.State{task.Skipped, task.Running, task.Skipped} {
			if k := r.read(its[i].ID); k.State != want ||
				want == task.Skipped && k.Reason != task.Superseded {
				t.Errorf("task %d is %s(%s), want %s", i, k.State, k.Reason, want)
			}
		}
		if want := []task.ID{old[0].ID, its[1].ID}; !slices.Equal(r.ran, want) {
			t.Errorf("ran %v, want %v", r.ran, want)
		}
		r.local.CancelAll(executor.ErrCanceled)
	})
}

// TestReplaceOlder: the retry of a task does not end a newer one.
func TestReplaceOlder(t *testing.T) {
	dispatcher(t, 8, time.Hour, func(r *rig) {
		fresh := r.overlapping(task.OverlapReplace, 1)
		r.Push(fresh)
		synctest.Wait()
		old := r.insert(1, "k", func(_ int, k *task.Task) {
			k.Overlap, k.OverlapKey = task.OverlapReplace, "shared"
			k.FireTime, k.Failures, k.Attempt = task.FromGo(r.began.Add(-9*time.Hour)), 1, 1
		})
		r.Push(old)
		synctest.Wait()
		if k := r.read(fresh[0].ID); k.State != task.Running || k.CancelAsked != 0 {
			t.Errorf("the newer task is %s, asked to end at %d", k.State, k.CancelAsked)
		}
		if k := r.read(old[0].ID); k.State != task.Dead || k.Reason != task.Superseded {
			t.Errorf("the older one is %s(%s), want DEAD(superseded): it has failed", k.State, k.Reason)
		}
		r.local.CancelAll(executor.ErrCanceled)
	})
}

// TestQueueCrowded: of more tasks than a line takes the rest is turned away without a slot, and
// when half of it is gone that is told.
func TestQueueCrowded(t *testing.T) {
	dispatcher(t, 8, time.Second, func(r *rig) {
		r.outcome = succeed
		r.lines.MostOfKey = 4
		its := r.overlapping(task.OverlapQueue, 9, 8, 7, 6, 5, 4, 3)
		r.Push(its)
		synctest.Wait()
		r.set(func() {
			if len(r.crowded) != 2 || len(r.lined) != 4 || r.lined[its[0].ID] || r.rooms != 0 {
				t.Errorf("%d turned away, %d in line, told of room %d times", len(r.crowded),
					len(r.lined), r.rooms)
			}
		})
		if r.local.Free() != 7 {
			t.Errorf("%d slots are free", r.local.Free())
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if r.runs() != 5 || r.rooms != 1 {
			t.Errorf("%d ran, told of room %d times", r.runs(), r.rooms)
		}
	})
}

// TestRetryRateCountsStarts: a claim that fails, or meets a busy key, is no retry.
func TestRetryRateCountsStarts(t *testing.T) {
	dispatcher(t, 8, time.Second, func(r *rig) {
		r.retries.Rate = 8
		failed := func(_ int, k *task.Task) {
			k.Attempt, k.Failures, k.LastOutcome = 1, 1, task.OutFailed
		}
		its := r.insert(8, "k", failed)
		r.store.set(func(s *faulty) { s.down = true })
		r.Push(its)
		time.Sleep(20 * time.Second) // claimed again and again, in vain
		r.store.set(func(s *faulty) { s.down = false })
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if r.runs() != 8 || r.Delayed() != 0 {
			t.Errorf("%d ran and %d were put off: claims that came to nothing count", r.runs(),
				r.Delayed())
		}
		more := r.insert(1, "k", failed)
		r.Push(more)
		synctest.Wait()
		if at := r.later[more[0].ID]; at.Sub(task.FromGo(time.Now())) > time.Minute || at == 0 {
			t.Errorf("the ninth within a minute was put off until %s", at.Go())
		}
	})
}
