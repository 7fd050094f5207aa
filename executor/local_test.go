package executor

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/task"
)

// Outcomes that handlers of the tests give.
var (
	good = task.Report{Outcome: task.OutSucceeded}
	bad  = task.Report{Outcome: task.OutFailed, Error: "no answer"}
)

// fixture is a Local that runs in a bubble.
type fixture struct {
	*Local
	t *testing.T
	n byte

	mu    sync.Mutex
	told  told
	began time.Time
	shift atomic.Int64 // microseconds added to the clock: days without sleeping through them
}

// told is what a Local has told its owner.
type told struct {
	reports []task.Report
	at      []time.Duration // of each report, from the start
	overdue []task.ID
	stuck   []task.ID
	ran     []time.Duration // of each that is stuck
	freed   int
}

// soFar returns what was told until now.
func (x *fixture) soFar() told {
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.told
}

// pass lets the executor's clock go forward, and the driver of the limits look at it.
func (x *fixture) pass(d time.Duration) {
	x.shift.Add((d - time.Second).Microseconds())
	time.Sleep(time.Second)
	synctest.Wait()
}

// run is the handler of a test.
type run func(ctx context.Context, t *task.Task) task.Report

// local runs f beside a Local with 4 slots and a zombie wait of a minute.
func local(t *testing.T, h run, f func(x *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		x := &fixture{t: t, began: time.Now()}
		var wg sync.WaitGroup
		var err error
		x.Local, err = New(Config{Slots: 4, Limit: limit, Run: h, Report: x.report,
			Overdue: func(k *task.Task) {
				x.mu.Lock()
				defer x.mu.Unlock()
				x.told.overdue = append(x.told.overdue, k.ExecutionID)
			},
			Stuck:      x.stuck,
			Freed:      func() { x.mu.Lock(); x.told.freed++; x.mu.Unlock() },
			ZombieWait: time.Minute,
			Now:        func() int64 { return time.Since(x.began).Microseconds() + x.shift.Load() },
			Spawn:      func(f func()) { wg.Go(f) }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- x.Run(ctx) }()
		f(x)
		wg.Wait()
		cancel()
		<-done
		if used, zombies := x.Load(); used != 0 || zombies != 0 || x.Free() != 4 {
			t.Errorf("at the end %d slots are in use, %d zombies, %d free", used, zombies, x.Free())
		}
	})
}

// limit lets one task of the kind "one" run at a time.
func limit(kind string) int {
	if kind == "one" {
		return 1
	}
	return 0
}

func (x *fixture) report(_ *task.Task, r task.Report) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.told.reports = append(x.told.reports, r)
	x.told.at = append(x.told.at, time.Since(x.began))
}

func (x *fixture) stuck(t *task.Task, ran time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.told.stuck = append(x.told.stuck, t.ExecutionID)
	x.told.ran = append(x.told.ran, ran)
}

// start takes a slot and starts a task of the kind; its execution is numbered.
func (x *fixture) start(kind string, timeout time.Duration) *task.Task {
	x.t.Helper()
	return x.begin(kind, timeout, false)
}

func (x *fixture) begin(kind string, timeout time.Duration, suspect bool) *task.Task {
	x.t.Helper()
	if !x.Take(kind) {
		x.t.Fatalf("no slot for %s", kind)
	}
	x.n++
	k := &task.Task{ID: task.ID{1, x.n}, Kind: kind}
	k.ExecutionID = task.ID{2, x.n}
	x.Start(x.t.Context(), k, timeout, suspect)
	return k
}

// only returns the one report there is.
func (x *fixture) only() (task.Report, time.Duration) {
	x.t.Helper()
	got := x.soFar()
	if len(got.reports) != 1 {
		x.t.Fatalf("%d reports, want one: %+v", len(got.reports), got.reports)
	}
	return got.reports[0], got.at[0]
}

// sleeper takes the time that its kind's name says, and ignores its context.
func sleeper(d time.Duration) run {
	return func(context.Context, *task.Task) task.Report { time.Sleep(d); return good }
}

