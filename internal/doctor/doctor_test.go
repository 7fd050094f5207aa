package doctor_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/doctor"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
)

// newID returns a new id.
func newID() (id task.ID) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

// codesOf returns the codes of findings, with their severity where it is an error.
func codesOf(r doctor.Report) (out []string) {
	for _, f := range r.Findings {
		c := f.Code
		if f.Severity == doctor.Error {
			c = "!" + c
		}
		out = append(out, c)
	}
	return out
}

// TestPlanted: each planted fault is found, and nothing else is. An error is written with "!".
func TestPlanted(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(w *world)
		want  []string
		says  string // part of the first finding
	}{
		"healthy": {func(w *world) {
			w.lead()
			w.add("work", -time.Hour)
			w.add("work", time.Second)
			w.start(w.add("work", 0), w.epoch)
			w.job("daily", nil)
		}, nil, ""},
		"nothing": {func(*world) {}, nil, ""},
		"nobody leads": {func(w *world) {
			w.add("work", 2*time.Hour)
			w.job("hourly", func(j *task.Job) { j.Schedule.Every = 30 * time.Minute })
		}, []string{"!leader.none"}, "1 task and 1 fire wait, the oldest for 2h"},
		"process that died": {func(w *world) {
			epoch, err := w.Registry().Register(w.t.Context(), registry.Member{Name: "gone",
				Instance: "gone-1", Group: "default", Slots: 1}, time.Hour)
			must(w.t, err)
			w.start(w.add("work", 0), epoch)
			w.exec("UPDATE ax_tasks SET updated_at = updated_at - 600000000")
		}, []string{"!leader.none"}, "1 execution may have been cut off"},
		"backlog": {func(w *world) {
			w.lead()
			w.add("work", 10*time.Minute)
			w.add("work", 20*time.Minute)
		}, []string{"!backlog.stuck"}, "2 due tasks of kind work, the oldest since 20m"},
		"line for an overlap key": {func(w *world) {
			w.lead()
			for i := range 3 {
				row := w.add("work", 10*time.Minute, func(t *task.Task) {
					t.OverlapKey, t.Overlap = "account-1", task.OverlapQueue
				})
				if i == 0 {
					w.start(row, w.epoch)
				}
			}
		}, nil, ""},
		"kind without a handler": {func(w *world) {
			w.lead()
			w.add("wrok", 10*time.Minute)
		}, []string{"!kind.unknown"}, "kind wrok"},
		"group without an executor": {func(w *world) {
			w.lead()
			w.add("work", 10*time.Minute, func(t *task.Task) { t.Group = "batch" })
		}, []string{"!group.no_executor"}, "group batch"},
		"held": {func(w *world) {
			w.lead()
			for _, key := range []string{"", "account-1"} {
				w.move(w.start(w.add("work", time.Second, func(t *task.Task) {
					t.OverlapKey, t.Overlap = key, task.OverlapSkip
				}), w.epoch), nil, task.Overlong, task.Hold)
			}
		}, []string{"!task.held"}, "2 tasks in HELD"},
		"dead": {func(w *world) {
			w.lead()
			w.bury(w.add("work", time.Second))
		}, []string{"task.dead"}, "work, exhausted (1)"},
		"time-outs": {func(w *world) {
			w.lead()
			row := w.add("work", time.Second)
			for range 3 {
				row = w.move(w.start(row, w.epoch), func(m *task.Mutable) {
					m.LastOutcome, m.RunAt = task.OutTimeout, task.StoreNow
					m.Failures++
				}, 0, task.TimeOut, task.Retry)
			}
		}, []string{"!task.timeouts"}, "1 task of kind work timed out, the worst after 3 failures"},
		"job that never succeeds": {func(w *world) {
			w.lead()
			j := w.job("report", nil)
			for i := range 3 {
				w.bury(w.fire(j, w.now.Add(time.Duration(i-40)*time.Minute), task.Scheduled, 0))
			}
		}, []string{"!job.failing", "task.dead"},
			"last 3 fires of job report have failed: no such table"},
		"job that is skipped": {func(w *world) {
			w.lead()
			j := w.job("slow", nil)
			for i := range 10 {
				w.fire(j, w.now.Add(time.Duration(i-40)*time.Minute), task.Skipped, task.Overlapped)
			}
		}, []string{"job.skipping"}, "10 fires of job slow"},
		"job that is late": {func(w *world) {
			w.lead()
			w.job("stuck", func(j *task.Job) { j.Schedule.Every = 20 * time.Minute })
		}, []string{"!job.late"}, "job stuck should have fired 40m"},
		"job paused for days": {func(w *world) {
			w.lead()
			j := w.job("billing", func(j *task.Job) { j.Schedule.Every = 20 * time.Minute })
			_, err := w.Database.(interface {
				SteerJob(context.Context, task.ID, int64, task.Control) (bool, error)
			}).SteerJob(w.t.Context(), j.ID, j.Version, task.Control{PausedAt: w.now.Add(-72 * time.Hour),
				PausedBy: "eve", PauseReason: "migration"})
			must(w.t, err)
		}, []string{"job.paused"}, `paused for 3 days by eve: "migration"`},
		"executions that overlap": {func(w *world) {
			w.lead()
			row := w.move(w.start(w.add("work", time.Second), w.epoch), func(m *task.Mutable) {
				m.Failures, m.LastOutcome, m.RunAt = 1, task.OutFailed, task.StoreNow
			}, 0, task.Fail, task.Retry)
			w.start(row, w.epoch)
			w.exec("UPDATE ax_history SET at = at + 60000000 WHERE version = 3")
		}, []string{"!execution.overlap"}, "attempt 2"},
		"execution without an executor": {func(w *world) {
			w.lead()
			w.start(w.add("work", time.Second), 4711)
			w.exec("UPDATE ax_tasks SET updated_at = updated_at - 600000000")
		}, []string{"!execution.orphan"}, "1 task run on executors that are gone"},
		"index that is gone": {func(w *world) {
			w.lead()
			w.exec("DROP INDEX ax_tasks_expires")
		}, []string{"!schema.fault"}, "index ax_tasks_expires is missing"},
		"table that is gone": {func(w *world) {
			w.lead()
			w.exec("DROP TABLE ax_kinds")
		}, []string{"!schema.fault", "!database.unread"}, "ax_kinds is missing"},
		"clock": {func(w *world) {
			w.lead()
			w.host = 10 * time.Second
		}, []string{"clock.offset"}, "behind that of this host"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, w *world) {
				c.plant(w)
				r := w.examine()
				if got := codesOf(r); !slices.Equal(got, c.want) {
					t.Fatalf("found %q, want %q: %+v", got, c.want, r.Findings)
				}
				if len(c.want) > 0 && !strings.Contains(r.Findings[0].What, c.says) {
					t.Errorf("it says %q, want %q", r.Findings[0].What, c.says)
				}
				bad := slices.ContainsFunc(c.want, func(s string) bool { return s[0] == '!' })
				if r.OK() == bad {
					t.Errorf("OK is %t", r.OK())
				}
			})
		})
	}
}

// TestHealthy: an installation at work, with a job, a task that failed once, and one that waits.
func TestHealthy(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		s, err := ax.New(w.Database, ax.Config{Poll: 50 * time.Millisecond})
		must(t, err)
		var ran atomic.Int32
		must(t, s.Handle("work", func(_ context.Context, tk *ax.Task) error {
			if ran.Add(1); tk.Attempt == 1 && tk.Key == "once" {
				return errors.New("once")
			}
			return nil
		}, ax.Retry(retry.Policy{DelayMS: 1})))
		must(t, s.PutJob(t.Context(), ax.JobSpec{Name: "tick", Schedule: ax.Every(time.Second),
			Kind: "work"}))
		for _, n := range []ax.NewTask{{Kind: "work", Key: "once"}, {Kind: "work"},
			{Kind: "work", Delay: time.Hour}} {
			_, err := s.Submit(t.Context(), n)
			must(t, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		for ran.Load() < 5 {
			select {
			case err := <-ended:
				t.Fatal(err)
			case <-time.After(10 * time.Millisecond):
			}
		}
		if r := w.examine(); len(r.Findings) > 0 {
			t.Errorf("found %+v", r.Findings)
		}
		cancel()
		must(t, <-ended)
	})
}
