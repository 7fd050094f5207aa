package doctor_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax/internal/doctor"
	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

const now = task.Time(1_800_000_000_000_000)

// TestExamine: what a test cannot plant in a database within seconds.
func TestExamine(t *testing.T) {
	led := lease.Holding{Holder: "boss", Left: 5 * time.Second}
	workers := []registry.Member{{Name: "boss", Group: "default", Epoch: 1, Until: now + 1}}
	due := func(n int, late time.Duration, moved int) []doctor.Waiting {
		w := doctor.Waiting{Group: "default", Bucket: task.Normal, Moved: map[task.ID]bool{}}
		for i := range n {
			d := store.Due{Kind: "work", Mark: store.Mark{RunAt: now.Add(-late), ID: newID()}}
			w.Due = append(w.Due, d)
			if i < moved {
				w.Moved[d.ID] = true
			}
		}
		return []doctor.Waiting{w}
	}
	kinds := []task.Kind{{Name: "work"}}
	for name, c := range map[string]struct {
		facts doctor.Facts
		want  []string
		says  string
	}{
		"backlog that moves": {doctor.Facts{Leader: led, Members: workers, Kinds: kinds,
			Waiting: due(50, 4*time.Minute, 10)}, nil, ""},
		"backlog that moves too slowly": {doctor.Facts{Leader: led, Members: workers, Kinds: kinds,
			Waiting: due(50, 6*time.Minute, 10)}, []string{"backlog.slow"},
			"50 due tasks of kind work, the oldest since 6m0s wait; 0 run, and 10 moved"},
		"kind whose slots are all in use": {doctor.Facts{Leader: led, Members: workers, Kinds: kinds,
			Waiting: due(2, 6*time.Minute, 0), Live: []task.Task{{ID: newID(), Kind: "work",
				Group: "default", Mutable: task.Mutable{State: task.Running, Epoch: 1}}}},
			[]string{"backlog.slow"}, "1 run, and 0 moved"},
		"a little late": {doctor.Facts{Leader: led, Members: workers, Kinds: kinds,
			Waiting: due(50, time.Minute, 0)}, nil, ""},
		"lease that ended": {doctor.Facts{Leader: lease.Holding{Holder: "boss", Left: -time.Hour},
			Waiting: due(2, time.Hour, 0)}, []string{"!leader.none"},
			"the lease of boss ended 1h0m ago and nobody took it; 2 tasks and 0 fires wait"},
		"lease that ended, nothing waits": {doctor.Facts{Leader: lease.Holding{Holder: "boss",
			Left: -time.Second}}, []string{"leader.none"}, "ended 1s ago"},
		"executor that is silent": {doctor.Facts{Leader: led, Members: []registry.Member{
			{Name: "gone", Epoch: 7, Until: now.Add(-time.Hour)}},
			Live: []task.Task{{ID: newID(), Mutable: task.Mutable{State: task.Running, Epoch: 7},
				UpdatedAt: now}}}, []string{"!executor.expired"}, "executor gone (epoch 7)"},
		"job whose schedule cannot be read": {doctor.Facts{Leader: led, Jobs: []doctor.Job{{
			Job: task.Job{Name: "odd", Schedule: task.Schedule{Cron: "61 * * * *"}}}}},
			[]string{"!job.invalid"}, "job odd cannot fire: "},
		"job that works again": {doctor.Facts{Leader: led, Jobs: []doctor.Job{{
			Job:  task.Job{Name: "daily", Schedule: task.Schedule{After: time.Hour}},
			Last: fires(task.Dead, task.Dead, task.Succeeded, task.Dead)}}}, nil, ""},
		"job that fails again": {doctor.Facts{Leader: led, Jobs: []doctor.Job{{
			Job:  task.Job{Name: "daily", Schedule: task.Schedule{After: time.Hour}},
			Last: fires(task.Dead, task.Skipped, task.Dead, task.Dead, task.Succeeded)}}},
			[]string{"!job.failing"}, "last 3 fires"},
		"dead for long": {doctor.Facts{Leader: led, Dead: []task.Task{{ID: newID(),
			UpdatedAt: now.Add(-25 * time.Hour), Mutable: task.Mutable{State: task.Dead}}}}, nil, ""},
		"time-outs among successes": {doctor.Facts{Leader: led, Recent: timedOut(3, 1)},
			[]string{"task.timeouts"}, "3 tasks of kind work timed out"},
		"two time-outs": {doctor.Facts{Leader: led, Recent: timedOut(2, 0)}, nil, ""},
		"transaction open for minutes": {doctor.Facts{Leader: led, Inspection: store.Inspection{
			Transactions: []store.OpenTransaction{{Session: 42, Program: "psql",
				State: "idle in transaction", Age: 6 * time.Minute}}}}, []string{"database.transaction"},
			"a transaction of psql (session 42, idle in transaction) is open for 6m0s"},
		"transaction open for hours": {doctor.Facts{Leader: led, Inspection: store.Inspection{
			Transactions: []store.OpenTransaction{{Age: 2 * time.Hour}, {Age: time.Hour}}}},
			[]string{"!database.transaction"}, "open for 2h0m"},
		"no vacuum": {doctor.Facts{Leader: led, Inspection: store.Inspection{
			Unclean: []store.UncleanTable{{Name: "ax_tasks", Dead: 9, Off: true}}}},
			[]string{"database.unclean"}, "autovacuum is off for table ax_tasks"},
		"index made by hand": {doctor.Facts{Leader: led, Inspection: store.Inspection{
			Faults: []store.SchemaFault{{Object: "index", Name: "ax_tasks_due", Problem: "differs"}}}},
			[]string{"schema.fault"}, "index ax_tasks_due is not as ax makes it"},
		"clock far away": {doctor.Facts{Leader: led, Clock: doctor.Offset{By: 2 * time.Minute,
			Error: time.Second}}, []string{"!clock.offset"}, "2m0s ahead of"},
		"clock that cannot be read well": {doctor.Facts{Leader: led, Clock: doctor.Offset{
			By: 3 * time.Second, Error: 2500 * time.Millisecond}}, nil, ""},
		"errors come first": {doctor.Facts{Leader: led, Unread: []error{errors.New("the kinds: x")},
			Dead: []task.Task{{ID: newID(), UpdatedAt: now, Mutable: task.Mutable{State: task.Dead}}}},
			[]string{"!database.unread", "task.dead"}, "could not read the kinds: x"},
	} {
		t.Run(name, func(t *testing.T) {
			c.facts.Now, c.facts.Known = now, true
			r := doctor.Examine(&c.facts)
			if got := codesOf(r); !slices.Equal(got, c.want) {
				t.Fatalf("found %q, want %q: %+v", got, c.want, r.Findings)
			}
			if len(c.want) > 0 && !strings.Contains(r.Findings[0].What, c.says) {
				t.Errorf("it says %q, want %q", r.Findings[0].What, c.says)
			}
			for _, f := range r.Findings {
				if !slices.Contains(doctor.Codes(), f.Code) || f.Why == "" || len(f.Do) == 0 ||
					f.Count < 1 {
					t.Errorf("%+v is not whole", f)
				}
			}
		})
	}
}