// waiter ends with its context and says the cause.
func waiter(ctx context.Context, _ *task.Task) task.Report {
	<-ctx.Done()
	return task.Report{Outcome: task.OutFailed, Error: context.Cause(ctx).Error()}
}

func TestSlots(t *testing.T) {
	local(t, sleeper(time.Second), func(x *fixture) {
		if !x.Take("one") || x.Take("one") {
			t.Error("a kind with a limit of one does not have exactly one slot")
		}
		for range 3 {
			if !x.Take("any") {
				t.Error("a free slot was refused")
			}
		}
		if x.Take("any") || x.Free() != 0 {
			t.Errorf("a fifth of four slots was given, %d are free", x.Free())
		}
		x.Give("one")
		if x.Take("any") == false || x.Take("one") {
			t.Error("the slot that was given back belongs to all kinds")
		}
		for range 4 {
			x.Give("any")
		}
		if x.soFar().freed != 5 {
			t.Errorf("told of %d free slots, want 5", x.soFar().freed)
		}
		x.start("one", time.Minute)
		if x.Take("one") {
			t.Error("a running task does not count against the limit of its kind")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if x.soFar().freed != 6 || !x.Take("one") {
			t.Errorf("told of %d free slots, want 6", x.soFar().freed)
		}
		x.Give("one")
	})
}

// TestOutcomes: whatever the handler does becomes a report with the ids of the execution.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name    string
		h       run
		outcome task.Outcome
		text    string // part of the error
	}{
		{"success", func(context.Context, *task.Task) task.Report { return good },
			task.OutSucceeded, ""},
		{"failure", func(context.Context, *task.Task) task.Report { return bad },
			task.OutFailed, "no answer"},
		{"panic", func(context.Context, *task.Task) task.Report { panic("oops") },
			task.OutFailed, "panic: oops"},
		{"panic with its place", func(context.Context, *task.Task) task.Report { panic("oops") },
			task.OutFailed, "local_test.go"},
		{"panic(nil)", func(context.Context, *task.Task) task.Report { panic(nil) },
			task.OutFailed, "panic"},
		{"index out of range", func(_ context.Context, k *task.Task) task.Report {
			return task.Report{Error: k.Kind[len(k.Kind):][:1]}
		}, task.OutFailed, "out of range"},
		{"Goexit", func(context.Context, *task.Task) task.Report { runtime.Goexit(); return good },
			task.OutFailed, "Goexit"},
	} {
		local(t, c.h, func(x *fixture) {
			k := x.start("k", time.Minute)
			r, _ := x.only()
			if r.Outcome != c.outcome || !strings.Contains(r.Error, c.text) {
				t.Errorf("%s: %s, %q; want %s with %q", c.name, r.Outcome, r.Error, c.outcome, c.text)
			}
			if r.ID != k.ID || r.Execution != k.ExecutionID || r.Stopped {
				t.Errorf("%s: report %+v", c.name, r)
			}
			if x.Known(k.ExecutionID) {
				t.Errorf("%s: it still counts as running", c.name)
			}
		})
	}
}

// TestS20LongError: an error of any size is cut to valid text.
func TestS20LongError(t *testing.T) {
	huge := func(context.Context, *task.Task) task.Report {
		return task.Report{Outcome: task.OutFailed, Error: strings.Repeat("\U0001F600", 2_500_000)}
	}
	local(t, huge, func(x *fixture) {
		x.start("k", time.Minute)
		if r, _ := x.only(); len(r.Error) > task.MaxError || strings.ToValidUTF8(r.Error, "") != r.Error {
			t.Errorf("the error has %d bytes", len(r.Error))
		}
	})
}

// TestTimeoutObeyed: a handler that ends with its context is reported at once, its slot and its
// place among the zombies are free again.
func TestTimeoutObeyed(t *testing.T) {
	local(t, waiter, func(x *fixture) {
		k := x.start("k", 2*time.Second)
		time.Sleep(2*time.Second - time.Microsecond)
		synctest.Wait()
		if len(x.soFar().reports) != 0 {
			t.Fatalf("reported before the limit: %+v", x.soFar().reports)
		}
		time.Sleep(2 * time.Millisecond)
		r, at := x.only()
		if !r.Stopped || r.Error != ErrTimeout.Error() || at > 2*time.Second+time.Millisecond {
			t.Errorf("report %+v at %s", r, at)
		}
		if len(x.soFar().overdue) != 1 || x.soFar().overdue[0] != k.ExecutionID {
			t.Errorf("told of overdue %v", x.soFar().overdue)
		}
	})
}

