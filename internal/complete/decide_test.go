package complete

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
)

// Ids and times of the tests.
var (
	theTask = task.ID{1}
	theRun  = task.ID{2}
	another = task.ID{3}
)

const storeNow = task.Time(1_800_000_000_000_000)

// policy is three retries, 10 s apart, without jitter.
func policy() Policy {
	return Policy{MaxRetries: 3, Timeout: time.Minute,
		Retry: retry.Policy{Kind: retry.Fixed, DelayMS: 10_000}}
}

// row is a task whose last execution is theRun.
func row(s task.State) *task.Task {
	return &task.Task{ID: theTask, Kind: "k", Key: "order 7", OverlapKey: "job/1",
		FireTime: storeNow.Add(-time.Minute), Version: 9,
		Mutable: task.Mutable{State: s, Run: 1, Attempt: 1, ExecutionID: theRun, Epoch: 5, Token: 6,
			RunAt: storeNow.Add(-time.Minute)}}
}

// events names the moves of a transition, or says that there is none.
func events(tr *task.Transition) string {
	if tr == nil {
		return "nothing"
	}
	var names []string
	for _, m := range tr.Moves {
		names = append(names, m.Event.String())
	}
	return strings.Join(names, " ")
}

// verdict is one row of the table: what a report means for a row.
type verdict struct {
	name   string
	state  task.State
	set    func(t *task.Task)
	r      task.Report
	p      func(p *Policy)
	want   string // the moves
	rests  task.State
	reason task.Reason
	last   task.Outcome
	fails  int
	in     time.Duration // until it runs again
}

func failures(n int) func(*task.Task) { return func(t *task.Task) { t.Failures = n } }
func cancelAsked(t *task.Task)        { t.CancelAsked = storeNow }
func stopAsked(t *task.Task)          { t.StopAsked = storeNow }
func lastly(o task.Outcome) func(*task.Task) {
	return func(t *task.Task) { t.LastOutcome, t.Failures = o, 1 }
}

var (
	success  = task.Report{Outcome: task.OutSucceeded, Result: []byte("ok")}
	failure  = task.Report{Outcome: task.OutFailed, Error: "no answer"}
	timeout  = task.Report{Outcome: task.OutTimeout, Error: "too slow"}
	snoozed  = task.Report{Outcome: task.OutSnoozed, Delay: time.Hour}
	released = task.Report{Outcome: task.OutReleased}
	canceled = task.Report{Outcome: task.OutCanceled, Error: "not wanted"}
	stopped  = task.Report{Outcome: task.OutFailed, Error: "obeyed", Stopped: true}
)

