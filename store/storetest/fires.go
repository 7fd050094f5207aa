package storetest

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

var fireTests = []test{
	{"Fire", testFire},
	{"CursorNeverMovesBack", testCursor},
	{"JobChanged", testJobChanged},
	{"SeveralInOneCall", testSeveralFires},
	{"Replace", testReplaceFire},
	{"ReplaceFailsWithoutHarm", testReplaceFails},
	{"ReplaceOnlyWithAFire", testReplaceOnlyWithFire},
	{"IllegalReplace", testIllegalReplace},
	{"H04 two schedulers, one row a fire time", testH04},
	{"FireAgain", testFireAgain},
	{"Skipped", testSkippedFire},
	{"SkippedIsNotDue", testSkippedNotDue},
}

// fireOf returns the fire of j at an instant.
func fireOf(j task.Job, at task.Time) store.Fire {
	tk := newTask(j.Kind)
	tk.JobID, tk.Job, tk.Kind = j.ID, j.Name, j.Kind
	tk.FireTime, tk.RunAt, tk.FireCount = at, at, 1
	return store.Fire{JobID: j.ID, Version: j.Version, Task: tk}
}

func fire(t *testing.T, s store.JobStore, f store.Fence, fires ...store.Fire) []store.FireResult {
	t.Helper()
	res, err := s.Fire(t.Context(), f, fires)
	if err != nil {
		t.Fatalf("fire: %v", err)
	}
	if len(res) != len(fires) {
		t.Fatalf("%d fires gave %d results", len(fires), len(res))
	}
	return res
}

func fireStatuses(res []store.FireResult) []store.FireStatus {
	out := make([]store.FireStatus, len(res))
	for i, r := range res {
		out[i] = r.Status
	}
	return out
}

func testFire(t *testing.T, s Full) {
	j := putJob(t, s, newJob(t.Name()))
	f := fireOf(j, j.LastFire.Add(time.Minute))
	f.Task.OverlapKey, f.Task.Overlap, f.Task.Payload = j.Name, task.OverlapSkip, []byte("p")
	f.Task.FireFrom, f.Task.FireCount = j.LastFire+1, 3
	got := fire(t, s, lead(t, s), f)[0]
	want := store.FireResult{Status: store.Fired, Row: store.Inserted{ID: f.Task.ID,
		State: task.Scheduled, Version: 1, RunAt: f.Task.RunAt, At: got.Row.At}}
	same(t, "answer", want, got)
	row := f.Task
	row.Version, row.CreatedAt, row.UpdatedAt = 1, got.Row.At, got.Row.At
	same(t, "task", row, read(t, s, row.ID))
	same(t, "history", []task.Entry{{TaskID: row.ID, Version: 1, At: got.Row.At,
		To: task.Scheduled, Event: task.Fire}}, history(t, s, row.ID))
	j.LastFire, j.LastTask, j.Fires = f.Task.FireTime, row.ID, 1
	same(t, "job", j, findJob(t, s, j.ID))
	fire(t, s, store.Fence{}) // none is fine
}

func testCursor(t *testing.T, s Full) {
	j := putJob(t, s, newJob(t.Name()))
	at := j.LastFire + 1000
	for i, c := range []struct {
		at   task.Time
		want store.FireStatus
	}{
		{j.LastFire, store.AlreadyFired}, {j.LastFire - 5, store.AlreadyFired}, {at, store.Fired},
		{at, store.AlreadyFired}, {at - 1, store.AlreadyFired}, {at + 1, store.Fired},
		{at, store.AlreadyFired}, {task.MaxTime, store.Fired}, {task.MaxTime, store.AlreadyFired},
	} {
		before := findJob(t, s, j.ID)
		f := fireOf(j, c.at)
		if got := fire(t, s, store.Fence{}, f)[0]; got.Status != c.want {
			t.Errorf("fire %d: %+v; want %d", i, got, c.want)
		}
		after := findJob(t, s, j.ID)
		rows, err := s.Tasks(t.Context(), []task.ID{f.Task.ID})
		if err != nil {
			t.Fatal(err)
		}
		if c.want == store.Fired && (len(rows) != 1 || after.LastFire != c.at) {
			t.Errorf("fire %d: %d tasks, cursor %d", i, len(rows), after.LastFire)
		}
		if c.want != store.Fired {
			same(t, "job after a refused fire", before, after)
			if len(rows) != 0 {
				t.Errorf("the refused fire %d left a task", i)
			}
		}
	}
}

