package sweep

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// claim starts a scheduled task on an executor as soon as it is due.
func (s *site) claim(id task.ID, epoch int64) {
	s.t.Helper()
	row := s.want(id, task.Scheduled)
	time.Sleep(time.Until(row.RunAt.Go()))
	s.n++
	tr := complete.Claim(&row, task.ID{2, byte(s.n >> 8), byte(s.n)}, "x", epoch, 0)
	res, err := s.store.Apply(s.t.Context(), store.Fence{}, []*task.Transition{tr})
	if err != nil || res[0].Status != store.Applied {
		s.t.Fatalf("claim: %v, %v", res, err)
	}
}

// deaths runs a task on one executor after the other, each of which dies under it after it has
// lived for a while, and lets after happen then. check sees the row when it was recovered.
func (s *site) deaths(lives []time.Duration, after func(), check func(n int, k task.Task)) {
	s.t.Helper()
	var id task.ID
	for i, life := range lives {
		epoch, kill := s.executor("a")
		if i == 0 {
			id = s.run(epoch, nil)
		} else {
			s.claim(id, epoch)
		}
		time.Sleep(life)
		kill()
		after()
		synctest.Wait()
		k := s.read(id)
		if check(i+1, k); s.t.Failed() || k.State != task.Scheduled {
			return
		}
	}
}

// waysBack are what may happen after the death of an executor, until its task comes back.
func (s *site) waysBack() map[string]func() {
	return map[string]func(){
		"its lease runs out": func() {
			end := s.lead()
			time.Sleep(s.ttl + 2*sweeps + silence)
			end()
		},
		"it starts again": func() {
			end := s.lead()
			time.Sleep(3 * time.Second)
			_, kill := s.executor("a") // retires the epoch of its predecessor
			time.Sleep(2 * sweeps)
			kill()
			end()
		},
		"nobody leads for long": func() {
			time.Sleep(s.ttl + time.Hour)
			end := s.lead()
			time.Sleep(silence + 2*sweeps)
			end()
		},
		"the store answers in part": func() {
			s.store.set(func() { s.store.partial = true })
			end := s.lead()
			time.Sleep(s.ttl + 10*time.Minute)
			s.store.set(func() { s.store.partial = false })
			time.Sleep(2 * sweeps)
			end()
		},
	}
}

// eachWay runs f once for each way back, with short leases and long ones.
func eachWay(t *testing.T, f func(s *site, after func())) {
	for _, ttl := range []time.Duration{leaseTTL, 20 * time.Minute} {
		for name := range (&site{}).waysBack() {
			t.Run(fmt.Sprintf("%s, leases of %s", name, ttl), func(t *testing.T) {
				onSite(t, func(s *site) {
					s.ttl = ttl
					f(s, s.waysBack()[name])
				})
			})
		}
	}
}

// TestR04True: what takes its executor down within seconds is dead at the third loss, however long
// it takes to find the death.
func TestR04True(t *testing.T) {
	eachWay(t, func(s *site, after func()) {
		second := 2 * time.Second
		seen := 0
		s.deaths([]time.Duration{second, second, second}, after, func(n int, k task.Task) {
			state := task.Scheduled
			if seen = n; n == 3 {
				state = task.Dead
			}
			if k.State != state || k.Recoveries != n {
				s.t.Errorf("after %d losses: %s(%s), %d recoveries", n, k.State, k.Reason,
					k.Recoveries)
			}
		})
		if seen != 3 {
			s.t.Errorf("lost %d times", seen)
		}
	})
}

// TestR04Innocent: what runs on and on is never condemned, however often its executors die.
func TestR04Innocent(t *testing.T) {
	eachWay(t, func(s *site, after func()) {
		lives := []time.Duration{time.Hour, time.Second}
		for i := range 40 {
			lives = append(lives, complete.SuspectTime+time.Duration(i*i*i)*100*time.Millisecond)
		}
		seen := 0
		s.deaths(lives, after, func(n int, k task.Task) {
			seen = n
			if k.State != task.Scheduled || k.Recoveries != min(n, complete.MaxRecoveries) {
				s.t.Errorf("after %d losses: %s(%s), %d recoveries", n, k.State, k.Reason,
					k.Recoveries)
			}
			if n > 1 && k.RunAt.Sub(k.FinishedAt) != time.Second {
				s.t.Errorf("after %d losses: runs %s later", n, k.RunAt.Sub(k.FinishedAt))
			}
		})
		if seen != len(lives) {
			s.t.Errorf("lost %d times of %d", seen, len(lives))
		}
	})
}

// TestR04Doubt: nobody knows how long an executor lived that comes back under its own name after an
// hour. Then its suspect is not condemned, and stays one.
func TestR04Doubt(t *testing.T) {
	onSite(t, func(s *site) {
		away := func() {
			time.Sleep(time.Hour)
			_, kill := s.executor("a")
			end := s.lead()
			time.Sleep(sweeps)
			kill()
			end()
		}
		second := 2 * time.Second
		s.deaths([]time.Duration{second, second, second, second}, away, func(n int, k task.Task) {
			if k.State != task.Scheduled || k.Recoveries != min(n, complete.MaxRecoveries) {
				s.t.Errorf("after %d losses: %s(%s), %d recoveries", n, k.State, k.Reason,
					k.Recoveries)
			}
		})
	})
}
