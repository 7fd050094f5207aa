package trigger

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// TestSkipNext: the next fire has its record and does not run, whoever leads; asking twice skips
// one.
func TestSkipNext(t *testing.T) {
	jobs(t, func(s *shop) {
		s.putJob(task.Job{Name: "j", Schedule: every(time.Minute), Overlap: task.OverlapSkip})
		_, end := s.lead()
		pass(90 * time.Second)
		for range 2 {
			at, err := s.desk().SkipNext(s.t.Context(), Act{"j", "ana", "stocktaking"})
			if err != nil || at != began.Add(2*time.Minute).Go() {
				t.Fatalf("skips %s, %v", at, err)
			}
		}
		end()
		_, end = s.lead()
		pass(2 * time.Minute)
		// The skipped fire is not what waits: the third takes the place of the first.
		s.wantRecords("j", "1m-superseded 2m-request 3m")
		if fires := s.fires("j"); fires[1].Error != "skipped by ana: stocktaking" {
			t.Errorf("who and why: %q", fires[1].Error)
		}
		end()
	})
}

// TestSkipNextTooLate: a fire that was made meanwhile is not reported as skipped.
func TestSkipNextTooLate(t *testing.T) {
	jobs(t, func(s *shop) {
		j := s.putJob(task.Job{Name: "j", Schedule: every(time.Minute)})
		pass(time.Second)
		d := s.desk()
		d.Store = racing{s.store, func() { moveCursor(s, "j", j.LastFire.Add(time.Minute)) }}
		if _, err := d.SkipNext(s.t.Context(), Act{Job: "j"}); !errors.Is(err, errDown) {
			t.Errorf("%v; want a conflict", err)
		}
	})
}

// racing does something just before a job is steered.
type racing struct {
	*firing
	first func()
}

func (r racing) SteerJob(ctx context.Context, id task.ID, version int64, c task.Control) (bool,
	error) {
	r.first()
	return r.firing.SteerJob(ctx, id, version, c)
}

// TestSteerAgain: an act is decided again when the definition has changed under it.
func TestSteerAgain(t *testing.T) {
	jobs(t, func(s *shop) {
		s.put("j", every(time.Minute))
		d, n := s.desk(), 0
		d.Store = racing{s.store, func() {
			if n++; n < 3 {
				s.put("j", every(time.Duration(n)*time.Hour))
			}
		}}
		s.must(d.Pause(s.t.Context(), Act{Job: "j"}, time.Time{}))
		j, err := d.Find(s.t.Context(), "j")
		if err != nil || !j.Paused(j.UpdatedAt) || j.Schedule.Every != 2*time.Hour || n != 3 {
			t.Errorf("after %d tries %+v, %v", n, j, err)
		}
	})
}

// TestPauseStaysOverPuts: a replica that starts again and puts its jobs does not end a pause, and
// neither does a changed definition.
func TestPauseStaysOverPuts(t *testing.T) {
	jobs(t, func(s *shop) {
		s.put("j", every(time.Minute))
		_, end := s.lead()
		pass(61 * time.Second)
		s.must(s.desk().Pause(s.t.Context(), Act{"j", "ana", "broken"}, time.Time{}))
		s.put("j", every(time.Minute))
		pass(time.Hour)
		s.putJob(task.Job{Name: "j", Schedule: every(time.Minute), Payload: []byte("new")})
		pass(time.Hour)
		s.wantRecords("j", "1m")
		if j, err := s.desk().Find(s.t.Context(), "j"); err != nil || j.PausedBy != "ana" ||
			j.PauseReason != "broken" || j.PausedAt != began.Add(61*time.Second) {
			t.Errorf("%+v, %v", j.Control, err)
		}
		end()
	})
}

// TestPauseRefusesTheFireUnderWay: a fire that was computed before the pause is not recorded
// after it.
func TestPauseRefusesTheFireUnderWay(t *testing.T) {
	jobs(t, func(s *shop) {
		j := s.put("j", every(time.Minute))
		s.must(s.desk().Pause(s.t.Context(), Act{Job: "j"}, time.Time{}))
		k := task.Task{ID: s.newID(), Kind: "k", Bucket: task.Normal, FireTime: j.LastFire + 1}
		k.State = task.Scheduled
		res, err := s.store.Fire(s.t.Context(), store.Fence{},
			[]store.Fire{{JobID: j.ID, Version: j.Version, Task: k}})
		if err != nil || res[0].Status != store.JobChanged {
			t.Errorf("%+v, %v; want job_changed", res, err)
		}
	})
}

