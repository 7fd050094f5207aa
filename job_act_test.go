package ax_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// tape notes what handlers of a job were given.
type tape struct {
	mu   sync.Mutex
	runs []string
}

func (p *tape) handle(_ context.Context, t *ax.Task) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := t.FireTime.Format("15:04")
	if len(t.Payload) > 0 {
		text += " " + string(t.Payload)
	}
	p.runs = append(p.runs, text)
	return nil
}

func (p *tape) want(t *testing.T, want string) {
	t.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if got := strings.Join(p.runs, ", "); got != want {
		t.Errorf("ran %s; want %s", got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestT23PauseAndResume: a paused job does not fire, also after another process has taken over and
// put it again; after the pause its misfire policy decides, at once.
func TestT23PauseAndResume(t *testing.T) {
	for _, c := range []struct {
		spec ax.JobSpec
		want string
	}{
		{ax.JobSpec{}, "13:00"},
		{ax.JobSpec{Misfire: ax.MisfireSkip}, ""},
		{ax.JobSpec{Misfire: ax.MisfireAll, Overlap: ax.Allow}, "11:00, 12:00, 13:00"},
	} {
		var p tape
		c.spec.Name, c.spec.Kind, c.spec.Schedule = "j", "k", ax.Cron("0 * * * *")
		setup := func(a *ax.Scheduler) { a.Handle("k", p.handle) }
		bubble(t, ax.Config{Slots: 1}, setup, func(x *fixture) {
			time.Sleep(10*time.Hour + 30*time.Minute)
			must(t, x.PutJob(t.Context(), c.spec))
			by := ax.By{Actor: "ana", Reason: "stocktaking"}
			must(t, x.PauseJob(t.Context(), "j", time.Time{}, by))
			time.Sleep(time.Hour)
			x.stop()
			*x = *start(x.t, x.store, ax.Config{Slots: 1, Seed: 2}, setup)
			must(t, x.PutJob(t.Context(), c.spec))
			time.Sleep(time.Hour + 40*time.Minute)
			p.want(t, "")
			all, err := x.Jobs(t.Context())
			if err != nil || all[0].PausedBy != "ana" || all[0].PauseReason != "stocktaking" {
				t.Errorf("%+v, %v", all, err)
			}
			if next, err := x.NextFires(all[0], 1); err != nil || len(next) != 0 {
				t.Errorf("a paused job shows the fires %v, %v", next, err)
			}
			must(t, x.ResumeJob(t.Context(), "j", by))
			must(t, x.ResumeJob(t.Context(), "j", by))
			p.want(t, c.want)
			time.Sleep(51 * time.Minute)
			p.want(t, strings.TrimPrefix(c.want+", 14:00", ", "))
		})
	}
}

// TestPauseUntil: the job goes on by itself.
func TestPauseUntil(t *testing.T) {
	var p tape
	bubble(t, ax.Config{}, func(a *ax.Scheduler) { a.Handle("k", p.handle) }, func(x *fixture) {
		must(t, x.PutJob(t.Context(), ax.JobSpec{Name: "j", Kind: "k",
			Schedule: ax.Cron("0 * * * *")}))
		until := time.Now().Add(150 * time.Minute)
		must(t, x.PauseJob(t.Context(), "j", until, ax.By{}))
		time.Sleep(150*time.Minute - 1)
		p.want(t, "")
		time.Sleep(time.Second)
		p.want(t, "02:00")
		time.Sleep(time.Hour)
		p.want(t, "02:00, 03:00")
		var input *ax.InputError
		if err := x.PauseJob(t.Context(), "j", until, ax.By{}); !errors.As(err, &input) ||
			input.Field != "until" {
			t.Errorf("a pause until an instant that has passed: %v", err)
		}
	})
}

// TestSkipNextFire: one fire has its record and does not run.
func TestSkipNextFire(t *testing.T) {
	var p tape
	bubble(t, ax.Config{}, func(a *ax.Scheduler) { a.Handle("k", p.handle) }, func(x *fixture) {
		must(t, x.PutJob(t.Context(), ax.JobSpec{Name: "j", Kind: "k",
			Schedule: ax.Cron("0 * * * *")}))
		time.Sleep(90 * time.Minute)
		at, err := x.SkipNext(t.Context(), "j", ax.By{Actor: "ana", Reason: "holiday"})
		if err != nil || at.Format("15:04") != "02:00" {
			t.Errorf("skips %s, %v", at, err)
		}
		time.Sleep(2 * time.Hour)
		p.want(t, "01:00, 03:00")
		rows, err := x.List(t.Context(), ax.Filter{Job: "j", States: []task.State{task.Skipped}})
		if err != nil || len(rows) != 1 || rows[0].Reason != task.ByRequest ||
			rows[0].FireTime.Go() != at || !strings.Contains(rows[0].Error, "ana: holiday") {
			t.Errorf("its record: %+v, %v", rows, err)
		}
		must(t, x.PutJob(t.Context(), ax.JobSpec{Name: "j", Kind: "k",
			Schedule: ax.After(time.Hour)}))
		var input *ax.InputError
		if _, err := x.SkipNext(t.Context(), "j", ax.By{}); !errors.As(err, &input) {
			t.Errorf("skip of a fire whose time is not known: %v", err)
		}
	})
}

// TestTriggerJob: a job runs now, paused or not, beside its schedule; a key stands for one task,
// also when that has ended long ago.
func TestTriggerJob(t *testing.T) {
	var p tape
	bubble(t, ax.Config{}, func(a *ax.Scheduler) { a.Handle("k", p.handle) }, func(x *fixture) {
		must(t, x.PutJob(t.Context(), ax.JobSpec{Name: "j", Kind: "k", Payload: []byte("day"),
			Schedule: ax.Cron("0 * * * *"), Service: "billing"}))
		must(t, x.PutJob(t.Context(), ax.JobSpec{Name: "other", Kind: "k",
			Schedule: ax.Cron("0 0 1 1 *")}))
		time.Sleep(30 * time.Minute)
		var first ax.ID
		trigger := func(job, key, payload string) ax.ID {
			run := ax.JobRun{Key: key}
			if payload != "" {
				run.Payload = []byte(payload)
			}
			r, err := x.TriggerJob(t.Context(), job, run, ax.By{Actor: "ana"})
			must(t, err)
			synctest.Wait()
			if known := r.ID == first; r.Duplicate != known {
				t.Errorf("run %q of %s: duplicate is %v", key, job, r.Duplicate)
			}
			return r.ID
		}
		first = trigger("j", "today", "")
		must(t, x.PauseJob(t.Context(), "j", time.Time{}, ax.By{}))
		time.Sleep(10 * time.Minute)
		if again := trigger("j", "today", "x"); again != first {
			t.Errorf("the same key made %s after %s", again, first)
		}
		trigger("j", "", "other words")
		trigger("other", "today", "1")
		p.want(t, "00:30 day, 00:40 other words, 00:40 1")
		must(t, x.ResumeJob(t.Context(), "j", ax.By{}))
		time.Sleep(30 * time.Minute)
		p.want(t, "00:30 day, 00:40 other words, 00:40 1, 01:00 day")
		row, err := x.Get(t.Context(), first)
		if err != nil || row.Job != "j" || row.FireCount != 0 || row.TriggeredAt != row.CreatedAt ||
			row.OwnerService != "billing" {
			t.Errorf("the task of a run: %+v, %v", row, err)
		}
	})
}

// TestTriggerBesideAFire: with overlap skip a run does not start beside the task of a fire.
func TestTriggerBesideAFire(t *testing.T) {
	var hold chan struct{}
	bubble(t, ax.Config{}, func(a *ax.Scheduler) {
		hold = make(chan struct{})
		a.Handle("k", func(context.Context, *ax.Task) error { <-hold; return nil })
	}, func(x *fixture) {
		must(t, x.PutJob(t.Context(), ax.JobSpec{Name: "j", Kind: "k", Timeout: ax.NoTimeout,
			Schedule: ax.At(time.Now().Add(time.Second))}))
		time.Sleep(2 * time.Second)
		r, err := x.TriggerJob(t.Context(), "j", ax.JobRun{}, ax.By{})
		must(t, err)
		synctest.Wait()
		if row, err := x.Get(t.Context(), r.ID); err != nil || row.Reason != task.Overlapped {
			t.Errorf("it is %s(%s), %v", row.State, row.Reason, err)
		}
		close(hold)
	})
}

// TestSharedOverlapKey: jobs that share a key do not run side by side.
func TestSharedOverlapKey(t *testing.T) {
	var p tape
	bubble(t, ax.Config{}, func(a *ax.Scheduler) {
		a.Handle("k", func(ctx context.Context, k *ax.Task) error {
			time.Sleep(10 * time.Second)
			return p.handle(ctx, k)
		})
	}, func(x *fixture) {
		for _, name := range []string{"a", "b", "c"} {
			spec := ax.JobSpec{Name: name, Kind: "k", Payload: []byte(name), OverlapKey: "ledger",
				Schedule: ax.At(time.Now().Add(time.Minute))}
			if name == "c" {
				spec.OverlapKey = ""
			}
			must(t, x.PutJob(t.Context(), spec))
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.runs) != 2 {
			t.Errorf("ran %v; want one of a and b, and c", p.runs)
		}
	})
}

// TestBadJobPolicies: what says nothing, or contradicts itself, is refused by its field.
func TestBadJobPolicies(t *testing.T) {
	a, _ := idle(t)
	day := time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		field string
		spec  ax.JobSpec
	}{
		{"misfire", ax.JobSpec{Misfire: 3}},
		{"misfire", ax.JobSpec{Misfire: ax.MisfireAll}}, // with overlap skip only one would run
		{"misfire_grace", ax.JobSpec{MisfireGrace: -1}},
		{"misfire_cap", ax.JobSpec{MisfireCap: -1}},
		{"misfire_cap", ax.JobSpec{MisfireCap: 1001}},
		{"overlap_key", ax.JobSpec{OverlapKey: "k", Overlap: ax.Allow}},
		{"overlap_key", ax.JobSpec{OverlapKey: "k\x00"}},
		{"jitter", ax.JobSpec{Jitter: -1}},
		{"jitter", ax.JobSpec{Jitter: time.Minute}},
		{"jitter", ax.JobSpec{Jitter: time.Second, Schedule: ax.After(time.Minute)}},
		{"max_fires", ax.JobSpec{MaxFires: -1}},
		{"starts_at", ax.JobSpec{StartsAt: time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC)}},
		{"ends_at", ax.JobSpec{EndsAt: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)}},
		{"ends_at", ax.JobSpec{StartsAt: day, EndsAt: day.Add(-1)}},
		{"schedule", ax.JobSpec{Schedule: ax.Cron("0 9 * * *"), StartsAt: day,
			EndsAt: day.Add(time.Hour)}},
	} {
		c.spec.Name, c.spec.Kind = "j", "k"
		if c.spec.Schedule == (ax.Schedule{}) {
			c.spec.Schedule = ax.Every(time.Minute)
		}
		wantField(t, fmt.Sprintf("%+v", c.spec), a.PutJob(t.Context(), c.spec), c.field)
	}
	if all, err := a.Jobs(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("definitions were written: %+v, %v", all, err)
	}
	// A service that starts again puts all its jobs, also one that is over.
	must(t, a.PutJob(t.Context(), ax.JobSpec{Name: "j", Kind: "k", StartsAt: day,
		EndsAt: day.Add(24 * time.Hour), Schedule: ax.Cron("0 9 * * *")}))
}

