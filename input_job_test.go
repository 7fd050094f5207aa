package ax_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// TestBadJobs: a definition that cannot be taken, or can never fire, is refused when it is put.
func TestBadJobs(t *testing.T) {
	a, _ := idle(t)
	minute := ax.Every(time.Minute)
	for _, c := range []struct {
		field, what string
		spec        ax.JobSpec
	}{
		{"name", "no name", ax.JobSpec{Kind: "k", Schedule: minute}},
		{"name", "NUL in the name", ax.JobSpec{Name: "j\x00", Kind: "k", Schedule: minute}},
		{"kind", "no kind", ax.JobSpec{Name: "j", Schedule: minute}},
		{"schedule", "no schedule", ax.JobSpec{Name: "j", Kind: "k"}},
		{"overlap", "overlap 7", ax.JobSpec{Name: "j", Kind: "k", Schedule: minute, Overlap: 7}},
		{"overlap_key", "a key that nobody takes", ax.JobSpec{Name: "j", Kind: "k", Schedule: minute,
			Overlap: ax.Allow, OverlapKey: "o"}},
		{"misfire", "all missed fires, of which one would run", ax.JobSpec{Name: "j", Kind: "k",
			Schedule: minute, Overlap: ax.Replace, Misfire: ax.MisfireAll}},
		{"priority", "priority 9", ax.JobSpec{Name: "j", Kind: "k", Schedule: minute, Priority: 9}},
		{"retry", "a wrong policy", ax.JobSpec{Name: "j", Kind: "k", Schedule: minute,
			Retry: &retry.Policy{Factor: 0.5}}},
		{"max_retries", "-1 retries", ax.JobSpec{Name: "j", Kind: "k", Schedule: minute,
			MaxRetries: ax.Int(-1)}},
		{"at_most_once", "at most once with retries", ax.JobSpec{Name: "j", Kind: "k",
			Schedule: minute, AtMostOnce: true, MaxRetries: ax.Int(1)}},
		{"on_unknown", "unknown 9", ax.JobSpec{Name: "j", Kind: "k", Schedule: minute, OnUnknown: 9}},
		{"max_lateness", "-1 s late", ax.JobSpec{Name: "j", Kind: "k", Schedule: minute,
			MaxLateness: -time.Second}},
		{"max_lifetime", "-1 s long", ax.JobSpec{Name: "j", Kind: "k", Schedule: minute,
			MaxLifetime: -time.Second}},
		{"payload", "a large payload", ax.JobSpec{Name: "j", Kind: "k", Schedule: minute,
			Payload: make([]byte, task.MaxPayload+1)}},
	} {
		wantField(t, c.what, a.PutJob(t.Context(), c.spec), c.field)
	}
	if all, err := a.Jobs(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("definitions were written: %+v, %v", all, err)
	}
}

// TestC13BadSchedules: the error speaks of the schedule, and says so if it can never fire (C13).
func TestC13BadSchedules(t *testing.T) {
	a, _ := idle(t)
	for _, c := range []struct {
		s     ax.Schedule
		never bool
	}{
		{ax.Cron("0 0 30 2 *"), true},
		{ax.Cron("0 0 31 4 *"), true},
		{ax.Cron("0 0 31 2,4,6,9,11 *"), true},
		{ax.Cron("0 0 31 2 */7"), true},
		{ax.Cron("0 0 0 1 1 * 1999"), true},
		{ax.Cron(""), false},
		{ax.Cron("every minute"), false},
		{ax.Cron("*/100 * * * *"), false},
		{ax.Cron("* * * * *\x00"), false},
		{ax.Cron("\xff * * * *"), false},
		{ax.Cron("@every 0s"), false},
		{ax.Cron("CRON_TZ=Local 0 0 * * *"), false},
		{ax.Cron("CRON_TZ=../../etc/passwd 0 0 * * *"), false},
		{ax.CronIn("Mars/Olympus", "0 0 * * *"), false},
		{ax.CronIn("Local", "0 0 * * *"), false},
		{ax.CronIn("Europe/Berlin\x00", "0 0 * * *"), false},
		{ax.Every(time.Second - 1), false},
		{ax.Every(-time.Hour), false},
		{ax.Every(0), false},
		{ax.After(-time.Second), false},
	} {
		err := a.PutJob(t.Context(), ax.JobSpec{Name: "j", Kind: "k", Schedule: c.s})
		var in *ax.InputError
		if !errors.As(err, &in) || !strings.HasPrefix(in.Field, "schedule") {
			t.Errorf("%+v: %v, want an InputError of the schedule", c.s, err)
		}
		if errors.Is(err, ax.ErrNeverFires) != c.never {
			t.Errorf("%+v: %v, never fires: want %v", c.s, err, c.never)
		}
	}
	if err := a.PutJob(t.Context(), ax.JobSpec{Name: "j", Kind: "k",
		Schedule: ax.Cron("0 0 31 4,5 *")}); err != nil {
		t.Errorf("a date that exists in one of its months: %v", err)
	}
}