var running = []verdict{
	{name: "success", r: success, want: "succeed", rests: task.Succeeded, last: task.OutSucceeded},
	{name: "failure", r: failure, want: "fail retry", rests: task.Scheduled, last: task.OutFailed,
		fails: 1, in: 10 * time.Second},
	{name: "last retry", r: failure, set: failures(2), want: "fail retry", rests: task.Scheduled,
		last: task.OutFailed, fails: 3, in: 10 * time.Second},
	{name: "exhausted", r: failure, set: failures(3), want: "fail bury", rests: task.Dead,
		reason: task.Exhausted, last: task.OutFailed, fails: 4},
	{name: "permanent", r: task.Report{Outcome: task.OutFailed, Permanent: true},
		want: "fail bury", rests: task.Dead, reason: task.Permanent, last: task.OutFailed, fails: 1},
	{name: "retry in", r: task.Report{Outcome: task.OutFailed, HasDelay: true, Delay: time.Minute},
		want: "fail retry", rests: task.Scheduled, last: task.OutFailed, fails: 1, in: time.Minute},
	{name: "retry at once", r: task.Report{Outcome: task.OutFailed, HasDelay: true},
		want: "fail retry", rests: task.Scheduled, last: task.OutFailed, fails: 1},
	{name: "retry in, exhausted", r: task.Report{Outcome: task.OutFailed, HasDelay: true},
		set: failures(3), want: "fail bury", rests: task.Dead, reason: task.Exhausted,
		last: task.OutFailed, fails: 4},
	{name: "budget has room", r: failure, p: func(p *Policy) { p.Retry.BudgetMS = 70_000 },
		want: "fail retry", rests: task.Scheduled, last: task.OutFailed, fails: 1,
		in: 10 * time.Second},
	{name: "budget is spent", r: failure, p: func(p *Policy) { p.Retry.BudgetMS = 69_999 },
		want: "fail bury", rests: task.Dead, reason: task.Exhausted, last: task.OutFailed, fails: 1},
	{name: "snooze", r: snoozed, set: failures(3), want: "snooze", rests: task.Scheduled,
		last: task.OutSnoozed, fails: 3, in: time.Hour},
	{name: "release", r: released, set: failures(3), want: "hand_back", rests: task.Scheduled,
		last: task.OutReleased, fails: 3},
	{name: "handler cancels", r: canceled, want: "cancel", rests: task.Canceled,
		reason: task.ByHandler, last: task.OutCanceled},
	{name: "time-out", r: timeout, want: "time_out retry", rests: task.Scheduled,
		last: task.OutTimeout, fails: 1, in: 10 * time.Second},
	{name: "time-out, exhausted", r: timeout, set: failures(3), want: "time_out bury",
		rests: task.Dead, reason: task.Exhausted, last: task.OutTimeout, fails: 4},
	{name: "obeyed the stop", r: stopped, want: "time_out retry", rests: task.Scheduled,
		last: task.OutTimeout, fails: 1, in: 10 * time.Second},
	{name: "failed after the stop was recorded", r: failure, set: stopAsked,
		want: "time_out retry", rests: task.Scheduled, last: task.OutTimeout, fails: 1,
		in: 10 * time.Second},
	{name: "snoozed after the stop", r: snoozed, set: stopAsked, want: "time_out retry",
		rests: task.Scheduled, last: task.OutTimeout, fails: 1, in: 10 * time.Second},
	{name: "released after the stop", r: released, set: stopAsked, want: "time_out retry",
		rests: task.Scheduled, last: task.OutTimeout, fails: 1, in: 10 * time.Second},
	{name: "permanent after the stop", set: stopAsked,
		r:    task.Report{Outcome: task.OutFailed, Permanent: true},
		want: "time_out bury", rests: task.Dead, reason: task.Permanent, last: task.OutTimeout,
		fails: 1},
	{name: "success after the stop", r: success, set: stopAsked, want: "succeed",
		rests: task.Succeeded, last: task.OutSucceeded},
	{name: "success after cancel", r: success, set: cancelAsked, want: "succeed",
		rests: task.Succeeded, last: task.OutSucceeded},
	{name: "failure after cancel", r: failure, set: cancelAsked, want: "cancel",
		rests: task.Canceled, reason: task.ByRequest, last: task.OutCanceled},
	{name: "permanent failure after cancel", set: cancelAsked,
		r:    task.Report{Outcome: task.OutFailed, Permanent: true},
		want: "cancel", rests: task.Canceled, reason: task.ByRequest, last: task.OutCanceled},
	{name: "time-out after cancel", r: timeout, set: cancelAsked, want: "cancel",
		rests: task.Canceled, reason: task.ByRequest, last: task.OutCanceled},
	{name: "snooze after cancel", r: snoozed, set: cancelAsked, want: "cancel",
		rests: task.Canceled, reason: task.ByRequest, last: task.OutCanceled},
	{name: "release after cancel", r: released, set: cancelAsked, want: "cancel",
		rests: task.Canceled, reason: task.ByRequest, last: task.OutCanceled},
	{name: "handler cancels after cancel", r: canceled, set: cancelAsked, want: "cancel",
		rests: task.Canceled, reason: task.ByRequest, last: task.OutCanceled},
}

