package ax_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/store/sqlite"
	"github.com/ax-sched/ax/task"
)

var ana = ax.By{Actor: "ana", Reason: "the bank is back"}

// want reads a task and checks its state.
func (x *fixture) want(id ax.ID, state ax.State, why task.Reason) task.Task {
	x.t.Helper()
	synctest.Wait()
	k, err := x.Get(x.t.Context(), id)
	if err != nil {
		x.t.Fatal(err)
	}
	if k.State != state || k.Reason != why {
		x.t.Errorf("task %s is %s(%s), want %s(%s): %s", id, k.State, k.Reason, state, why, k.Error)
	}
	return k
}

// calls records what handlers see.
type calls struct {
	mu   sync.Mutex
	seen []ax.Task
}

func (s *calls) add(t *ax.Task) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, *t)
	return len(s.seen)
}

func (s *calls) all() []ax.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]ax.Task(nil), s.seen...)
}

// TestPersonsOnSQLite: each act on a real database: a new run is seen by the handler, the history
// says who and why, and a refused act is a conflict.
func TestPersonsOnSQLite(t *testing.T) {
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "ax.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	a, err := ax.New(st, ax.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	var s calls
	a.Handle("k", func(_ context.Context, k *ax.Task) error {
		if s.add(k) == 1 {
			return ax.Permanent(errors.New("the bank is closed"))
		}
		return nil
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	state := func(id ax.ID, want ax.State) {
		t.Helper()
		await(t, want.String(), func() bool {
			k, err := a.Get(ctx, id)
			return err == nil && k.State == want
		})
	}
	far := time.Now().Add(1000 * time.Hour).Truncate(time.Microsecond)
	r, err := a.Submit(ctx, ax.NewTask{Kind: "k", Key: "7", RunAt: far})
	if err != nil {
		t.Fatal(err)
	}
	for _, act := range []struct {
		name string
		do   func() error
		want ax.State
		runs int // of the task when it has ended
		bad  bool
	}{
		{"retry a waiting one", func() error { return a.Retry(ctx, r.ID, ana) }, task.Scheduled, 0, true},
		{"resolve a waiting one", func() error {
			return a.Resolve(ctx, r.ID, ax.AnswerRerun, ana)
		}, task.Scheduled, 0, true},
		{"reschedule", func() error {
			return a.Reschedule(ctx, r.ID, far.Add(time.Hour), ana)
		}, task.Scheduled, 0, false},
		{"trigger", func() error { return a.Trigger(ctx, r.ID, ana) }, task.Dead, 1, false},
		{"reschedule a dead one", func() error {
			return a.Reschedule(ctx, r.ID, far, ana)
		}, task.Dead, 1, true},
		{"retry", func() error { return a.Retry(ctx, r.ID, ana) }, task.Succeeded, 2, false},
		{"retry what succeeded", func() error {
			return a.Retry(ctx, r.ID, ana)
		}, task.Succeeded, 2, true},
		{"trigger what succeeded", func() error { return a.Trigger(ctx, r.ID, ana) }, task.Succeeded, 3,
			false},
	} {
		err := act.do()
		if act.bad != errors.Is(err, ax.ErrConflict) || !act.bad && err != nil {
			t.Errorf("%s: %v", act.name, err)
		}
		if act.runs > 0 {
			await(t, act.name, func() bool { return len(s.all()) >= act.runs })
		}
		state(r.ID, act.want)
	}
	for i, k := range s.all() {
		if k.Run != i+1 || k.Attempt != 1 {
			t.Errorf("start %d sees run %d, attempt %d", i+1, k.Run, k.Attempt)
		}
	}
	h, err := a.History(ctx, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	acts := 0
	for _, e := range h {
		if e.Actor == "ana" && e.Detail == ana.Reason {
			acts++
		}
	}
	if acts != 4 {
		t.Errorf("%d moves of the history name who acted, want 4: %+v", acts, h)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestA06KeyOfANewRun: a new run needs the key again; while another task has it, it is refused with
// that one's id.
func TestA06KeyOfANewRun(t *testing.T) {
	bubble(t, ax.Config{}, func(a *ax.Scheduler) {
		a.Handle("k", func(_ context.Context, k *ax.Task) error { return nil })
	}, func(x *fixture) {
		old := x.submit(ax.NewTask{Kind: "k", Key: "7", Delay: time.Hour})
		if err := x.Cancel(t.Context(), old, ana); err != nil {
			t.Fatal(err)
		}
		live := x.submit(ax.NewTask{Kind: "k", Key: "7", Delay: time.Hour})
		for name, act := range map[string]func(context.Context, ax.ID, ax.By) error{
			"retry": x.Retry, "trigger": x.Trigger} {
			err := act(t.Context(), old, ana)
			var taken *ax.LiveError
			if !errors.As(err, &taken) || taken.Live != live || !errors.Is(err, ax.ErrConflict) {
				t.Errorf("%s: %v; want the id of %s", name, err, live)
			}
			x.want(old, task.Canceled, task.ByRequest)
		}
		if err := x.Cancel(t.Context(), live, ana); err != nil {
			t.Fatal(err)
		}
		if err := x.Retry(t.Context(), old, ana); err != nil {
			t.Error(err)
		}
		x.want(old, task.Succeeded, 0)
	})
}

// TestTriggerGoesFirst: a triggered task starts before what waits in all buckets, though not before
// there is a slot.
func TestTriggerGoesFirst(t *testing.T) {
	var s calls
	bubble(t, ax.Config{Slots: 1}, func(a *ax.Scheduler) {
		a.Handle("k", func(_ context.Context, k *ax.Task) error {
			s.add(k)
			time.Sleep(time.Minute)
			return nil
		}, ax.Timeout(ax.NoTimeout))
	}, func(x *fixture) {
		later := x.submit(ax.NewTask{Kind: "k", Delay: time.Hour, Priority: ax.Low})
		for range 5 {
			x.submit(ax.NewTask{Kind: "k", Priority: ax.Critical})
		}
		synctest.Wait()
		if err := x.Trigger(t.Context(), later, ana); err != nil {
			t.Fatal(err)
		}
		if k := x.want(later, task.Scheduled, 0); k.TriggeredAt == 0 || k.RunAt != k.TriggeredAt {
			t.Errorf("due at %d, triggered at %d", k.RunAt, k.TriggeredAt)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if all := s.all(); len(all) != 2 || all[1].ID != later {
			t.Errorf("after a minute started: %v; want %s as the second", all, later)
		}
		time.Sleep(10 * time.Minute)
	})
}

// TestTriggerJobGoesFirst: so does the task of a run of a job that a person asks for.
func TestTriggerJobGoesFirst(t *testing.T) {
	var s calls
	bubble(t, ax.Config{Slots: 1}, func(a *ax.Scheduler) {
		a.Handle("k", func(_ context.Context, k *ax.Task) error {
			s.add(k)
			time.Sleep(time.Minute)
			return nil
		}, ax.Timeout(ax.NoTimeout))
	}, func(x *fixture) {
		must(t, x.PutJob(t.Context(), ax.JobSpec{Name: "j", Kind: "k", Priority: ax.Low,
			Schedule: ax.Every(24 * time.Hour)}))
		for range 5 {
			x.submit(ax.NewTask{Kind: "k", Priority: ax.Critical})
		}
		synctest.Wait()
		r, err := x.TriggerJob(t.Context(), "j", ax.JobRun{}, ana)
		must(t, err)
		time.Sleep(time.Minute)
		synctest.Wait()
		if all := s.all(); len(all) != 2 || all[1].ID != r.ID {
			t.Errorf("after a minute started: %v; want %s as the second", all, r.ID)
		}
		time.Sleep(10 * time.Minute)
	})
}

// TestReschedule: the task runs at its new time, earlier or later, and not at the old one.
func TestReschedule(t *testing.T) {
	var s calls
	bubble(t, ax.Config{}, func(a *ax.Scheduler) {
		a.Handle("k", func(_ context.Context, k *ax.Task) error { s.add(k); return nil })
	}, func(x *fixture) {
		for _, c := range []struct{ was, is time.Duration }{
			{time.Minute, 10 * time.Minute}, {time.Hour, time.Minute},
		} {
			began, before := time.Now(), len(s.all())
			id := x.submit(ax.NewTask{Kind: "k", Delay: c.was})
			if err := x.Reschedule(t.Context(), id, began.Add(c.is), ana); err != nil {
				t.Fatal(err)
			}
			time.Sleep(c.is - time.Millisecond)
			if n := len(s.all()); n != before {
				t.Errorf("from %s to %s: it ran before its new time", c.was, c.is)
			}
			time.Sleep(2 * time.Millisecond)
			x.want(id, task.Succeeded, 0)
		}
		var input *ax.InputError
		if err := x.Reschedule(t.Context(), ax.ID{1}, time.Time{}, ana); !errors.As(err, &input) {
			t.Errorf("to no time: %v", err)
		}
		if err := x.Reschedule(t.Context(), ax.ID{1}, time.Now(), ana); !errors.Is(err, ax.ErrNotFound) {
			t.Errorf("of a task that does not exist: %v", err)
		}
	})
}

// lost lets a process end under a handler that ignores its context, and returns the task and the
// process that comes next.
func lost(t *testing.T, n ax.NewTask, opts []ax.HandleOption, next func(*ax.Scheduler)) (
	x *fixture, id ax.ID, end func()) {
	st := memory.New(memory.Options{})
	block := make(chan struct{})
	first := start(t, st, ax.Config{NodeID: "n1"}, func(a *ax.Scheduler) {
		a.Handle("k", func(context.Context, *ax.Task) error { <-block; return nil }, opts...)
	})
	id = first.submit(n)
	synctest.Wait()
	first.stop()
	x = start(t, st, ax.Config{NodeID: "n2", Seed: 2}, next)
	time.Sleep(5 * time.Minute)
	return x, id, func() { x.stop(); close(block) }
}

// TestAtMostOnceLost: a task whose process has gone is not run again; a person's answer decides. It
// holds also where the next leader has no handler for the kind.
func TestAtMostOnceLost(t *testing.T) {
	var s calls
	handler := func(_ context.Context, k *ax.Task) error { s.add(k); return nil }
	once := []ax.HandleOption{ax.AtMostOnce()}
	known := func(a *ax.Scheduler) { a.Handle("k", handler, once...) }
	plain := func(a *ax.Scheduler) { a.Handle("k", handler) }
	for name, c := range map[string]struct {
		task ax.NewTask
		opts []ax.HandleOption
		next func(*ax.Scheduler)
		as   ax.Answer
		want ax.State
		why  task.Reason
		runs int
	}{
		"rerun":     {ax.NewTask{}, once, known, ax.AnswerRerun, task.Succeeded, 0, 1},
		"succeeded": {ax.NewTask{}, once, known, ax.AnswerSucceeded, task.Succeeded, 0, 0},
		"dead":      {ax.NewTask{}, once, known, ax.AnswerDead, task.Dead, task.GivenUp, 0},
		"by the task": {ax.NewTask{AtMostOnce: true}, nil, plain, ax.AnswerDead, task.Dead,
			task.GivenUp, 0},
		"held": {ax.NewTask{OnUnknown: ax.HoldUnknown}, nil, plain, ax.AnswerDead, task.Dead,
			task.GivenUp, 0},
		"unknown to next": {ax.NewTask{}, once, func(*ax.Scheduler) {}, ax.AnswerSucceeded,
			task.Succeeded, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s.seen, c.task.Kind = nil, "k"
				x, id, end := lost(t, c.task, c.opts, c.next)
				defer end()
				k := x.want(id, task.Held, task.Lost)
				if len(s.all()) != 0 || k.LastOutcome != task.OutLost {
					t.Errorf("it ran again, or its last outcome is %s", k.LastOutcome)
				}
				if err := x.Resolve(t.Context(), id, c.as, ana); err != nil {
					t.Fatal(err)
				}
				if k = x.want(id, c.want, c.why); k.Run != 1 || len(s.all()) != c.runs {
					t.Errorf("run %d, %d starts, want %d", k.Run, len(s.all()), c.runs)
				}
			})
		})
	}
}

// TestAtMostOnceTimeOut: a handler that ignores its time-out leaves the task HELD, with its key,
// and what it reports late decides.
func TestAtMostOnceTimeOut(t *testing.T) {
	for name, c := range map[string]struct {
		end  error
		want ax.State
		why  task.Reason
	}{
		"success": {nil, task.Succeeded, 0},
		"failure": {errors.New("declined"), task.Dead, task.Exhausted},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			bubble(t, ax.Config{}, func(a *ax.Scheduler) {
				a.Handle("k", func(context.Context, *ax.Task) error {
					n++
					time.Sleep(10 * time.Minute)
					return c.end
				}, ax.AtMostOnce(), ax.Timeout(time.Minute))
			}, func(x *fixture) {
				id := x.submit(ax.NewTask{Kind: "k", Key: "7"})
				time.Sleep(5 * time.Minute)
				x.want(id, task.Held, task.Unreported)
				r, err := x.Submit(t.Context(), ax.NewTask{Kind: "k", Key: "7"})
				if err != nil || !r.Duplicate {
					t.Errorf("a held task lost its key: %+v, %v", r, err)
				}
				time.Sleep(10 * time.Minute)
				x.want(id, c.want, c.why)
				if n != 1 {
					t.Errorf("the handler was called %d times", n)
				}
			})
		})
	}
}

// TestAtMostOnceShutdown: a handler that a stop has interrupted is not called again, unless it says
// itself that it has done nothing.
func TestAtMostOnceShutdown(t *testing.T) {
	for name, c := range map[string]struct {
		end  error
		want ax.State
		why  task.Reason
	}{
		"interrupted": {errors.New("half done"), task.Held, task.Interrupted},
		"released":    {ax.Release(), task.Scheduled, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := start(t, memory.New(memory.Options{}), ax.Config{}, func(a *ax.Scheduler) {
					a.Handle("k", func(ctx context.Context, _ *ax.Task) error {
						<-ctx.Done()
						return c.end
					}, ax.AtMostOnce(), ax.Timeout(time.Hour))
				})
				id := x.submit(ax.NewTask{Kind: "k"})
				synctest.Wait()
				x.stop()
				x.want(id, c.want, c.why)
			})
		})
	}
}

