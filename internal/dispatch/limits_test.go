package dispatch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/internal/admit"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// TestTooLate: what has expired or is too late at its claim does not run, gives its slot back and
// is told of; the others of the same claim run.
func TestTooLate(t *testing.T) {
	dispatcher(t, 8, time.Second, func(r *rig) {
		now := task.FromGo(time.Now())
		its := r.insert(5, "k", func(i int, k *task.Task) {
			k.RunAt = now.Add(-time.Minute)
			switch i {
			case 1:
				k.ExpiresAt = now.Add(-time.Second)
			case 2:
				k.MaxLateness = time.Second
			case 3: // a suspect gives its place back too
				k.ExpiresAt, k.Recoveries = now.Add(-time.Second), 2
			case 4:
				k.ExpiresAt, k.MaxLateness = now.Add(time.Second), time.Hour
			}
		})
		r.Push(its)
		synctest.Wait()
		want := []task.State{task.Running, task.Dead, task.Skipped, task.Dead, task.Running}
		reasons := []task.Reason{0, task.Expired, task.Late, task.Expired, 0}
		for i, it := range its {
			if k := r.read(it.ID); k.State != want[i] || k.Reason != reasons[i] || r.settled[it.ID] != 1 {
				t.Errorf("task %d is %s(%s), settled %d times", i, k.State, k.Reason, r.settled[it.ID])
			}
		}
		if r.runs() != 2 || len(r.skipped) != 3 || r.local.Free() != 6 || !r.local.SuspectFree() {
			t.Errorf("%d run, told of %d, %d slots free, place free %v", r.runs(), len(r.skipped),
				r.local.Free(), r.local.SuspectFree())
		}
	})
}

// TestFirstGoesFirst: a task that a person wants now is claimed before those that wait for slots.
func TestFirstGoesFirst(t *testing.T) {
	dispatcher(t, 1, time.Second, func(r *rig) {
		r.Push(r.insert(5, "k", func(_ int, k *task.Task) { k.Bucket = task.Critical }))
		synctest.Wait()
		it := r.insert(1, "k", nil)[0]
		it.Bucket = admit.First
		r.Push([]admit.Item{it, it}) // twice is harmless
		time.Sleep(time.Second)
		synctest.Wait()
		r.set(func() {
			if len(r.ran) != 2 || r.ran[1] != it.ID {
				t.Errorf("after the first slot is free %v ran; want %v next", r.ran, it.ID)
			}
		})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if r.runs() != 6 || r.Waiting() != 0 || r.local.Free() != 1 {
			t.Errorf("%d ran, %d wait, %d slots free", r.runs(), r.Waiting(), r.local.Free())
		}
	})
}

// TestKeyBusyWaits: a busy key skips what has not begun, but not what has failed, was recovered or
// is wanted by a person: that waits for the key.
func TestKeyBusyWaits(t *testing.T) {
	dispatcher(t, 8, time.Second, func(r *rig) {
		now := task.FromGo(time.Now())
		keyed := func(i int, k *task.Task) {
			k.Overlap, k.OverlapKey = task.OverlapSkip, "job/1"
			switch i {
			case 1:
				k.Failures, k.Attempt = 1, 1
			case 2:
				k.Recoveries, k.Attempt = 1, 1
			case 3:
				k.TriggeredAt = now.Add(time.Second)
			case 4: // a job's run that a person has made
				k.TriggeredAt = now
			}
		}
		r.Push(r.insert(1, "k", keyed)) // runs
		synctest.Wait()
		its := r.insert(5, "k", keyed)
		r.Push(its)
		synctest.Wait()
		for i, it := range its {
			want := task.Skipped
			if i >= 1 && i <= 3 {
				want = task.Scheduled
			}
			if k := r.read(it.ID); k.State != want {
				t.Errorf("task %d is %s(%s), want %s", i, k.State, k.Reason, want)
			}
		}
		if r.runs() != 1 || r.local.Free() != 7 {
			t.Errorf("%d run, %d slots are free", r.runs(), r.local.Free())
		}
	})
}

// TestStillRunsHere: a task that was held and is wanted again is not claimed beside its execution,
// which is told to end, until that has ended.
func TestStillRunsHere(t *testing.T) {
	dispatcher(t, 8, 10*time.Second, func(r *rig) {
		it := r.insert(1, "k", nil)[0]
		r.Push([]admit.Item{it})
		synctest.Wait()
		for _, move := range []func(k *task.Task) *task.Transition{
			func(k *task.Task) *task.Transition {
				now := task.FromGo(time.Now().Add(time.Hour))
				return complete.Overlong(k, complete.Policy{MaxLifetime: time.Second}, now)
			},
			func(k *task.Task) *task.Transition {
				tr, err := complete.Resolve(complete.Rerun)(k, complete.By{})
				if err != nil {
					t.Fatal(err)
				}
				return tr
			},
		} {
			k := r.read(it.ID)
			res, err := r.store.Store.Apply(t.Context(), store.Fence{},
				[]*task.Transition{move(&k)})
			if err != nil || res[0].Status != store.Applied {
				t.Fatal(res, err)
			}
		}
		it.RunAt = r.read(it.ID).RunAt
		r.Push([]admit.Item{it})
		synctest.Wait()
		if _, zombies := r.local.Load(); r.runs() != 1 || zombies != 1 ||
			r.later[it.ID] != task.FromGo(time.Now()).Add(runsPause) {
			t.Errorf("%d starts, %d told to end, it waits until %s", r.runs(),
				zombies, r.later[it.ID].Go())
		}
		time.Sleep(11 * time.Second)
		r.Push([]admit.Item{it})
		synctest.Wait()
		if r.runs() != 2 || r.read(it.ID).Attempt != 2 {
			t.Errorf("%d starts after the end of the first", r.runs())
		}
	})
}
