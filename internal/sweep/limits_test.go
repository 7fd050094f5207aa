package sweep

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// wait inserts a task that waits until tomorrow.
func (s *site) wait(set func(k *task.Task)) task.ID {
	s.t.Helper()
	s.n++
	k := task.Task{ID: task.ID{3, byte(s.n >> 8), byte(s.n)}, Kind: "k", Group: "g",
		Bucket: task.Normal, MaxRetries: -1}
	k.State, k.Run, k.RunAt, k.RunIn = task.Scheduled, 1, task.StoreNow, 24*time.Hour
	set(&k)
	if _, err := s.store.Insert(s.t.Context(), store.Fence{}, []task.Task{k}); err != nil {
		s.t.Fatal(err)
	}
	return k.ID
}

// TestExpires: what waits past its end is ended by the sweep after that, all pages of it, and
// nothing earlier.
func TestExpires(t *testing.T) {
	onSite(t, func(s *site) {
		at := task.FromGo(time.Now().Add(time.Minute))
		var ids []task.ID
		for range 2*page + 10 {
			ids = append(ids, s.wait(func(k *task.Task) { k.ExpiresAt = at }))
		}
		later := s.wait(func(k *task.Task) { k.ExpiresAt = at.Add(time.Hour) })
		never := s.wait(func(*task.Task) {})
		end := s.lead()
		time.Sleep(time.Minute)
		for _, id := range ids[:3] {
			s.want(id, task.Scheduled)
		}
		time.Sleep(sweeps + time.Millisecond)
		for _, id := range ids {
			if k := s.want(id, task.Dead); k.Reason != task.Expired || k.FinishedAt == 0 {
				t.Fatalf("task %s is DEAD(%s)", id, k.Reason)
			}
		}
		s.want(later, task.Scheduled)
		s.want(never, task.Scheduled)
		end()
		synctest.Wait()
		if len(s.ended) != len(ids) || len(s.recovered) != 0 {
			t.Errorf("told of %d ended and %d recovered tasks", len(s.ended), len(s.recovered))
		}
	})
}

// TestOverlong: an execution without a result is held after its max lifetime, although its executor
// lives.
func TestOverlong(t *testing.T) {
	onSite(t, func(s *site) {
		epoch, stop := s.executor("alive")
		s.policy.MaxLifetime = time.Minute
		id := s.run(epoch, func(k *task.Task) { k.DispatchedAt = task.StoreNow })
		end := s.lead()
		time.Sleep(time.Minute)
		s.want(id, task.Running)
		time.Sleep(sweeps + time.Millisecond)
		if k := s.want(id, task.Held); k.Reason != task.Overlong {
			t.Errorf("held because of %s", k.Reason)
		}
		end()
		stop()
		if len(s.ended) != 1 {
			t.Errorf("told of %d tasks", len(s.ended))
		}
	})
}

// TestHeldNotRecovered: what a dead executor ran is left to a person where the policy says so.
func TestHeldNotRecovered(t *testing.T) {
	onSite(t, func(s *site) {
		epoch, kill := s.executor("dead")
		s.policy.OnUnknown = task.UnknownHold
		id := s.run(epoch, nil)
		end := s.lead()
		kill()
		time.Sleep(leaseTTL + silence + 2*sweeps)
		if k := s.want(id, task.Held); k.Reason != task.Lost || k.LastOutcome != task.OutLost {
			t.Errorf("%s, last %s", k.Reason, k.LastOutcome)
		}
		end()
		if len(s.recovered) != 1 {
			t.Errorf("told of %d tasks", len(s.recovered))
		}
	})
}
