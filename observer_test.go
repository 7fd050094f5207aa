package ax_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/observe"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// told collects events as lines, in order.
type told struct {
	mu    sync.Mutex
	lines []string
}

func (x *told) add(format string, args ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lines = append(x.lines, fmt.Sprintf(format, args...))
}

// all returns the lines so far.
func (x *told) all() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.lines)
}

func (x *told) want(t *testing.T, want ...string) {
	t.Helper()
	if got := x.all(); !slices.Equal(got, want) {
		t.Errorf("told\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// observer writes what happens to tasks.
func (x *told) observer() ax.Observer {
	return ax.Observer{
		Started: func(e observe.Started) {
			x.add("started %s attempt %d, %s late", e.Kind, e.Attempt, e.Late)
		},
		Ended: func(e observe.Ended) {
			x.add("ended %s attempt %d: %s after %s, %d failed, now %s", e.Kind, e.Attempt, e.Outcome,
				e.Took, e.Failures, e.State)
		},
		Retried: func(e observe.Retried) {
			x.add("retried %s after %s, failure %d, in %s", e.Kind, e.Outcome, e.Failures, e.In)
		},
		Dead:    func(e observe.Dead) { x.add("dead %s: %s", e.Kind, e.Reason) },
		Held:    func(e observe.Held) { x.add("held %s: %s", e.Kind, e.Reason) },
		Skipped: func(e observe.Skipped) { x.add("skipped %s of %s: %s", e.Kind, e.Job, e.Reason) },
		Recovered: func(e observe.Recovered) {
			x.add("recovered %s from %s, now %s", e.Kind, e.Executor, e.State)
		},
		HandedBack: func(e observe.HandedBack) { x.add("handed back %s, now %s", e.Kind, e.State) },
		Failed:     func(e observe.Failed) { x.add("failed %s: %v", e.Part, e.Err) },
		Refused:    func(e observe.Failed) { x.add("refused %s", e.Part) },
	}
}

// attempt is a kind "k" and what is told of one task of it.
type attempt struct {
	h    ax.Handler
	opts []ax.HandleOption
	want []string
}

// TestObserverTellsOnce: each event of an attempt is told exactly once and in its place.
func TestObserverTellsOnce(t *testing.T) {
	fails := errors.New("no answer")
	fixed := ax.Retry(retry.Policy{Kind: retry.Fixed, DelayMS: 5000})
	returns := func(errs ...error) ax.Handler { // after 3 s, one after the other
		return func(_ context.Context, k *ax.Task) error {
			time.Sleep(3 * time.Second)
			return errs[k.Attempt-1]
		}
	}
	for name, c := range map[string]attempt{
		"success": {returns(nil), nil, []string{"started k attempt 1, 0s late",
			"ended k attempt 1: succeeded after 3s, 0 failed, now SUCCEEDED"}},
		"retry": {returns(fails, nil), []ax.HandleOption{fixed}, []string{
			"started k attempt 1, 0s late",
			"ended k attempt 1: failed after 3s, 1 failed, now SCHEDULED",
			"retried k after failed, failure 1, in 5s",
			"started k attempt 2, 0s late",
			"ended k attempt 2: succeeded after 3s, 1 failed, now SUCCEEDED"}},
		"exhausted": {returns(fails), []ax.HandleOption{ax.MaxRetries(0)}, []string{
			"started k attempt 1, 0s late",
			"ended k attempt 1: failed after 3s, 1 failed, now DEAD", "dead k: exhausted"}},
		"permanent": {returns(ax.Permanent(fails)), nil, []string{"started k attempt 1, 0s late",
			"ended k attempt 1: failed after 3s, 1 failed, now DEAD", "dead k: permanent"}},
		"snooze": {returns(ax.Snooze(time.Minute), nil), nil, []string{
			"started k attempt 1, 0s late",
			"ended k attempt 1: snoozed after 3s, 0 failed, now SCHEDULED",
			"started k attempt 2, 0s late",
			"ended k attempt 2: succeeded after 3s, 0 failed, now SUCCEEDED"}},
		"canceled": {returns(ax.Cancel(fails)), nil, []string{"started k attempt 1, 0s late",
			"ended k attempt 1: canceled after 3s, 0 failed, now CANCELED"}},
		"panic": {func(context.Context, *ax.Task) error { panic("ouch") },
			[]ax.HandleOption{ax.MaxRetries(0)}, []string{"started k attempt 1, 0s late",
				"ended k attempt 1: failed after 0s, 1 failed, now DEAD", "dead k: exhausted"}},
		"time-out that is obeyed": {
			func(ctx context.Context, _ *ax.Task) error { <-ctx.Done(); return ctx.Err() },
			[]ax.HandleOption{ax.Timeout(2 * time.Second), ax.MaxRetries(0)},
			[]string{"started k attempt 1, 0s late",
				"ended k attempt 1: timeout after 2s, 1 failed, now DEAD", "dead k: exhausted"}},
		// It is given up after 2 s and the zombie wait of a minute; its end is no news.
		"time-out that is ignored": {
			func(context.Context, *ax.Task) error { time.Sleep(2 * time.Minute); return nil },
			[]ax.HandleOption{ax.Timeout(2 * time.Second), ax.MaxRetries(0)},
			[]string{"started k attempt 1, 0s late",
				"ended k attempt 1: timeout after 1m2s, 1 failed, now DEAD", "dead k: exhausted"}},
		// The late success counts, and is told as well.
		"unknown outcome": {
			func(context.Context, *ax.Task) error { time.Sleep(2 * time.Minute); return nil },
			[]ax.HandleOption{ax.Timeout(2 * time.Second), ax.AtMostOnce()},
			[]string{"started k attempt 1, 0s late",
				"ended k attempt 1: timeout after 1m2s, 0 failed, now HELD", "held k: unreported",
				"ended k attempt 1: succeeded after 2m0s, 0 failed, now SUCCEEDED"}},
	} {
		t.Run(name, func(t *testing.T) {
			var x told
			bubble(t, ax.Config{Observer: x.observer()},
				func(a *ax.Scheduler) { a.Handle("k", c.h, c.opts...) },
				func(f *fixture) {
					f.submit(ax.NewTask{Kind: "k", Delay: time.Minute})
					time.Sleep(10*time.Minute + time.Second) // no heartbeat is under way at the stop
				})
			x.want(t, c.want...)
		})
	}
}

// TestObserverAndLimitsOfTime: tasks that are not begun because it is too late are told of, by the
// claim and by the sweep.
func TestObserverAndLimitsOfTime(t *testing.T) {
	var x told
	o := x.observer()
	o.Started, o.Ended = nil, nil
	nothing := func(context.Context, *ax.Task) error { return nil }
	bubble(t, ax.Config{Observer: o, Slots: 1}, func(a *ax.Scheduler) {
		a.Handle("slow", func(context.Context, *ax.Task) error {
			time.Sleep(10 * time.Second)
			return nil
		})
		a.Handle("k", nothing, ax.MaxLateness(5*time.Second))
		a.Handle("other", nothing)
	}, func(f *fixture) {
		f.submit(ax.NewTask{Kind: "slow"})
		f.submit(ax.NewTask{Kind: "k"})
		f.submit(ax.NewTask{Kind: "other", ExpiresAt: time.Now().Add(2 * time.Second)})
		time.Sleep(61 * time.Second)
	})
	x.want(t, "dead other: expired", "skipped k of : late")
}

// TestObserverAndJobs: a fire that meets a running one is told as skipped, once.
func TestObserverAndJobs(t *testing.T) {
	var x told
	bubble(t, ax.Config{Observer: x.observer()}, func(a *ax.Scheduler) {
		a.Handle("k", func(context.Context, *ax.Task) error {
			time.Sleep(80 * time.Second)
			return nil
		}, ax.Timeout(ax.NoTimeout))
	}, func(f *fixture) {
		job := ax.JobSpec{Name: "nightly", Kind: "k", Schedule: ax.Every(time.Minute)}
		if err := f.PutJob(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		time.Sleep(170 * time.Second)
	})
	x.want(t, "started k attempt 1, 0s late", "skipped k of nightly: overlap",
		"ended k attempt 1: succeeded after 1m20s, 0 failed, now SUCCEEDED")
}

// TestObserverAndSkippedFires: a fire that a person has taken out is told as such, once.
func TestObserverAndSkippedFires(t *testing.T) {
	var x told
	bubble(t, ax.Config{Observer: x.observer()}, func(a *ax.Scheduler) {
		a.Handle("k", func(context.Context, *ax.Task) error { return nil })
	}, func(f *fixture) {
		job := ax.JobSpec{Name: "nightly", Kind: "k", Schedule: ax.Every(time.Minute)}
		if err := f.PutJob(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		if _, err := f.SkipNext(t.Context(), "nightly", ax.By{Actor: "ana"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(125 * time.Second)
	})
	x.want(t, "skipped k of nightly: request", "started k attempt 1, 0s late",
		"ended k attempt 1: succeeded after 0s, 0 failed, now SUCCEEDED")
}

// TestObserverAndACrash: the process that takes over tells of what was lost.
func TestObserverAndACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var old, x told
		st := memory.New(memory.Options{})
		block := make(chan struct{})
		dead := start(t, st, ax.Config{NodeID: "n1", Observer: old.observer()},
			func(a *ax.Scheduler) {
				a.Handle("k", func(context.Context, *ax.Task) error { <-block; return nil })
			})
		dead.submit(ax.NewTask{Kind: "k"})
		synctest.Wait()
		dead.stop()
		next := start(t, st, ax.Config{NodeID: "n2", Seed: 2, Observer: x.observer()},
			func(a *ax.Scheduler) {
				a.Handle("k", func(context.Context, *ax.Task) error { return nil })
			})
		time.Sleep(121 * time.Second)
		next.stop()
		close(block)
		old.want(t, "started k attempt 1, 0s late")
		x.want(t, "recovered k from n1, now SCHEDULED", "started k attempt 2, 0s late",
			"ended k attempt 2: succeeded after 0s, 0 failed, now SUCCEEDED")
	})
}

// faulty is a memory store, the next calls of which can fail.
type faulty struct {
	*memory.Store

	mu     sync.Mutex
	before error // of Apply, once, nothing is written
	after  error // of Apply, once, all is written
	down   bool  // Apply fails
}

func (s *faulty) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *faulty) Apply(ctx context.Context, f store.Fence, trs []*task.Transition) (
	[]store.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.before; err != nil {
		s.before = nil
		return nil, err
	}
	if s.down {
		return nil, errDown
	}
	res, err := s.Store.Apply(ctx, f, trs)
	if s.after != nil {
		res, err, s.after = nil, s.after, nil
	}
	return res, err
}

var errDown = errors.New("no connection")

// over runs f in fake time with a scheduler over a faulty store; the handler of "k" takes 1 s.
func over(t *testing.T, cfg ax.Config, f func(a *ax.Scheduler, st *faulty)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st := &faulty{Store: memory.New(memory.Options{})}
		cfg.Logger, cfg.Seed = quiet, 1
		if cfg.Clock == nil {
			cfg.Clock = time.Now
		}
		a, err := ax.New(st, cfg)
		if err != nil {
			t.Fatal(err)
		}
		a.Handle("k", func(context.Context, *ax.Task) error { time.Sleep(time.Second); return nil })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		synctest.Wait()
		f(a, st)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func submit(t *testing.T, a *ax.Scheduler, n ax.NewTask) {
	t.Helper()
	if _, err := a.Submit(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}

// TestObserverAndALostAnswer: a claim whose answer was lost is no start and no end.
func TestObserverAndALostAnswer(t *testing.T) {
	var x told
	over(t, ax.Config{Observer: x.observer()}, func(a *ax.Scheduler, st *faulty) {
		submit(t, a, ax.NewTask{Kind: "k", Delay: time.Second})
		st.set(func() { st.after = errDown })
		time.Sleep(61 * time.Second)
	})
	x.want(t, "failed dispatch: no connection", "handed back k, now SCHEDULED",
		"started k attempt 2, 0s late",
		"ended k attempt 2: succeeded after 1s, 0 failed, now SUCCEEDED")
}

// TestObserverAndRefusedMoves: a move that the store calls illegal is told as an error of ax.
func TestObserverAndRefusedMoves(t *testing.T) {
	var x told
	o := x.observer()
	o.Started = nil // it depends on which worker tries again
	over(t, ax.Config{Observer: o}, func(a *ax.Scheduler, st *faulty) {
		submit(t, a, ax.NewTask{Kind: "k", Delay: time.Second})
		st.set(func() { st.before = fmt.Errorf("claim: %w", task.ErrIllegal) })
		time.Sleep(61 * time.Second)
	})
	refused := "claim: " + task.ErrIllegal.Error()
	x.want(t, "refused dispatch", "failed dispatch: "+refused,
		"ended k attempt 1: succeeded after 1s, 0 failed, now SUCCEEDED")
}

// TestObserverAndLeadership: a term is told of at its begin and its end.
func TestObserverAndLeadership(t *testing.T) {
	var x told
	over(t, ax.Config{Observer: ax.Observer{Leader: func(e observe.Leader) {
		x.add("%t, token %d, since %s, cause %v", e.Leading, e.Token,
			e.Since.Sub(bubbleStart.Go()), e.Cause)
	}}}, func(*ax.Scheduler, *faulty) { time.Sleep(time.Minute) })
	x.want(t, "true, token 1, since 0s, cause <nil>", "false, token 1, since 0s, cause <nil>")
}

// TestObserverAndTheClock: the offset of a skewed machine is told, and not a word of it if none is.
func TestObserverAndTheClock(t *testing.T) {
	for _, skew := range []time.Duration{0, 3 * time.Second, -time.Hour} {
		var x told
		over(t, ax.Config{Clock: func() time.Time { return time.Now().Add(-skew) },
			Observer: ax.Observer{Clock: func(e observe.Clock) { x.add("%s", e.Offset) }}},
			func(a *ax.Scheduler, _ *faulty) {
				time.Sleep(61 * time.Second)
				if st := a.Stats(); st.ClockOffset != skew || !st.At.Equal(time.Now()) {
					t.Errorf("skew %s: stats say %s, now is %s", skew, st.ClockOffset, st.At)
				}
			})
		got := x.all()
		if n := len(got); n < 20 || slices.ContainsFunc(got, func(s string) bool {
			return s != skew.String()
		}) {
			t.Errorf("skew %s: told %d times, %v", skew, n, slices.Compact(got))
		}
	}
}

// TestBrokenObserver: one that panics costs nothing but its events.
func TestBrokenObserver(t *testing.T) {
	broken := ax.Observer{
		Started:   func(observe.Started) { panic("started") },
		Ended:     func(observe.Ended) { panic("ended") },
		StoreCall: func(observe.StoreCall) { panic("store") },
		Leader:    func(observe.Leader) { panic("leader") },
		Clock:     func(observe.Clock) { panic("clock") },
	}
	over(t, ax.Config{Observer: broken}, func(a *ax.Scheduler, _ *faulty) {
		submit(t, a, ax.NewTask{Kind: "k", Delay: time.Second})
		time.Sleep(61 * time.Second)
		n, err := a.Count(t.Context(), 0)
		if err != nil || n[task.Succeeded] != 1 {
			t.Errorf("states %v, %v", n, err)
		}
	})
}