var resting = []verdict{
	{name: "late success of a lost attempt", state: task.Scheduled, set: lastly(task.OutLost),
		r: success, want: "succeed", rests: task.Succeeded, last: task.OutSucceeded, fails: 1},
	{name: "late success of a timed-out attempt", state: task.Scheduled,
		set: lastly(task.OutTimeout), r: success, want: "succeed", rests: task.Succeeded,
		last: task.OutSucceeded, fails: 1},
	{name: "success of a failed attempt", state: task.Scheduled, set: lastly(task.OutFailed),
		r: success, want: "nothing"},
	{name: "success of a snoozed attempt", state: task.Scheduled, set: lastly(task.OutSnoozed),
		r: success, want: "nothing"},
	{name: "success of a released attempt", state: task.Scheduled, set: lastly(task.OutReleased),
		r: success, want: "nothing"},
	{name: "late failure", state: task.Scheduled, set: lastly(task.OutTimeout), r: stopped,
		want: "nothing"},
	{name: "late release", state: task.Scheduled, set: lastly(task.OutLost), r: released,
		want: "nothing"},
	{name: "held, success", state: task.Held, r: success, want: "succeed", rests: task.Succeeded,
		last: task.OutSucceeded},
	{name: "held, failure", state: task.Held, r: failure, want: "fail retry",
		rests: task.Scheduled, last: task.OutFailed, fails: 1, in: 10 * time.Second},
	{name: "held, failure, exhausted", state: task.Held, set: failures(3), r: failure,
		want: "fail bury", rests: task.Dead, reason: task.Exhausted, last: task.OutFailed, fails: 4},
	{name: "held, snooze", state: task.Held, r: snoozed, want: "nothing"},
	{name: "held, release", state: task.Held, r: released, want: "nothing"},
	{name: "held, time-out", state: task.Held, r: timeout, want: "nothing"},
	{name: "pending", state: task.Pending, r: success, want: "nothing"},
	{name: "succeeded already", state: task.Succeeded, r: success, want: "nothing"},
	{name: "dead already", state: task.Dead, r: success, want: "nothing"},
	{name: "canceled already", state: task.Canceled, r: success, want: "nothing"},
	{name: "skipped already", state: task.Skipped, r: failure, want: "nothing"},
}

func holdUnknown(p *Policy) { p.OnUnknown = task.UnknownHold }
func atMostOnce(p *Policy)  { p.OnUnknown, p.MaxRetries = task.UnknownHold, 0 }

var interrupted = task.Report{Outcome: task.OutReleased, Interrupted: true, Error: "stopped"}

// unknown are rows whose policy leaves unknown ends to a person.
var unknown = []verdict{
	{name: "no report, held", r: timeout, p: holdUnknown, want: "time_out hold", rests: task.Held,
		reason: task.Unreported, last: task.OutTimeout},
	{name: "no report of a stopped one, held", r: timeout, p: holdUnknown, set: stopAsked,
		want: "time_out hold", rests: task.Held, reason: task.Unreported, last: task.OutTimeout},
	{name: "obeyed the stop, known", r: stopped, p: holdUnknown, want: "time_out retry",
		rests: task.Scheduled, last: task.OutTimeout, fails: 1, in: 10 * time.Second},
	{name: "failure is known", r: failure, p: holdUnknown, want: "fail retry", rests: task.Scheduled,
		last: task.OutFailed, fails: 1, in: 10 * time.Second},
	{name: "no report, canceled", r: timeout, p: holdUnknown, set: cancelAsked, want: "cancel",
		rests: task.Canceled, reason: task.ByRequest, last: task.OutCanceled},
	{name: "interrupted, with retries", p: holdUnknown, want: "hand_back", rests: task.Scheduled,
		r: task.Report{Outcome: task.OutReleased, Interrupted: true}, last: task.OutReleased},
	{name: "once, failure", r: failure, p: atMostOnce, want: "fail bury", rests: task.Dead,
		reason: task.Exhausted, last: task.OutFailed, fails: 1},
	{name: "once, no report, canceled", r: timeout, p: atMostOnce, set: cancelAsked,
		want: "hold", rests: task.Held, reason: task.Unreported, last: task.OutTimeout},
	{name: "once, reported after cancel", r: failure, p: atMostOnce, set: cancelAsked, want: "cancel",
		rests: task.Canceled, reason: task.ByRequest, last: task.OutCanceled},
	{name: "once, interrupted", r: interrupted, p: atMostOnce, want: "hold", rests: task.Held,
		reason: task.Interrupted, last: task.OutReleased},
	{name: "once, released by the handler", r: released, p: atMostOnce, want: "hand_back",
		rests: task.Scheduled, last: task.OutReleased},
	{name: "once, snoozed", r: snoozed, p: atMostOnce, want: "snooze", rests: task.Scheduled,
		last: task.OutSnoozed, in: time.Hour},
}

