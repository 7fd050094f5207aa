package storetest

import (
	"testing"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// steer replaces the control of a job; every store of this module can.
func steer(t *testing.T, s Full, j task.Job, c task.Control) bool {
	t.Helper()
	done, err := s.(store.JobSteerer).SteerJob(t.Context(), j.ID, j.Version, c)
	if err != nil {
		t.Fatalf("steer job: %v", err)
	}
	return done
}

// fullControl has a value other than zero in each field.
func fullControl() task.Control {
	return task.Control{PausedAt: 1_000_001, PausedUntil: task.MaxTime, PausedBy: "安娜",
		PauseReason: "broken\n", SkipUntil: 2_000_002, SkipBy: "ben", SkipReason: "盘点"}
}

// A steer replaces the whole control and nothing else; the fire under way is refused, and whoever
// asks for changes sees it.
func testSteer(t *testing.T, s Full) {
	j := putJob(t, s, fullJob(t.Name()))
	fire(t, s, store.Fence{}, fireOf(j, j.LastFire+1))
	j = findJob(t, s, j.ID)
	for _, c := range []task.Control{fullControl(), {PausedAt: task.StoreNow}, {}} {
		before := now(t, s)
		if !steer(t, s, j, c) {
			t.Fatalf("the steer of %+v was refused", j)
		}
		row := findJob(t, s, j.ID)
		if c.PausedAt == task.StoreNow {
			c.PausedAt = row.UpdatedAt
		}
		want := j
		want.Control, want.Version, want.UpdatedAt = c, j.Version+1, row.UpdatedAt
		same(t, "row", want, row)
		if row.UpdatedAt < before || row.UpdatedAt > now(t, s) {
			t.Errorf("updated at %d, which is not now", row.UpdatedAt)
		}
		if got := fire(t, s, store.Fence{}, fireOf(j, j.LastFire+1))[0]; got.Status !=
			store.JobChanged {
			t.Errorf("a fire computed before: %+v; want job_changed", got)
		}
		j = row
	}
}

func testSteerVersion(t *testing.T, s Full) {
	j := putJob(t, s, newJob(t.Name()))
	gone := putJob(t, s, newJob(t.Name()))
	deleteJob(t, s, gone.Name)
	gone = findJob(t, s, gone.ID)
	old, early, unknown := j, j, newJob(t.Name())
	old.Version--
	early.Version++
	unknown.Version = 1
	for what, x := range map[string]task.Job{"an old version": old, "one to come": early,
		"a deleted job": gone, "no job": unknown} {
		if steer(t, s, x, fullControl()) {
			t.Errorf("the steer of %s was taken", what)
		}
	}
	same(t, "row", j, findJob(t, s, j.ID))
	same(t, "deleted row", gone, findJob(t, s, gone.ID))
}

// Of those who have seen the same version one wins.
func testConcurrentSteers(t *testing.T, s Full) {
	const callers = 8
	j := putJob(t, s, newJob(t.Name()))
	var done [callers]bool
	async(callers, func(i int) {
		c := task.Control{PausedAt: task.Time(i + 1)}
		var err error
		done[i], err = s.(store.JobSteerer).SteerJob(t.Context(), j.ID, j.Version, c)
		if err != nil {
			t.Errorf("steer: %v", err)
		}
	})
	row, won := findJob(t, s, j.ID), 0
	for i, ok := range done {
		if ok {
			won++
			if row.PausedAt != task.Time(i+1) {
				t.Errorf("caller %d won, the row has %+v", i, row.Control)
			}
		}
	}
	if won != 1 || row.Version != j.Version+1 {
		t.Errorf("%d of %d won; version %d after %d", won, callers, row.Version, j.Version)
	}
}

// Who puts a definition does not end a pause. What is to be skipped is forgotten with the fire
// times it was one of.
func testPutKeepsControl(t *testing.T, s Full) {
	j := newJob(t.Name())
	j.Control, j.Fires = fullControl(), 5
	row := putJob(t, s, j)
	if row.Control != (task.Control{}) || row.Fires != 0 {
		t.Errorf("a new job begins with %+v, %d fires", row.Control, row.Fires)
	}
	steer(t, s, row, fullControl())
	want := findJob(t, s, j.ID)
	again := j
	again.Control = task.Control{}
	same(t, "answer of an equal put", want, putJob(t, s, again))
	again.Kind = "other"
	want.Kind = "other"
	got := putJob(t, s, again)
	want.Version, want.UpdatedAt = want.Version+1, got.UpdatedAt
	same(t, "answer of another kind", want, got)
	same(t, "row", want, findJob(t, s, j.ID))
	again.Schedule.Every *= 2
	got = putJob(t, s, again)
	want.SkipUntil, want.SkipBy, want.SkipReason = 0, "", ""
	same(t, "control after another schedule", want.Control, got.Control)
	same(t, "row", got, findJob(t, s, j.ID))
}

// New bounds owe no fires of the past either: a job that ended and may go on does not catch up.
func testNewBounds(t *testing.T, s Full) {
	const long = task.Time(1_000_000)
	for what, change := range map[string]func(*task.Job){
		"start": func(j *task.Job) { j.StartsAt = 5 },
		"end":   func(j *task.Job) { j.EndsAt = task.MaxTime },
		"most":  func(j *task.Job) { j.MaxFires = 9 },
	} {
		j := newJob(t.Name())
		j.Anchor, j.LastFire = long, long
		j = putJob(t, s, j)
		fire(t, s, store.Fence{}, fireOf(j, long+1))
		change(&j)
		if got := putJob(t, s, j); got.LastFire != got.UpdatedAt || got.Fires != 1 {
			t.Errorf("%s: cursor %d, updated %d, %d fires", what, got.LastFire, got.UpdatedAt, got.Fires)
		}
	}
}

// skippedFire is a fire that a policy does not run.
func skippedFire(j task.Job, at task.Time) store.Fire {
	f := fireOf(j, at)
	f.Task.State, f.Task.Reason, f.Task.FinishedAt = task.Skipped, task.Misfired, task.StoreNow
	f.Task.Error = "why"
	return f
}

// A fire that does not run is a record like any other; it moves the cursor, but it is not counted
// and not the task of the latest fire.
func testSkippedFire(t *testing.T, s Full) {
	j := putJob(t, s, newJob(t.Name()))
	first := fireOf(j, j.LastFire+1)
	skip := skippedFire(j, j.LastFire+3)
	skip.Last = first.Task.ID
	skip.Task.FireFrom, skip.Task.FireCount = j.LastFire+2, 2
	skip.Task.OverlapKey, skip.Task.Overlap = "o-"+j.Name, task.OverlapSkip
	third := fireOf(j, j.LastFire+4)
	third.Task.OverlapKey, third.Task.Overlap = "o-"+j.Name, task.OverlapSkip
	f := lead(t, s)
	res := fire(t, s, f, first, skip)
	same(t, "statuses", []store.FireStatus{store.Fired, store.Fired}, fireStatuses(res))
	at := res[1].Row.At
	same(t, "answer", store.Inserted{ID: skip.Task.ID, State: task.Skipped, Version: 1,
		RunAt: skip.Task.RunAt, At: at}, res[1].Row)
	row := skip.Task
	row.Version, row.CreatedAt, row.UpdatedAt, row.FinishedAt = 1, at, at, at
	same(t, "task", row, read(t, s, row.ID))
	same(t, "history", []task.Entry{{TaskID: row.ID, Version: 1, At: at, To: task.Skipped,
		Event: task.FireSkip, Reason: task.Misfired}}, history(t, s, row.ID))
	got := findJob(t, s, j.ID)
	if got.LastFire != skip.Task.FireTime || got.LastTask != first.Task.ID || got.Fires != 1 {
		t.Errorf("cursor %d, last task %s, %d fires", got.LastFire, got.LastTask, got.Fires)
	}
	fire(t, s, f, third)
	if got = findJob(t, s, j.ID); got.LastTask != third.Task.ID || got.Fires != 2 {
		t.Errorf("after the next: last task %s, %d fires", got.LastTask, got.Fires)
	}
	// It takes no key, and a person may run it all the same.
	runs := read(t, s, third.Task.ID)
	mustApply(t, s, follow(&runs, task.Claim))
	redriven := mustApply(t, s, follow(&row, task.Redrive))
	if redriven.State != task.Scheduled {
		t.Errorf("run all the same: %s", redriven.State)
	}
}

// What is due is not what was skipped, also in the same call; and only once.
func testSkippedNotDue(t *testing.T, s Full) {
	j := newJob(t.Name())
	j.Group = name("group")
	j = putJob(t, s, j)
	skip, run := skippedFire(j, j.LastFire+1), fireOf(j, j.LastFire+2)
	skip.Task.Group, run.Task.Group = j.Group, j.Group
	fire(t, s, store.Fence{}, skip, run)
	res := fire(t, s, store.Fence{}, skip)
	same(t, "again", []store.FireStatus{store.AlreadyFired}, fireStatuses(res))
	pages, _, err := s.Due(t.Context(), []store.Cursor{{Group: j.Group, Bucket: task.Normal,
		Until: task.MaxTime, Limit: 10}})
	if err != nil || len(pages[0]) != 1 || pages[0][0].ID != run.Task.ID {
		t.Errorf("due are %+v, %v; want only %s", pages, err, run.Task.ID)
	}
}