// TestLateSuccess: a lost attempt that ends well after all makes its task SUCCEEDED, and the retry
// that waits is not made.
func TestLateSuccess(t *testing.T) {
	n := 0
	bubble(t, ax.Config{ZombieWait: time.Minute}, func(a *ax.Scheduler) {
		a.Handle("k", func(context.Context, *ax.Task) error {
			n++
			time.Sleep(3 * time.Minute)
			return nil
		}, ax.Timeout(time.Minute))
	}, func(x *fixture) {
		id := x.submit(ax.NewTask{Kind: "k", Retry: nil, MaxRetries: ax.Int(1)})
		time.Sleep(2*time.Minute + time.Second)
		x.want(id, task.Scheduled, 0)
		if err := x.Reschedule(t.Context(), id, time.Now().Add(time.Hour), ana); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		x.want(id, task.Succeeded, 0)
		time.Sleep(2 * time.Hour)
		if n != 1 {
			t.Errorf("the handler was called %d times", n)
		}
	})
}

// TestLimitsOfTime: T21 and expiry, from submit to end.
func TestLimitsOfTime(t *testing.T) {
	n := 0
	bubble(t, ax.Config{Slots: 1}, func(a *ax.Scheduler) {
		a.Handle("block", func(context.Context, *ax.Task) error { time.Sleep(time.Minute); return nil },
			ax.Timeout(ax.NoTimeout))
		a.Handle("k", func(context.Context, *ax.Task) error { n++; return errors.New("no") },
			ax.MaxLateness(10*time.Second))
		a.Handle("long", func(context.Context, *ax.Task) error { time.Sleep(time.Hour); return nil },
			ax.Timeout(ax.NoTimeout), ax.MaxLifetime(10*time.Minute))
	}, func(x *fixture) {
		in := func(d time.Duration) time.Time { return time.Now().Add(d) }
		x.submit(ax.NewTask{Kind: "block"})
		late := x.submit(ax.NewTask{Kind: "k"})
		own := x.submit(ax.NewTask{Kind: "k", MaxLateness: time.Hour, MaxRetries: ax.Int(0)})
		expires := x.submit(ax.NewTask{Kind: "k", ExpiresAt: in(30 * time.Second)})
		waits := x.submit(ax.NewTask{Kind: "k", Delay: time.Hour, ExpiresAt: in(time.Minute)})
		time.Sleep(40 * time.Second)
		x.want(expires, task.Dead, task.Expired) // by the sweep: there is no slot to claim it
		time.Sleep(30 * time.Second)
		x.want(late, task.Skipped, task.Late)
		x.want(own, task.Dead, task.Exhausted)
		x.want(waits, task.Dead, task.Expired)
		if n != 1 {
			t.Errorf("%d of the four ran, want one", n)
		}
		retried := x.submit(ax.NewTask{Kind: "k", ExpiresAt: in(3 * time.Second)})
		x.want(retried, task.Dead, task.Expired) // its first retry would come after 5 s
		if err := x.Retry(t.Context(), retried, ana); err != nil {
			t.Fatal(err)
		}
		if k := x.want(retried, task.Dead, task.Expired); k.Run != 2 || n != 3 {
			t.Errorf("run %d, %d calls", k.Run, n)
		}
		time.Sleep(10 * time.Second)
		if err := x.Retry(t.Context(), retried, ana); err != nil {
			t.Fatal(err)
		}
		if x.want(retried, task.Scheduled, 0); n != 4 {
			t.Error("a person's retry of an expired task does not run")
		}
		if err := x.Cancel(t.Context(), retried, ana); err != nil {
			t.Fatal(err)
		}
		long := x.submit(ax.NewTask{Kind: "long"})
		time.Sleep(11 * time.Minute)
		x.want(long, task.Held, task.Overlong)
		time.Sleep(time.Hour)
		x.want(long, task.Succeeded, 0)
	})
}