// expiring is a task that ends in 10 s or so.
func expiring(in time.Duration) func(*task.Task) {
	return func(t *task.Task) { t.ExpiresAt = storeNow.Add(in) }
}

// ending are retries near the end of a task's time.
var ending = []verdict{
	{name: "retry just before it expires", r: failure, set: expiring(10 * time.Second),
		want: "fail retry", rests: task.Scheduled, last: task.OutFailed, fails: 1,
		in: 10 * time.Second},
	{name: "retry after it has expired", r: failure, set: expiring(10*time.Second - 1000),
		want: "fail bury", rests: task.Dead, reason: task.Expired, last: task.OutFailed, fails: 1},
	{name: "retry after it has expired, triggered since", r: failure, set: func(t *task.Task) {
		t.ExpiresAt, t.TriggeredAt = storeNow-2000, storeNow-1000
	}, want: "fail retry", rests: task.Scheduled, last: task.OutFailed, fails: 1,
		in: 10 * time.Second},
	{name: "budget runs anew from a person's retry", r: failure, p: func(p *Policy) {
		p.Retry.BudgetMS = 20_000
	}, set: func(t *task.Task) { t.TriggeredAt = storeNow.Add(-10 * time.Second) },
		want: "fail retry", rests: task.Scheduled, last: task.OutFailed, fails: 1,
		in: 10 * time.Second},
	{name: "budget of a person's retry is spent", r: failure, p: func(p *Policy) {
		p.Retry.BudgetMS = 20_000
	}, set: func(t *task.Task) { t.TriggeredAt = storeNow.Add(-11 * time.Second) },
		want: "fail bury", rests: task.Dead, reason: task.Exhausted, last: task.OutFailed, fails: 1},
}

func TestDecide(t *testing.T) {
	for _, v := range slices.Concat(unknown, ending) {
		v.state = task.Running
		v.check(t)
	}
	for _, v := range running {
		v.state = task.Running
		v.check(t)
		// The report overtook the acceptance: the same with one move more.
		v.state, v.name, v.want = task.Dispatching, v.name+", not accepted yet", "accept "+v.want
		v.check(t)
	}
	for _, v := range resting {
		v.check(t)
	}
}

func (v verdict) check(t *testing.T) {
	t.Helper()
	k, p := row(v.state), policy()
	if v.set != nil {
		v.set(k)
	}
	if v.p != nil {
		v.p(&p)
	}
	v.r.ID, v.r.Execution = theTask, theRun
	before := *k
	tr := Decide(k, v.r, p, storeNow, 0)
	if got := events(tr); got != v.want {
		t.Errorf("%s: %s, want %s", v.name, got, v.want)
		return
	}
	if k.Version != before.Version || k.State != before.State || k.Failures != before.Failures {
		t.Errorf("%s: the row was changed", v.name)
	}
	if tr == nil {
		return
	}
	if err := tr.Check(); err != nil {
		t.Errorf("%s: %v", v.name, err)
	}
	m := tr.Set
	if m.State != v.rests || m.Reason != v.reason || m.LastOutcome != v.last || m.Failures != v.fails {
		t.Errorf("%s: %s, reason %s, last %s, %d failures; want %s, %s, %s, %d", v.name, m.State,
			m.Reason, m.LastOutcome, m.Failures, v.rests, v.reason, v.last, v.fails)
	}
	v.conditions(t, tr)
}

// conditions checks what a transition rests on and what it gives back.
func (v verdict) conditions(t *testing.T, tr *task.Transition) {
	t.Helper()
	m := tr.Set
	if tr.Version != 9 || tr.From != v.state || tr.Execution != theRun || tr.WhenDue {
		t.Errorf("%s: conditions %+v", v.name, tr)
	}
	if m.State == task.Scheduled && (m.RunAt != task.StoreNow || m.RunIn != v.in) {
		t.Errorf("%s: runs again at %d plus %s, want the store's now plus %s", v.name, m.RunAt,
			m.RunIn, v.in)
	}
	if m.Attempt != 1 || m.Run != 1 || m.Recoveries != 0 || m.FinishedAt != task.StoreNow {
		t.Errorf("%s: attempt %d, run %d, %d recoveries, finished %d", v.name, m.Attempt, m.Run,
			m.Recoveries, m.FinishedAt)
	}
	freed := ""
	if (v.state.Live() || v.state == task.Held) && m.State != task.Held {
		freed = "job/1"
	}
	if tr.FreeKey != freed || tr.TakeKey != "" || tr.FreeUnique != m.State.Final() {
		t.Errorf("%s: frees %q, takes %q, unique %v", v.name, tr.FreeKey, tr.TakeKey, tr.FreeUnique)
	}
	if m.State == task.Succeeded && (string(m.Result) != "ok" || m.Error != "") {
		t.Errorf("%s: result %q, error %q", v.name, m.Result, m.Error)
	}
	if m.State != task.Succeeded && v.r.Error != "" && m.Error != v.r.Error {
		t.Errorf("%s: error %q, want %q", v.name, m.Error, v.r.Error)
	}
}