// fires are the tasks of a job, the newest first.
func fires(states ...task.State) (out []task.Task) {
	for _, s := range states {
		out = append(out, task.Task{ID: newID(), Mutable: task.Mutable{State: s}})
	}
	return out
}

func timedOut(bad, good int) (out []task.Task) {
	for i := range bad + good {
		x := task.Task{ID: newID(), Kind: "work", UpdatedAt: now}
		x.State, x.LastOutcome, x.Failures = task.Dead, task.OutTimeout, 1
		if i >= bad {
			x.State, x.LastOutcome, x.Failures = task.Succeeded, task.OutSucceeded, 0
		}
		out = append(out, x)
	}
	return out
}

// TestOverlap reads histories, written as one event after the other: the letter names the
// execution.
func TestOverlap(t *testing.T) {
	events := map[string]struct {
		e        task.Event
		from, to task.State
	}{
		"claim": {task.ClaimLocal, task.Scheduled, task.Running},
		"send":  {task.Claim, task.Scheduled, task.Dispatching},
		"fail":  {task.Fail, task.Running, task.Failed},
		"retry": {task.Retry, task.Failed, task.Scheduled},
		"lose":  {task.Lose, task.Running, task.Failed},
		"hold":  {task.Hold, task.Failed, task.Held},
		"rerun": {task.Rerun, task.Held, task.Scheduled},
		"late":  {task.Succeed, task.Scheduled, task.Succeeded},
		"done":  {task.Succeed, task.Running, task.Succeeded},
		"again": {task.Trigger, task.Succeeded, task.Scheduled},
	}
	for text, want := range map[string]bool{
		"a claim, a fail, a retry, b claim, b done":                  false,
		"a claim, a lose, a retry, b claim, b done":                  false,
		"a send, a lose, a hold, a rerun, b claim, b done":           false,
		"a claim, a lose, a retry, a late, a again, b claim, b done": false,
		"a claim, b claim, b done":                                   true,
		"a claim, b claim, a fail, b done":                           true,
		"a claim, a lose, a retry, b claim, a done":                  true,
		"a claim, b claim+9, a fail+9":                               true,
		"a claim, a fail+9, a retry, b claim":                        true,
		"a claim, a done, a again, b claim, b done":                  false,
		"a claim, a fail+1, a retry, b claim":                        false, // a clock may step by 1 s
	} {
		var h []task.Entry
		for i, step := range strings.Split(text, ", ") {
			var who, what string
			_, err := fmt.Sscan(step, &who, &what)
			must(t, err)
			name, later, _ := strings.Cut(what, "+")
			ev, ok := events[name]
			if !ok {
				t.Fatalf("%q: no event %q", text, name)
			}
			at := now
			if later != "" {
				at = at.Add(time.Duration(later[0]-'0') * time.Second)
			}
			h = append(h, task.Entry{TaskID: task.ID{1}, Version: int64(i + 1), At: at, Event: ev.e,
				From: ev.from, To: ev.to, ExecutionID: task.ID{who[0]}})
		}
		r := doctor.Examine(&doctor.Facts{Now: now, Histories: [][]task.Entry{h}})
		if got := len(r.Findings) == 1 && r.Findings[0].Code == "execution.overlap"; got != want {
			t.Errorf("%q: %t, want %t: %+v", text, got, want, r.Findings)
		}
	}
}

func TestUnopened(t *testing.T) {
	for code, err := range map[string]error{"schema.older": store.ErrOlder,
		"schema.newer": store.ErrNewer, "schema.damaged": store.ErrDamaged, "": store.ErrBusy} {
		r, ok := doctor.Unopened(fmt.Errorf("open: %w", err))
		if ok != (code != "") || ok && (r.OK() || r.Findings[0].Code != code) {
			t.Errorf("%v gave %+v, %t", err, r, ok)
		}
	}
}