// TestBounds: no fire before the start, none after the end, none after the last one that runs; all
// of it over changes of the leader.
func TestBounds(t *testing.T) {
	minute := every(time.Minute)
	for _, c := range []struct {
		name string
		job  task.Job
		want string
	}{
		{"start", task.Job{Schedule: minute, StartsAt: began.Add(4*time.Minute) + 1}, "5m 6m 7m"},
		{"start on a fire", task.Job{Schedule: minute, StartsAt: began.Add(5 * time.Minute)},
			"5m 6m 7m"},
		{"end", task.Job{Schedule: minute, EndsAt: began.Add(3*time.Minute - 1)}, "1m 2m"},
		{"end on a fire", task.Job{Schedule: minute, EndsAt: began.Add(3 * time.Minute)}, "1m 2m 3m"},
		{"most", task.Job{Schedule: minute, MaxFires: 2}, "1m 2m"},
		{"once after an end", task.Job{Schedule: task.Schedule{After: time.Minute}, MaxFires: 1},
			"1m"},
		{"start of after", task.Job{Schedule: task.Schedule{After: time.Minute},
			StartsAt: began.Add(3 * time.Minute)}, "3m"},
		{"end of after", task.Job{Schedule: task.Schedule{After: time.Minute},
			EndsAt: began.Add(30 * time.Second)}, ""},
	} {
		jobs(t, func(s *shop) {
			c.job.Name = c.name
			s.putJob(c.job)
			for range 7 {
				_, end := s.lead()
				pass(time.Minute + time.Second/10)
				end()
			}
			s.wantRecords(c.name, c.want)
		})
	}
}

// TestMaxFiresCountsRuns: a row that stands for several fires counts once, one that does not run
// not at all; a new schedule counts anew, a higher limit goes on.
func TestMaxFiresCountsRuns(t *testing.T) {
	jobs(t, func(s *shop) {
		put := func(d time.Duration, most int64) {
			s.putJob(task.Job{Name: "j", Schedule: every(d), MaxFires: most})
		}
		put(time.Minute, 3)
		pass(150 * time.Second)
		_, end := s.lead() // 2m x2
		_, err := s.desk().SkipNext(s.t.Context(), Act{Job: "j"})
		s.must(err)
		pass(10 * time.Minute)
		s.wantRecords("j", "2mx2 3m-request 4m 5m")
		put(time.Minute, 4)
		pass(10 * time.Minute)
		s.wantRecords("j", "2mx2 3m-request 4m 5m 13m")
		put(time.Hour, 1)
		pass(3 * time.Hour)
		s.wantRecords("j", "2mx2 3m-request 4m 5m 13m 1h0m")
		end()
	})
}

// TestJitter: a fire is due within the jitter after its time, its record comes in time, and every
// leader computes the same.
func TestJitter(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 2 {
		jobs(t, func(s *shop) {
			for _, name := range []string{"a", "b"} {
				s.putJob(task.Job{Name: name, Schedule: every(time.Minute), Jitter: 10 * time.Second})
			}
			for range 3 {
				_, end := s.lead()
				pass(10*time.Minute + time.Second)
				end()
			}
			for _, name := range []string{"a", "b"} {
				fires := s.fires(name)
				for _, k := range fires {
					d := k.RunAt.Sub(k.FireTime)
					if d < 0 || d > 10*time.Second || k.CreatedAt.Sub(k.FireTime) > 2*time.Second {
						t.Errorf("%s: due %s after its time, made at %s", name, d, k.CreatedAt.Go())
					}
					seen[d] = true
				}
				if len(fires) != 30 {
					t.Errorf("%d fires", len(fires))
				}
			}
		})
	}
	if len(seen) < 55 || len(seen) > 60 {
		t.Errorf("%d different delays of 60 fires in two equal runs", len(seen))
	}
}

// TestUpcoming: what is shown is what will run.
func TestUpcoming(t *testing.T) {
	j := task.Job{Name: "j", Anchor: began, LastFire: began, Schedule: every(time.Hour)}
	show := func(now time.Duration) string {
		ts, err := Upcoming(&j, began.Add(now), 3)
		if err != nil {
			t.Fatal(err)
		}
		var out []time.Duration
		for _, at := range ts {
			out = append(out, at.Sub(began))
		}
		return fmt.Sprint(out)
	}
	want := func(now time.Duration, want string) {
		t.Helper()
		if got := show(now); got != want {
			t.Errorf("at %s: %s, want %s", now, got, want)
		}
	}
	want(0, "[1h0m0s 2h0m0s 3h0m0s]")
	j.SkipUntil = began.Add(time.Hour)
	want(0, "[2h0m0s 3h0m0s 4h0m0s]")
	j.SkipUntil = began.Add(2 * time.Hour)
	want(0, "[1h0m0s 3h0m0s 4h0m0s]")
	j.SkipUntil = began.Add(time.Hour)
	j.MaxFires, j.Fires = 5, 3
	want(0, "[2h0m0s 3h0m0s]")
	j.EndsAt = began.Add(2 * time.Hour)
	want(0, "[2h0m0s]")
	j.PausedAt, j.EndsAt, j.MaxFires = began, 0, 0
	want(0, "[]")
	j.PausedUntil = began.Add(4 * time.Hour)
	want(0, "[4h0m0s 5h0m0s 6h0m0s]")
	want(7*time.Hour, "[8h0m0s 9h0m0s 10h0m0s]")
}

// TestRunKey: a key of a job is one id, and no other key or job has it.
func TestRunKey(t *testing.T) {
	a, b := task.Job{ID: task.ID{1}, CreatedAt: began}, task.Job{ID: task.ID{2}, CreatedAt: began}
	ids := map[task.ID]bool{}
	for _, j := range []*task.Job{&a, &b} {
		for _, key := range []string{"x", "y", "x", "\x00x"} {
			ids[runID(j, key)] = true
		}
	}
	if len(ids) != 6 {
		t.Errorf("%d ids of 6 keys", len(ids))
	}
}
