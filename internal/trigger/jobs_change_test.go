package trigger

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// TestT11ConcurrentPuts: a hundred upserts from five nodes make one definition, and each slot
// fires once.
func TestT11ConcurrentPuts(t *testing.T) {
	jobs(t, func(s *shop) {
		var ends []func()
		for range 5 {
			_, end := s.lead() // each takes over from the one before
			ends = append(ends, end)
		}
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { s.put("j", every(5*time.Second)) })
		}
		wg.Wait()
		pass(60 * time.Second)
		defs, err := s.store.Jobs(s.t.Context(), 0)
		if err != nil || len(defs) != 1 || defs[0].Version != 1 {
			t.Errorf("definitions %+v, %v", defs, err)
		}
		var want []string
		for d := 5 * time.Second; d <= time.Minute; d += 5 * time.Second {
			want = append(want, d.String())
		}
		s.want("j", want...)
		for _, end := range ends {
			end()
		}
	})
}

// TestD16Restarts: twenty restarts of three replicas make one definition with one waiting fire.
func TestD16Restarts(t *testing.T) {
	jobs(t, func(s *shop) {
		pass(time.Second / 2)
		for range 20 {
			var ends []func()
			for range 3 {
				s.putJob(task.Job{Name: "j", Schedule: every(time.Second), Overlap: task.OverlapSkip})
				_, end := s.lead()
				ends = append(ends, end)
			}
			pass(5 * time.Second)
			for _, end := range ends {
				end()
			}
		}
		waiting := 0
		for _, k := range s.fires("j") {
			if k.State == task.Scheduled {
				waiting++
			}
		}
		defs, err := s.store.Jobs(s.t.Context(), 0)
		if err != nil || len(defs) != 1 || waiting != 1 || len(s.fires("j")) != 100 {
			t.Errorf("%d definitions, %d waiting of %d fires, %v", len(defs), waiting,
				len(s.fires("j")), err)
		}
	})
}

// TestD13AnswerLost: the fire was written but its answer did not come. It is neither lost nor made
// twice, and the next comes in time.
func TestD13AnswerLost(t *testing.T) {
	jobs(t, func(s *shop) {
		s.put("j", every(10*time.Second))
		_, end := s.lead()
		pass(5 * time.Second)
		s.store.set(func() { s.store.lose = 1 })
		pass(30 * time.Second)
		s.want("j", "10s", "20s", "30s")
		end()
	})
}

// TestStoreAwayWhileDue: fires that were due meanwhile are one run with the latest time.
func TestStoreAwayWhileDue(t *testing.T) {
	jobs(t, func(s *shop) {
		s.put("j", every(10*time.Second))
		_, end := s.lead()
		pass(5 * time.Second)
		s.store.set(func() { s.store.down = true })
		pass(30 * time.Second)
		s.store.set(func() {
			s.store.down = false
			if s.store.calls > 20 {
				t.Errorf("%d tries in 30 s", s.store.calls)
			}
		})
		pass(10 * time.Second)
		s.want("j", "30s x3", "40s")
		end()
	})
}

// TestA08ReplacedSchedule: the old schedule is dead at once, the new one owes nothing of the past.
func TestA08ReplacedSchedule(t *testing.T) {
	jobs(t, func(s *shop) {
		s.put("j", crontab("*/2 * * * *"))
		j, end := s.lead()
		pass(90*time.Second + 2*time.Minute)
		s.put("j", crontab("0 * * * *"))
		j.Wake()
		pass(2 * time.Hour)
		s.want("j", "2m0s", "1h0m0s", "2h0m0s")
		pass(15 * time.Minute)
		s.put("j", crontab("*/10 * * * *")) // 02:10 has passed
		j.Wake()
		pass(4 * time.Minute)
		s.want("j", "2m0s", "1h0m0s", "2h0m0s", "2h20m0s")
		end()
	})
}

// TestDeletedJob: it stops, its name can be used again.
func TestDeletedJob(t *testing.T) {
	jobs(t, func(s *shop) {
		s.put("j", every(10*time.Second))
		j, end := s.lead()
		pass(15 * time.Second)
		if err := s.store.DeleteJob(s.t.Context(), "j"); err != nil {
			t.Fatal(err)
		}
		j.Wake()
		pass(time.Minute)
		s.want("j", "10s")
		s.put("j", every(20*time.Second))
		pass(30 * time.Second)
		s.want("j", "10s", "1m35s")
		end()
	})
}