// TestD19Zombie: a handler that ignores its context loses its slot at the limit, is counted, and
// is given up after the zombie wait; its late return is reported too.
func TestD19Zombie(t *testing.T) {
	local(t, sleeper(2*time.Minute), func(x *fixture) {
		k := x.start("one", 2*time.Second)
		time.Sleep(2*time.Second + 2*time.Millisecond)
		synctest.Wait()
		if used, zombies := x.Load(); used != 0 || zombies != 1 || !x.Known(k.ExecutionID) {
			t.Fatalf("past the limit: %d slots in use, %d zombies", used, zombies)
		}
		if len(x.soFar().overdue) != 1 || len(x.soFar().reports) != 0 || x.soFar().freed != 1 {
			t.Fatalf("told %+v", x.soFar())
		}
		if !x.Take("one") {
			t.Error("the slot of the kind is not free")
		}
		x.Give("one")
		time.Sleep(time.Minute)
		r, at := x.only()
		if r.Outcome != task.OutTimeout || !r.Stopped || at < 62*time.Second || at > 63*time.Second {
			t.Errorf("given up with %+v at %s", r, at)
		}
		if _, zombies := x.Load(); zombies != 1 {
			t.Errorf("%d zombies after it was given up, want 1: it still runs", zombies)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if rs := x.soFar().reports; len(rs) != 2 || rs[1].Outcome != task.OutSucceeded ||
			!rs[1].Stopped {
			t.Errorf("late return: %+v", x.soFar().reports)
		}
	})
}

// TestT17LongLimits: limits of 30 and 365 days come when they should, and not after a millisecond.
func TestT17LongLimits(t *testing.T) {
	for _, d := range []time.Duration{30 * 24 * time.Hour, 365 * 24 * time.Hour} {
		local(t, waiter, func(x *fixture) {
			x.start("k", d)
			for _, early := range []time.Duration{time.Second, 25*24*time.Hour - time.Second,
				d - 25*24*time.Hour - time.Second} {
				x.pass(early)
				if len(x.soFar().reports) != 0 {
					t.Fatalf("a limit of %s has passed after %s less", d, early)
				}
			}
			x.pass(2 * time.Second)
			if r, _ := x.only(); !r.Stopped || r.Error != ErrTimeout.Error() {
				t.Errorf("limit %s: %+v", d, r)
			}
		})
	}
}

// TestNoTimeout: without a limit it may take for ever, and the longest limit does not overflow.
func TestNoTimeout(t *testing.T) {
	for _, d := range []time.Duration{task.NoTimeout, 1<<63 - 1} {
		local(t, sleeper(time.Minute), func(x *fixture) {
			x.start("k", d)
			x.pass(1000 * 24 * time.Hour)
			time.Sleep(time.Minute)
			if r, _ := x.only(); r.Outcome != task.OutSucceeded || r.Stopped {
				t.Errorf("limit %d: %+v", d, r)
			}
		})
	}
}

// TestCancelCause: each cause arrives in the handler; after a shutdown or a fence an
// error is a release.
func TestCancelCause(t *testing.T) {
	for cause, want := range map[error]task.Outcome{ErrCanceled: task.OutFailed,
		ErrFenced: task.OutReleased, ErrShutdown: task.OutReleased} {
		local(t, waiter, func(x *fixture) {
			k := x.start("k", time.Minute)
			other := x.start("k", 5*time.Second)
			x.Cancel(task.ID{9}, cause) // does not run here
			x.Cancel(k.ExecutionID, cause)
			r, _ := x.only()
			if r.Outcome != want || r.Error != cause.Error() || r.Execution != k.ExecutionID {
				t.Errorf("%v: %+v", cause, r)
			}
			if !x.Known(other.ExecutionID) {
				t.Error("the other execution ended too")
			}
		})
	}
}

// TestShutdownKeepsSuccess: what succeeds after ErrShutdown has succeeded.
func TestShutdownKeepsSuccess(t *testing.T) {
	obey := func(ctx context.Context, _ *task.Task) task.Report { <-ctx.Done(); return good }
	local(t, obey, func(x *fixture) {
		x.start("k", time.Minute)
		x.CancelAll(ErrShutdown)
		if r, _ := x.only(); r.Outcome != task.OutSucceeded {
			t.Errorf("%+v", r)
		}
	})
}

// TestPanicAtShutdown: a panic after ErrShutdown is handed back like an error.
func TestPanicAtShutdown(t *testing.T) {
	h := func(ctx context.Context, _ *task.Task) task.Report { <-ctx.Done(); panic("closed") }
	local(t, h, func(x *fixture) {
		x.start("k", time.Minute)
		x.CancelAll(ErrShutdown)
		if r, _ := x.only(); r.Outcome != task.OutReleased {
			t.Errorf("%+v", r)
		}
	})
}

func TestWait(t *testing.T) {
	local(t, sleeper(5*time.Second), func(x *fixture) {
		if err := x.Wait(x.t.Context()); err != nil {
			t.Errorf("with nothing running: %v", err)
		}
		x.start("k", time.Minute)
		x.start("k", time.Minute)
		short, cancel := context.WithTimeout(x.t.Context(), time.Second)
		defer cancel()
		if err := x.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a second to wait: %v", err)
		}
		var wg sync.WaitGroup
		for range 3 { // any number may wait
			wg.Go(func() {
				if err := x.Wait(x.t.Context()); err != nil || time.Since(x.began) != 5*time.Second {
					t.Errorf("%v after %s", err, time.Since(x.began))
				}
			})
		}
		wg.Wait()
	})
}

