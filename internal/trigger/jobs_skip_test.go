package trigger

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ax-sched/ax/task"
)

// TestSkipLeavesEarlierFires: only the fire whose time was answered is skipped. Those that were due
// before it go by the misfire policy, whether a leader comes before or after the skipped one.
func TestSkipLeavesEarlierFires(t *testing.T) {
	h := time.Hour
	for _, c := range []struct {
		name string
		job  task.Job
		back time.Duration
		want string
	}{
		{"once", task.Job{}, 2*h + 20*time.Minute, "2h0mx2 3h0m-request 4h0m"},
		{"once, back after it", task.Job{}, 4*h + time.Minute, "2h0mx2 3h0m-request 4h0m"},
		{"skip", task.Job{Misfire: task.MisfireSkip}, 2*h + 20*time.Minute,
			"2h0mx2-misfire 3h0m-request 4h0m"},
		{"skip, back after it", task.Job{Misfire: task.MisfireSkip}, 4*h + time.Minute,
			"2h0mx2-misfire 3h0m-request 4h0m-misfire"},
		{"all", task.Job{Misfire: task.MisfireAll}, 2*h + 20*time.Minute,
			"1h0m 2h0m 3h0m-request 4h0m"},
		{"all, back after it", task.Job{Misfire: task.MisfireAll}, 4*h + time.Minute,
			"1h0m 2h0m 3h0m-request 4h0m"},
		{"the last run is before it", task.Job{MaxFires: 1}, 4*h + time.Minute, "2h0mx2"},
		// At most one fire waits: the task of the skipped one is not taken for it.
		{"overlap", task.Job{Overlap: task.OverlapSkip}, 4*h + time.Minute,
			"2h0mx2-superseded 3h0m-request 4h0m"},
	} {
		jobs(t, func(s *shop) {
			c.job.Name, c.job.Schedule = c.name, every(h)
			s.putJob(c.job)
			pass(2*h + 10*time.Minute)
			at, err := s.desk().SkipNext(s.t.Context(), Act{Job: c.name})
			if err != nil || at != began.Add(3*h).Go() {
				t.Fatalf("skips %s, %v", at, err)
			}
			pass(c.back - 2*h - 10*time.Minute)
			_, end := s.lead()
			pass(4*h + 2*time.Minute - c.back)
			s.wantRecords(c.name, c.want)
			end()
		})
	}
}

// TestSkipBeforeTheRecord: a fire that is due and has no record yet when a person skips the next
// one runs.
func TestSkipBeforeTheRecord(t *testing.T) {
	jobs(t, func(s *shop) {
		s.put("j", every(time.Minute))
		j, end := s.lead()
		pass(time.Second)
		s.store.set(func() { s.store.down = true })
		pass(59 * time.Second)
		at, err := s.desk().SkipNext(s.t.Context(), Act{Job: "j"})
		if err != nil || at != began.Add(2*time.Minute).Go() {
			t.Fatalf("skips %s, %v", at, err)
		}
		s.store.set(func() { s.store.down = false })
		j.Wake()
		pass(2 * time.Minute)
		s.wantRecords("j", "1m 2m-request 3m")
		end()
	})
}

// TestSkipKeepsTheEarlier: a fire that somebody was told is skipped stays so, although it has no
// record yet when the next one is to be skipped.
func TestSkipKeepsTheEarlier(t *testing.T) {
	jobs(t, func(s *shop) {
		s.put("j", every(time.Minute))
		pass(30 * time.Second)
		_, err := s.desk().SkipNext(s.t.Context(), Act{Job: "j"})
		s.must(err)
		pass(40 * time.Second)
		if at, err := s.desk().SkipNext(s.t.Context(), Act{Job: "j"}); !errors.Is(err, errDown) {
			t.Errorf("skips %s, %v; want a conflict", at, err)
		}
		_, end := s.lead()
		at, err := s.desk().SkipNext(s.t.Context(), Act{Job: "j"})
		if err != nil || at != began.Add(2*time.Minute).Go() {
			t.Errorf("once the first has its record: %s, %v", at, err)
		}
		pass(2 * time.Minute)
		s.wantRecords("j", "1m-request 2m-request 3m")
		end()
	})
}

// shifted is a store whose clock is ahead of that of this process.
type shifted struct {
	*firing
	by time.Duration
}

func (s shifted) Now(ctx context.Context) (task.Time, error) {
	now, err := s.firing.Now(ctx)
	return now.Add(s.by), err
}

// TestStoreTimeDecides: what is next and what has passed is said by the store's clock, not by that
// of the process that is asked.
func TestStoreTimeDecides(t *testing.T) {
	jobs(t, func(s *shop) {
		s.put("j", every(time.Hour))
		d := s.desk()
		d.Store = shifted{s.store, 90 * time.Minute}
		at, err := d.SkipNext(s.t.Context(), Act{Job: "j"})
		if err != nil || at != began.Add(2*time.Hour).Go() {
			t.Errorf("skips %s, %v", at, err)
		}
		var input *task.InputError
		err = d.Pause(s.t.Context(), Act{Job: "j"}, began.Add(time.Hour).Go())
		if !errors.As(err, &input) {
			t.Errorf("a pause until an instant that has passed: %v", err)
		}
	})
}

// blind cannot read definitions after n times.
type blind struct {
	*firing
	n *int
}

func (b blind) Jobs(ctx context.Context, since task.Time) ([]task.Job, error) {
	if *b.n--; *b.n < 0 {
		return nil, context.DeadlineExceeded
	}
	return b.firing.Jobs(ctx, since)
}

// TestSkipNotKnown: an error of the reading that follows is no conflict: the fire may be skipped.
func TestSkipNotKnown(t *testing.T) {
	jobs(t, func(s *shop) {
		s.put("j", every(time.Minute))
		d, n := s.desk(), 1
		d.Store = blind{s.store, &n}
		_, err := d.SkipNext(s.t.Context(), Act{Job: "j"})
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, d.Conflict) {
			t.Errorf("%v; want the error of the reading alone", err)
		}
		if j, err := s.desk().Find(s.t.Context(), "j"); err != nil || j.SkipUntil == 0 {
			t.Errorf("the fire is not skipped: %+v, %v", j.Control, err)
		}
	})
}