// TestD11ForeignExecution: only the row's last execution is heard.
func TestD11ForeignExecution(t *testing.T) {
	for _, s := range task.States() {
		for _, x := range []task.ID{another, {}} {
			r := task.Report{ID: theTask, Execution: x, Outcome: task.OutSucceeded}
			k := row(s)
			k.LastOutcome = task.OutLost
			if tr := Decide(k, r, policy(), storeNow, 0); tr != nil {
				t.Errorf("%s: a report of execution %s gives %s", s, x, events(tr))
			}
		}
	}
	never := row(task.Running)
	never.ExecutionID = task.ID{}
	if tr := Decide(never, task.Report{Outcome: task.OutSucceeded}, policy(), storeNow, 0); tr != nil {
		t.Errorf("a report without an execution gives %s", events(tr))
	}
}

// TestR05Executions: max_retries n is n+1 executions, and no other count spends them.
func TestR05Executions(t *testing.T) {
	for _, n := range []int{0, 1, 3} {
		p := policy()
		p.MaxRetries = n
		k := row(task.Scheduled)
		k.ExecutionID, k.Attempt, k.Recoveries, k.Dispatches = task.ID{}, 0, 2, 7
		executions := 0
		for ; k.State == task.Scheduled && executions < 100; executions++ {
			for _, r := range []task.Report{snoozed, released, failure} {
				start := Claim(k, task.ID{4, byte(executions), byte(r.Outcome)}, "x", 1, 1)
				k.Mutable = start.Set
				r.Execution = k.ExecutionID
				k.Mutable = Decide(k, r, p, storeNow, 0).Set
			}
		}
		if executions != n+1 || k.State != task.Dead || k.Reason != task.Exhausted {
			t.Errorf("max_retries %d: %d executions that failed, then %s(%s)", n, executions, k.State,
				k.Reason)
		}
		if k.Attempt != 3*(n+1) {
			t.Errorf("max_retries %d: %d starts are counted, want %d", n, k.Attempt, 3*(n+1))
		}
	}
}

// TestR02Jitter: the random number places the retry after the base delay, never before it.
func TestR02Jitter(t *testing.T) {
	p := policy()
	p.Retry.JitterPct = 20
	for rnd, want := range map[float64]time.Duration{0: 10 * time.Second, 0.5: 11 * time.Second} {
		r := failure
		r.Execution = theRun
		if tr := Decide(row(task.Running), r, p, storeNow, rnd); tr.Set.RunIn != want {
			t.Errorf("rnd %v: retry in %s, want %s", rnd, tr.Set.RunIn, want)
		}
	}
}

// TestPolicyPanics: a custom backoff that panics costs its task the formula, nobody else anything.
func TestPolicyPanics(t *testing.T) {
	p := Policy{MaxRetries: 5, Retry: retry.Policy{Kind: retry.Fixed, DelayMS: 7000,
		Func: func(int, float64) time.Duration { panic("oops") }}}
	x := task.Task{ID: task.ID{1}, Kind: "k", MaxRetries: -1}
	x.State, x.Run, x.ExecutionID = task.Running, 1, task.ID{2}
	tr := Decide(&x, task.Report{ID: x.ID, Execution: x.ExecutionID, Outcome: task.OutFailed}, p,
		1_000_000, 0)
	if tr == nil || tr.Set.State != task.Scheduled || tr.Set.RunIn != 7*time.Second {
		t.Errorf("%+v", tr)
	}
}