// TestOverlongEnds: what a person decides about a task that is held while its handler runs on ends
// that handler, and no attempt runs beside another.
func TestOverlongEnds(t *testing.T) {
	resolve := func(as ax.Answer) func(*fixture, ax.ID) error {
		return func(x *fixture, id ax.ID) error { return x.Resolve(x.t.Context(), id, as, ana) }
	}
	for name, c := range map[string]struct {
		act   func(x *fixture, id ax.ID) error
		want  ax.State
		why   task.Reason
		calls int
	}{
		"cancel": {func(x *fixture, id ax.ID) error { return x.Cancel(x.t.Context(), id, ana) },
			task.Canceled, task.ByRequest, 1},
		"trigger": {func(x *fixture, id ax.ID) error { return x.Trigger(x.t.Context(), id, ana) },
			task.Succeeded, 0, 2},
		"rerun":     {resolve(ax.AnswerRerun), task.Succeeded, 0, 2},
		"succeeded": {resolve(ax.AnswerSucceeded), task.Succeeded, 0, 1},
		"dead":      {resolve(ax.AnswerDead), task.Dead, task.GivenUp, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var now, most, told atomic.Int32
			var s calls
			bubble(t, ax.Config{}, func(a *ax.Scheduler) {
				a.Handle("k", func(ctx context.Context, k *ax.Task) error {
					defer now.Add(-1)
					most.Store(max(most.Load(), now.Add(1)))
					if s.add(k) > 1 {
						return nil
					}
					<-ctx.Done()
					if errors.Is(context.Cause(ctx), ax.ErrCanceled) {
						told.Add(1)
					}
					time.Sleep(5 * time.Second)
					return context.Cause(ctx)
				}, ax.Timeout(ax.NoTimeout), ax.MaxLifetime(time.Minute))
			}, func(x *fixture) {
				id := x.submit(ax.NewTask{Kind: "k"})
				time.Sleep(2 * time.Minute)
				x.want(id, task.Held, task.Overlong)
				if err := c.act(x, id); err != nil {
					t.Fatal(err)
				}
				if synctest.Wait(); told.Load() != 1 {
					t.Error("in the same process it is not told at once")
				}
				time.Sleep(10 * time.Second)
				x.want(id, c.want, c.why)
				if most.Load() != 1 || told.Load() != 1 || len(s.all()) != c.calls {
					t.Errorf("%d at a time, %d told to end, %d calls", most.Load(), told.Load(),
						len(s.all()))
				}
			})
		})
	}
}

// TestAtMostOnceWithRetries: options that contradict each other are refused in either order.
func TestAtMostOnceWithRetries(t *testing.T) {
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h := func(context.Context, *ax.Task) error { return nil }
	for i, opts := range [][]ax.HandleOption{
		{ax.AtMostOnce(), ax.MaxRetries(2)}, {ax.AtMostOnce(), ax.OnUnknown(ax.RetryUnknown)},
	} {
		var bad *ax.InputError
		err := a.Handle(fmt.Sprint("k", i), h, opts...)
		if !errors.As(err, &bad) || bad.Field != "AtMostOnce" {
			t.Errorf("options %d: %v", i, err)
		}
	}
	if err := a.Handle("k", h, ax.MaxRetries(0), ax.AtMostOnce()); err != nil {
		t.Error(err)
	}
}