// TestBadActs: who and why are checked like any text, and what does not exist is said.
func TestBadActs(t *testing.T) {
	a, _ := idle(t)
	must(t, a.PutJob(t.Context(), ax.JobSpec{Name: "j", Kind: "k", Schedule: ax.Every(time.Hour)}))
	acts := map[string]func(name string, by ax.By) error{
		"pause": func(name string, by ax.By) error {
			return a.PauseJob(t.Context(), name, time.Time{}, by)
		},
		"resume": func(name string, by ax.By) error { return a.ResumeJob(t.Context(), name, by) },
		"skip": func(name string, by ax.By) error {
			_, err := a.SkipNext(t.Context(), name, by)
			return err
		},
		"trigger": func(name string, by ax.By) error {
			_, err := a.TriggerJob(t.Context(), name, ax.JobRun{}, by)
			return err
		},
	}
	for what, act := range acts {
		if err := act("none", ax.By{}); !errors.Is(err, ax.ErrNotFound) {
			t.Errorf("%s of nothing: %v", what, err)
		}
		for kind, s := range badTexts {
			wantField(t, what+" by an actor with "+kind, act("j", ax.By{Actor: s}), "actor")
		}
		wantField(t, what+" for a bad reason", act("j", ax.By{Reason: "\x00"}), "reason")
	}
	_, err := a.TriggerJob(t.Context(), "j", ax.JobRun{Key: "\x00"}, ax.By{})
	wantField(t, "a bad key", err, "key")
	large := ax.JobRun{Payload: make([]byte, task.MaxPayload+1)}
	_, err = a.TriggerJob(t.Context(), "j", large, ax.By{})
	wantField(t, "a large payload", err, "payload")
	if all, err := a.Jobs(t.Context()); err != nil || all[0].Control != (task.Control{}) ||
		all[0].Version != 1 {
		t.Errorf("a refused act has changed the job: %+v, %v", all, err)
	}
	b, err := ax.New(plain{memory.New(memory.Options{})}, ax.Config{Logger: quiet})
	must(t, err)
	if err := b.PauseJob(t.Context(), "j", time.Time{}, ax.By{}); err == nil ||
		!strings.Contains(err.Error(), "JobSteerer") {
		t.Errorf("a store that cannot steer: %v", err)
	}
}

// plain is a store without extras.
type plain struct{ ax.Store }

var _ store.Store = plain{}

// TestDeleteUnknownJob: the error names the job once.
func TestDeleteUnknownJob(t *testing.T) {
	bothShops(t, ax.Config{}, func(x *shop) {
		err := x.DeleteJob(x.ctx, "nope")
		if !errors.Is(err, ax.ErrNotFound) || strings.Count(err.Error(), "nope") != 1 {
			x.Errorf("%v", err)
		}
	})
}

// TestTriggerKeyOnDatabases: a second call with a run's key says so on both databases.
func TestTriggerKeyOnDatabases(t *testing.T) {
	bothShops(t, ax.Config{}, func(x *shop) {
		must(t, x.PutJob(x.ctx, ax.JobSpec{Name: "j", Kind: "k", Schedule: ax.Cron("0 0 1 1 *")}))
		var first ax.Result
		for i := range 3 {
			r, err := x.TriggerJob(x.ctx, "j", ax.JobRun{Key: "today"}, ax.By{})
			if i == 0 {
				first = r
			}
			if err != nil || r.ID != first.ID || r.Duplicate != (i > 0) {
				x.Errorf("call %d: %+v, %v", i, r, err)
			}
		}
	})
}