func testJobChanged(t *testing.T, s Full) {
	old := putJob(t, s, newJob(t.Name()))
	changed := old
	changed.Kind = "other"
	row := putJob(t, s, changed)
	unknown := newJob(t.Name())
	unknown.Version = 1
	early := row
	early.Version++
	for _, j := range []task.Job{old, unknown, early} {
		f := fireOf(j, row.LastFire+1)
		if got := fire(t, s, store.Fence{}, f)[0]; got.Status != store.JobChanged {
			t.Errorf("fire of version %d: %+v; want job_changed", j.Version, got)
		}
		if rows, err := s.Tasks(t.Context(), []task.ID{f.Task.ID}); err != nil || len(rows) != 0 {
			t.Errorf("it left %d tasks, %v", len(rows), err)
		}
	}
	same(t, "job", row, findJob(t, s, row.ID))
}

// Each fire is decided by itself, and the answers come in the order of the call.
func testSeveralFires(t *testing.T, s Full) {
	a, b, c := putJob(t, s, newJob(t.Name())), putJob(t, s, newJob(t.Name())),
		putJob(t, s, newJob(t.Name()))
	stale := c
	stale.Version = 9
	fires := []store.Fire{
		fireOf(b, b.LastFire+2), fireOf(stale, c.LastFire+1), fireOf(a, a.LastFire+1),
		fireOf(a, a.LastFire+2), fireOf(a, a.LastFire+2), fireOf(b, b.LastFire),
		fireOf(c, c.LastFire+7),
	}
	want := []store.FireStatus{store.Fired, store.JobChanged, store.Fired, store.Fired,
		store.AlreadyFired, store.AlreadyFired, store.Fired}
	res := fire(t, s, lead(t, s), fires...)
	same(t, "statuses", want, fireStatuses(res))
	for i, r := range res {
		if r.Status == store.Fired && r.Row.ID != fires[i].Task.ID {
			t.Errorf("answer %d is about task %s; want %s", i, r.Row.ID, fires[i].Task.ID)
		}
	}
	for i, last := range map[int]task.Job{0: b, 3: a, 6: c} {
		row := findJob(t, s, last.ID)
		if row.LastFire != fires[i].Task.FireTime || row.LastTask != fires[i].Task.ID {
			t.Errorf("cursor %d, task %s; want those of fire %d", row.LastFire, row.LastTask, i)
		}
	}
	for _, i := range []int{0, 2, 3, 6} {
		history(t, s, fires[i].Task.ID)
	}
}

// waitingFire fires j once and returns the fire's row and the next fire.
func waitingFire(t *testing.T, s Full, j task.Job) (task.Task, store.Fire) {
	t.Helper()
	first := fireOf(j, j.LastFire+1)
	first.Task.OverlapKey = j.Name
	fire(t, s, store.Fence{}, first)
	return read(t, s, first.Task.ID), fireOf(j, j.LastFire+2)
}

func testReplaceFire(t *testing.T, s Full) {
	for e, want := range map[task.Event]task.State{
		task.Skip: task.Skipped, task.Supersede: task.Dead,
	} {
		j := putJob(t, s, newJob(t.Name()))
		old, next := waitingFire(t, s, j)
		next.Replace = follow(&old, e)
		got := fire(t, s, lead(t, s), next)[0]
		if got.Status != store.Fired || got.Row.ID != next.Task.ID {
			t.Errorf("fire that replaces: %+v", got)
		}
		row := read(t, s, old.ID)
		if row.State != want || row.Version != 2 || row.UpdatedAt != got.Row.At ||
			row.FinishedAt != got.Row.At {
			t.Errorf("the replaced fire: %+v; want %s", row, want)
		}
		history(t, s, old.ID)
		history(t, s, next.Task.ID)
	}
}

