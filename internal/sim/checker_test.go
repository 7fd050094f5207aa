package sim

import (
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// history feeds a checker by hand, one event after another, a second apart.
type history struct {
	*checker
	p    *process
	next byte
}

const epochOne = 1

func newHistory() *history {
	h := &history{checker: newChecker(rules{slots: 2, executorTTL: 60 * time.Second,
		heartbeat: 2 * time.Second, zombieWait: 3 * time.Second, late: 4 * time.Second,
		stuck: 9 * time.Second, limit: limitOf, policy: policyOf}), p: &process{name: "p"}}
	h.installed(h.p, 1)
	h.joined(h.p, "n0", epochOne)
	h.believes(epochOne, 0)
	return h
}

func (h *history) id() task.ID {
	h.next++
	return task.ID{15: h.next}
}

func (h *history) now() task.Time { return task.Time(1_000_000_000 + h.at.Microseconds()) }

func (h *history) fence() store.Fence { return store.Fence{Token: h.token} }

// wait lets time pass.
func (h *history) wait(d time.Duration) { h.at += d }

// submit makes a task of the kind that is due at once.
func (h *history) submit(kind, key string) *shadow {
	t := task.Task{ID: h.id(), Kind: kind, Key: key, MaxRetries: -1, FireTime: task.StoreNow}
	t.State, t.Run, t.RunAt = task.Scheduled, 1, task.StoreNow
	h.insert(t)
	return h.rows[t.ID]
}

// keeping makes a task of kind quick and key k with a scope.
func (h *history) keeping(u task.Unique) *shadow {
	t := task.Task{ID: h.id(), Kind: "quick", Key: "k", Unique: u, MaxRetries: -1,
		FireTime: task.StoreNow}
	t.State, t.Run, t.RunAt = task.Scheduled, 1, task.StoreNow
	h.insert(t)
	return h.rows[t.ID]
}

func (h *history) insert(t task.Task) {
	at := t.RunAt
	if at == task.StoreNow {
		at = h.now()
	}
	h.inserted(h.p, store.Fence{}, []task.Task{t}, []store.Inserted{{ID: t.ID, State: t.State,
		Version: 1, RunAt: at, At: h.now()}})
}

// apply feeds a transition as applied.
func (h *history) apply(f store.Fence, tr *task.Transition) {
	v := tr.Version + int64(len(tr.Moves))
	h.applied(h.p, f, []*task.Transition{tr}, []store.Result{{Status: store.Applied, Version: v,
		At: h.now()}})
}

func (h *history) claim(r *shadow) {
	h.apply(h.fence(), complete.Claim(&r.Task, h.id(), "n0", epochOne, h.token))
}

// begin starts the handler of a claimed task.
func (h *history) begin(r *shadow) *run {
	return h.begun(h.p, &ax.Task{ID: r.ID, ExecutionID: r.ExecutionID, Attempt: r.Attempt,
		Token: h.token}, h.now())
}

// start submits, claims and begins a task.
func (h *history) start(kind, key string) (*shadow, *run) {
	r := h.submit(kind, key)
	h.claim(r)
	return r, h.begin(r)
}

// report feeds the outcome that the product would write.
func (h *history) report(r *shadow, rep task.Report) {
	rep.ID, rep.Execution = r.ID, r.ExecutionID
	p := policyOf(&r.Task)
	h.apply(store.Fence{}, complete.Decide(&r.Task, rep, complete.Policy{MaxRetries: p.max,
		Retry: p.retry, Timeout: p.timeout}, h.now(), 0.5))
}

// job makes a definition that fires every ten seconds.
func (h *history) job() *jobShadow {
	j := task.Job{ID: h.id(), Name: "j", Version: 1, Kind: tickKind, Anchor: h.now(),
		LastFire: h.now(), Schedule: task.Schedule{Every: 10 * time.Second}}
	h.put(j, h.now())
	return h.jobs[j.ID]
}

// fireFor feeds a fire of the job for a time so long after its anchor.
func (h *history) fireFor(j *jobShadow, after time.Duration, from task.Time, n int) {
	t := task.Task{ID: h.id(), Kind: j.Kind, JobID: j.ID, Job: j.Name, MaxRetries: -1,
		FireTime: j.Anchor.Add(after), FireFrom: from, FireCount: n}
	t.State, t.Run, t.RunAt = task.Scheduled, 1, t.FireTime
	h.fired(h.p, h.fence(), []store.Fire{{JobID: j.ID, Version: j.Version, Task: t}},
		[]store.FireResult{{Status: store.Fired, Row: store.Inserted{ID: t.ID, Version: 1,
			State: t.State, RunAt: t.RunAt, At: h.now()}}}, h.now())
}

// skipFor feeds a fire that does not run.
func (h *history) skipFor(j *jobShadow, after time.Duration, why task.Reason) {
	t := task.Task{ID: h.id(), Kind: j.Kind, JobID: j.ID, Job: j.Name, MaxRetries: -1,
		FireTime: j.Anchor.Add(after), FireCount: 1}
	t.State, t.Reason, t.Run, t.RunAt = task.Skipped, why, 1, t.FireTime
	h.fired(h.p, h.fence(), []store.Fire{{JobID: j.ID, Version: j.Version, Task: t}},
		[]store.FireResult{{Status: store.Fired, Row: store.Inserted{ID: t.ID, Version: 1,
			State: t.State, RunAt: t.RunAt, At: h.now()}}}, h.now())
}

// TestGoodHistory: what is right breaks no promise.
func TestGoodHistory(t *testing.T) {
	h := newHistory()
	r, x := h.start("quick", "k")
	h.ack(r.ID)
	h.finished(x, verdict{kind: fails})
	h.report(r, task.Report{Outcome: task.OutFailed})
	h.wait(time.Second)
	h.claim(r)
	x = h.begin(r)
	h.wait(5 * time.Second)
	h.toldToStop(x, ax.ErrTimeout)
	h.apply(store.Fence{}, complete.Stop(&r.Task))
	h.finished(x, verdict{kind: succeeds})
	h.report(r, task.Report{Outcome: task.OutSucceeded})
	h.submit("quick", "k")
	c := h.rows[task.ID{15: h.next}]
	h.apply(store.Fence{}, complete.Cancel(&c.Task, "me", ""))
	h.ackCancel(c.ID)
	j := h.job()
	h.wait(31 * time.Second)
	h.fireFor(j, 30*time.Second, j.Anchor.Add(10*time.Second), 3)
	f := h.rows[j.LastTask]
	h.apply(store.Fence{}, complete.Cancel(&f.Task, "me", ""))
	j.Misfire, j.SkipUntil = task.MisfireSkip, j.Anchor.Add(40*time.Second)
	h.wait(35 * time.Second)
	h.skipFor(j, 40*time.Second, task.ByRequest)
	h.skipFor(j, 50*time.Second, task.Misfired)
	h.skipFor(j, 60*time.Second, task.Misfired)
	h.look(h.now())
	h.owing(h.now(), time.Second)
	for _, r := range h.rows {
		h.row(&r.Task, r.log)
	}
	h.done(len(h.rows))
	for _, v := range h.bad {
		t.Error(v)
	}
}

// TestBadHistories: every rule can fail. Each case breaks the promise it is named after, and the
// first violation that is found is that one.
func TestBadHistories(t *testing.T) {
	for _, c := range badHistories() {
		t.Run(c.rule+" "+c.name, func(t *testing.T) {
			h := newHistory()
			h.wait(time.Second)
			c.feed(h)
			if len(h.bad) == 0 {
				t.Fatal("no violation was found")
			}
			if got := h.bad[0]; got.rule != c.rule {
				t.Errorf("found %s, want one of %s", got, c.rule)
			}
		})
	}
}
