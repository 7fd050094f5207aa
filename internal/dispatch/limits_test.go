package dispatch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/internal/admit"
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