// The waiting fire may have started meanwhile: then it runs on, and the new one is recorded.
func testReplaceFails(t *testing.T, s Full) {
	j := putJob(t, s, newJob(t.Name()))
	old, next := waitingFire(t, s, j)
	next.Replace = follow(&old, task.Skip)
	started := mustApply(t, s, follow(&old, task.Claim))
	if got := fire(t, s, store.Fence{}, next)[0]; got.Status != store.Fired {
		t.Errorf("fire beside one that started: %+v; want fired", got)
	}
	same(t, "the started fire", started, read(t, s, old.ID))
	ghost := newTask(t.Name())
	ghost.Version = 1
	third := fireOf(j, next.Task.FireTime+1)
	third.Replace = follow(&ghost, task.Skip)
	if got := fire(t, s, store.Fence{}, third)[0]; got.Status != store.Fired {
		t.Errorf("fire that replaces one that is gone: %+v; want fired", got)
	}
	history(t, s, third.Task.ID)
}

// A fire that writes nothing also replaces nothing.
func testReplaceOnlyWithFire(t *testing.T, s Full) {
	j := putJob(t, s, newJob(t.Name()))
	old, again := waitingFire(t, s, j)
	again.Task.FireTime = old.FireTime
	stale := fireOf(j, old.FireTime+5)
	stale.Version = 77
	for _, f := range []store.Fire{again, stale} {
		f.Replace = follow(&old, task.Skip)
		if got := fire(t, s, store.Fence{}, f)[0]; got.Status == store.Fired {
			t.Errorf("%+v; want a refusal", got)
		}
		same(t, "the waiting fire", old, read(t, s, old.ID))
	}
}

func testIllegalReplace(t *testing.T, s Full) {
	j := putJob(t, s, newJob(t.Name()))
	old, next := waitingFire(t, s, j)
	before := findJob(t, s, j.ID)
	next.Replace = follow(&old, task.Succeed, task.Accept)
	_, err := s.Fire(t.Context(), store.Fence{}, []store.Fire{next})
	if !errors.Is(err, task.ErrIllegal) {
		t.Errorf("an illegal replacement gave %v; want ErrIllegal", err)
	}
	same(t, "job", before, findJob(t, s, j.ID))
	same(t, "waiting fire", old, read(t, s, old.ID))
}

// Two leaders whose clocks differ compute the same fires; whatever the interleaving, each fire
// time has one row.
func testH04(t *testing.T, s Full) {
	const fires = 60
	j := putJob(t, s, newJob(t.Name()))
	var fired [2]atomic.Int32
	var rows [2][fires]task.ID
	async(2, func(node int) {
		for k := range fires {
			f := fireOf(j, j.LastFire+task.Time(k+1))
			res, err := s.Fire(t.Context(), store.Fence{}, []store.Fire{f})
			if err != nil {
				t.Errorf("fire: %v", err)
				return
			}
			if res[0].Status == store.Fired {
				fired[node].Add(1)
				rows[node][k] = f.Task.ID
			}
		}
	})
	if n := fired[0].Load() + fired[1].Load(); n != fires {
		t.Errorf("%d fires of %d fire times", n, fires)
	}
	for k := range fires {
		if rows[0][k].IsZero() == rows[1][k].IsZero() {
			t.Errorf("fire time %d was fired by both nodes or by none", k)
		}
	}
	list, err := s.List(t.Context(), store.Query{Job: j.Name, Limit: 1000})
	if err != nil || len(list) != fires {
		t.Errorf("%d rows of the job, %v; want %d", len(list), err, fires)
	}
}

// A fire whose answer was lost is repeated without harm.
func testFireAgain(t *testing.T, s Full) {
	j := putJob(t, s, newJob(t.Name()))
	f := fireOf(j, j.LastFire+1)
	fire(t, s, store.Fence{}, f)
	row, job := read(t, s, f.Task.ID), findJob(t, s, j.ID)
	if got := fire(t, s, store.Fence{}, f)[0]; got.Status != store.AlreadyFired {
		t.Errorf("the same fire again: %+v; want already_fired", got)
	}
	same(t, "task", row, read(t, s, row.ID))
	same(t, "job", job, findJob(t, s, j.ID))
}