// end applies an event to the latest fire of a job, and tells the leader.
func (s *shop) end(j *Jobs, name string, es ...task.Event) {
	s.t.Helper()
	fires := s.fires(name)
	k := fires[len(fires)-1]
	tr := task.Begin(&k)
	tr.Set.FinishedAt = task.StoreNow
	for _, e := range es {
		if e == task.Fail {
			tr.Set.Failures++
		}
		tr.Then(e, 0, "")
	}
	res, err := s.store.Apply(s.t.Context(), store.Fence{}, []*task.Transition{tr})
	if err != nil || res[0].Status != store.Applied {
		s.t.Fatalf("%v, %v", res, err)
	}
	j.Ended(k.JobID)
}

// TestAfter: so long after the job was made, then after the end of each run, whatever its end;
// retries are not an end. A new leader knows it from the table.
func TestAfter(t *testing.T) {
	jobs(t, func(s *shop) {
		s.put("j", task.Schedule{After: time.Minute})
		j, end := s.lead()
		pass(61 * time.Second)
		s.want("j", "1m0s")
		s.end(j, "j", task.ClaimLocal, task.Fail, task.Retry)
		pass(10 * time.Minute)
		s.want("j", "1m0s")
		s.end(j, "j", task.ClaimLocal, task.Fail, task.Bury) // at 11m1s
		pass(time.Minute)
		s.want("j", "1m0s", "12m1s")
		end()
		j, end = s.lead()
		pass(10 * time.Minute)
		s.want("j", "1m0s", "12m1s")
		s.end(j, "j", task.Cancel) // at 22m1s
		end()
		pass(time.Hour)
		_, end = s.lead()
		pass(time.Second)
		s.want("j", "1m0s", "12m1s", "23m1s")
		end()
	})
}

// TestAt: once, in time or late, never again.
func TestAt(t *testing.T) {
	for _, down := range []time.Duration{0, time.Hour} {
		jobs(t, func(s *shop) {
			s.put("j", task.Schedule{At: began.Add(30 * time.Minute)})
			pass(down)
			for range 3 {
				_, end := s.lead()
				pass(time.Hour)
				end()
			}
			s.want("j", "30m0s")
		})
	}
}

// TestWaitingFireIsSuperseded: at most one fire of a skip job waits; one that has failed becomes
// DEAD, so that a job that never succeeds is seen.
func TestWaitingFireIsSuperseded(t *testing.T) {
	jobs(t, func(s *shop) {
		s.putJob(task.Job{Name: "j", Schedule: every(time.Minute), Overlap: task.OverlapSkip})
		j, end := s.lead()
		pass(121 * time.Second) // two fires, nobody runs them
		s.end(j, "j", task.ClaimLocal, task.Fail, task.Retry)
		pass(2 * time.Minute)
		s.end(j, "j", task.ClaimLocal) // the fourth runs
		pass(time.Minute)
		var got []string
		for _, k := range s.fires("j") {
			got = append(got, fmt.Sprintf("%s(%s)", k.State, k.Reason))
			if k.OverlapKey != "job/"+k.JobID.String() {
				t.Errorf("overlap key %q", k.OverlapKey)
			}
		}
		want := "SKIPPED(superseded) DEAD(superseded) SKIPPED(superseded) RUNNING() SCHEDULED()"
		if strings.Join(got, " ") != want {
			t.Errorf("fires are %v, want %s", got, want)
		}
		end()
	})
}

// TestAllowKeepsAll: fires of an allow job wait side by side, without a key.
func TestAllowKeepsAll(t *testing.T) {
	jobs(t, func(s *shop) {
		s.put("j", every(time.Minute))
		_, end := s.lead()
		pass(5*time.Minute + time.Second)
		for _, k := range s.fires("j") {
			if k.State != task.Scheduled || k.OverlapKey != "" {
				t.Errorf("%s, key %q", k.State, k.OverlapKey)
			}
		}
		s.want("j", "1m0s", "2m0s", "3m0s", "4m0s", "5m0s")
		end()
	})
}

// TestManyJobs: more jobs than one transaction takes, all due at once.
func TestManyJobs(t *testing.T) {
	jobs(t, func(s *shop) {
		for i := range maxFires + 100 {
			s.put(fmt.Sprint("j", i), every(time.Minute))
		}
		_, end := s.lead()
		pass(61 * time.Second)
		for i := range maxFires + 100 {
			s.want(fmt.Sprint("j", i), "1m0s")
		}
		s.store.set(func() {
			if s.store.calls != 2 {
				t.Errorf("%d transactions", s.store.calls)
			}
		})
		end()
	})
}