// TestDoubleRegistration: an error at once, and again from Run, because the first is easily
// overlooked.
func TestDoubleRegistration(t *testing.T) {
	a, _ := idle(t)
	h := func(context.Context, *ax.Task) error { return nil }
	if err := a.Handle("k", h); err != nil {
		t.Fatal(err)
	}
	if err := a.Handle("k", h); !errors.Is(err, ax.ErrDuplicateKind) ||
		!strings.Contains(err.Error(), `"k"`) {
		t.Errorf("registered twice: %v", err)
	}
	if err := a.Run(t.Context()); !errors.Is(err, ax.ErrDuplicateKind) {
		t.Errorf("Run: %v", err)
	}
}

// TestBadHandlers: every wrong registration is told, and Run repeats it.
func TestBadHandlers(t *testing.T) {
	h := func(context.Context, *ax.Task) error { return nil }
	for _, c := range []struct {
		field, what string
		do          func(a *ax.Scheduler) error
	}{
		{"kind", "no kind", func(a *ax.Scheduler) error { return a.Handle("", h) }},
		{"kind", "NUL", func(a *ax.Scheduler) error { return a.Handle("k\x00", h) }},
		{"kind", "201 bytes", func(a *ax.Scheduler) error {
			return a.Handle(strings.Repeat("k", 201), h)
		}},
		{"handler", "no handler", func(a *ax.Scheduler) error { return a.Handle("k", nil) }},
		{"Timeout", "no time", func(a *ax.Scheduler) error { return a.Handle("k", h, ax.Timeout(0)) }},
		{"Timeout", "-2 s", func(a *ax.Scheduler) error {
			return a.Handle("k", h, ax.Timeout(-2*time.Second))
		}},
		{"MaxRetries", "-1", func(a *ax.Scheduler) error { return a.Handle("k", h, ax.MaxRetries(-1)) }},
		{"Concurrency", "0", func(a *ax.Scheduler) error { return a.Handle("k", h, ax.Concurrency(0)) }},
		{"Retry", "a wrong policy", func(a *ax.Scheduler) error {
			return a.Handle("k", h, ax.Retry(retry.Policy{CapMS: -1}))
		}},
	} {
		a, _ := idle(t)
		wantField(t, c.what, c.do(a), c.field)
		wantField(t, c.what+", told by Run", a.Run(t.Context()), c.field)
	}
}

// TestRunTwice: the second says so and disturbs nothing.
func TestRunTwice(t *testing.T) {
	calls := 0
	bubble(t, ax.Config{}, func(a *ax.Scheduler) {
		a.Handle("k", func(context.Context, *ax.Task) error { calls++; return nil })
	}, func(x *fixture) {
		if err := x.Run(x.t.Context()); !errors.Is(err, ax.ErrRunning) {
			t.Errorf("second Run: %v", err)
		}
		x.submit(ax.NewTask{Kind: "k"})
		synctest.Wait()
		if calls != 1 {
			t.Errorf("%d runs", calls)
		}
		x.stop()
		again := start(x.t, x.store, ax.Config{Seed: 2}, func(*ax.Scheduler) {})
		again.stop()
		x.stop = func() {}
	})
}