// TestWaitCountsZombies: a handler past its limit still runs.
func TestWaitCountsZombies(t *testing.T) {
	local(t, sleeper(10*time.Second), func(x *fixture) {
		x.start("k", time.Second)
		if err := x.Wait(x.t.Context()); err != nil || time.Since(x.began) != 10*time.Second {
			t.Errorf("%v after %s", err, time.Since(x.began))
		}
	})
}

// TestInTx: that the handler has ended its task itself is reported however the handler ends.
func TestInTx(t *testing.T) {
	for name, end := range map[string]func(){
		"returns": func() {}, "panics": func() { panic("oops") }, "Goexit": runtime.Goexit,
	} {
		local(t, func(ctx context.Context, k *task.Task) task.Report {
			if k.Kind == "tx" {
				InTx(context.WithoutCancel(ctx))
			}
			end()
			return good
		}, func(x *fixture) {
			x.start("tx", time.Minute)
			if r, _ := x.only(); !r.InTx {
				t.Errorf("%s: report %+v", name, r)
			}
			x.start("k", time.Minute)
			if r := x.soFar().reports[1]; r.InTx {
				t.Errorf("%s: report of another %+v", name, r)
			}
		})
	}
	InTx(t.Context()) // of no handler
}

// TestRuns: an execution holds its task back while it may still end as it was told to, not when it
// was given up, although it is still known.
func TestRuns(t *testing.T) {
	local(t, sleeper(10*time.Minute), func(x *fixture) {
		k := x.start("k", task.NoTimeout)
		x.Expect(task.ID{9})
		runs := func(want bool) {
			t.Helper()
			synctest.Wait()
			if got := x.Runs(k.ExecutionID); got != want || !x.Known(k.ExecutionID) {
				t.Errorf("runs: %v, want %v", got, want)
			}
		}
		runs(true)
		if x.Runs(task.ID{9}) || x.Runs(task.ID{8}) {
			t.Error("one that has not started runs")
		}
		x.Unexpect(task.ID{9})
		x.Cancel(k.ExecutionID, ErrCanceled)
		runs(true)
		time.Sleep(59 * time.Second)
		runs(true)
		time.Sleep(2 * time.Second)
		runs(false)
		time.Sleep(9 * time.Minute)
	})
}