// TestBadConfig: New names every wrong field, not only the first.
func TestBadConfig(t *testing.T) {
	wrong := ax.Config{NodeID: "a\x00", Group: strings.Repeat("g", 201), Slots: -1, Service: "\xff",
		Tick: time.Hour, Window: time.Millisecond, Poll: time.Hour, Sweep: time.Nanosecond,
		LeaseTTL: time.Millisecond, ExecutorTTL: time.Millisecond, Heartbeat: time.Hour,
		Grace: -1, ZombieWait: -1}
	_, err := ax.New(memory.New(memory.Options{}), wrong)
	for _, field := range []string{"NodeID", "Group", "Slots", "Service", "Tick", "Window", "Poll",
		"Sweep", "LeaseTTL", "ExecutorTTL", "Heartbeat", "Grace", "ZombieWait"} {
		if err == nil || !strings.Contains(err.Error(), "Config."+field+": ") {
			t.Errorf("Config.%s is not named in: %v", field, err)
		}
	}
	if _, err := ax.New(nil, ax.Config{}); err == nil || !strings.Contains(err.Error(), "store") {
		t.Errorf("without a store: %v", err)
	}
	if _, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: slog.Default()}); err != nil {
		t.Errorf("the zero Config: %v", err)
	}
}

// TestBadCancel: who and why are checked like any text; what does not exist is said.
func TestBadCancel(t *testing.T) {
	a, _ := idle(t)
	r, err := a.Submit(t.Context(), ax.NewTask{Kind: "k", Key: "order 7", Delay: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for what, s := range badTexts {
		wantField(t, "an actor with "+what, a.Cancel(t.Context(), r.ID, ax.By{Actor: s}), "actor")
	}
	for _, s := range []string{"\x00", "\xff", strings.Repeat("x", task.MaxError+1)} {
		wantField(t, "a bad reason", a.CancelKey(t.Context(), "k", "order 7", ax.By{Reason: s}),
			"reason")
	}
	if k, err := a.Get(t.Context(), r.ID); err != nil || k.State != task.Scheduled {
		t.Errorf("a refused cancel changed it to %s, %v", k.State, err)
	}
	none := task.NewID(1, [10]byte{1})
	if err := a.Cancel(t.Context(), none, ax.By{}); !errors.Is(err, ax.ErrNotFound) {
		t.Errorf("cancel of nothing: %v", err)
	}
	if err := a.DeleteJob(t.Context(), "none"); !errors.Is(err, ax.ErrNotFound) {
		t.Errorf("delete of nothing: %v", err)
	}
	if err := a.Cancel(t.Context(), r.ID, ax.By{Actor: "ana"}); err != nil {
		t.Error(err)
	}
	if err := a.Cancel(t.Context(), r.ID, ax.By{Actor: "ana"}); err != nil {
		t.Errorf("cancel of what is canceled: %v", err)
	}
}

// TestDelayFuncInput: wrong input to the one-line form is refused too, and Run goes on after it.
func TestDelayFuncInput(t *testing.T) {
	a, _ := idle(t)
	h := func(context.Context, *ax.Task) error { return nil }
	_, err := a.DelayFunc(t.Context(), "", "", time.Second, nil, h)
	wantField(t, "no kind", err, "kind")
	_, err = a.DelayFunc(t.Context(), "k", "", time.Second, nil, nil)
	wantField(t, "no handler", err, "handler")
	_, err = a.DelayFunc(t.Context(), "k", "", -time.Second, nil, h)
	wantField(t, "a negative delay", err, "delay")
	for range 2 {
		if _, err := a.DelayFunc(t.Context(), "k", "", time.Hour, nil, h); err != nil {
			t.Errorf("the same kind again: %v", err)
		}
	}
}
