package storetest

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

var jobTests = []test{
	{"Put", testPutJob},
	{"PutSetsWhatIsSet", testPutJobSets},
	{"PutEqual", testPutEqualJob},
	{"PutReplaces", testReplaceJob},
	{"NewScheduleOwesNothing", testNewSchedule},
	{"NewBoundsOweNothing", testNewBounds},
	{"Steer", testSteer},
	{"SteerOnlyTheVersion", testSteerVersion},
	{"ConcurrentSteers", testConcurrentSteers},
	{"PutKeepsControl", testPutKeepsControl},
	{"Delete", testDeleteJob},
	{"ReCreate", testReCreateJob},
	{"Since", testJobsSince},
	{"D16 restarts make no second definition", testD16},
	{"T11 concurrent puts make one definition", testT11},
}

// newJob returns a definition with a name of its own.
func newJob(kind string) task.Job {
	return task.Job{ID: newID(), Name: name("job"), Schedule: task.Schedule{Every: time.Minute},
		Kind: newTask(kind).Kind, Group: "default", Bucket: task.Normal, MaxRetries: -1}
}

// fullJob has a value other than zero in each field that a caller may set.
func fullJob(kind string) task.Job {
	j := newJob(kind)
	j.Schedule = task.Schedule{Cron: "*/2 * * * *", Zone: "Europe/Zürich"}
	j.Payload, j.Bucket, j.Overlap = []byte("\x00\xff payload"), task.Low, task.OverlapSkip
	j.MaxRetries, j.Timeout, j.RetryPolicy = 3, time.Minute+time.Microsecond, `{"kind":"fixed"}`
	j.OnUnknown = task.UnknownHold
	j.MaxLateness, j.MaxLifetime = time.Hour+time.Microsecond, 2*time.Hour+time.Microsecond
	j.OwnerService, j.Labels = "billing", map[string]string{"a": "b", "订单": "订"}
	j.OverlapKey, j.Jitter = "账户", time.Second+time.Microsecond
	j.Misfire, j.MisfireGrace, j.MisfireCap = task.MisfireAll, time.Hour, 7
	j.StartsAt, j.EndsAt, j.MaxFires = 1_000_001, task.MaxTime, 1<<40
	return j
}

func putJob(t *testing.T, s store.JobStore, j task.Job) task.Job {
	t.Helper()
	got, err := s.PutJob(t.Context(), j)
	if err != nil {
		t.Fatalf("put job: %v", err)
	}
	return got
}

func deleteJob(t *testing.T, s store.JobStore, name string) {
	t.Helper()
	if err := s.DeleteJob(t.Context(), name); err != nil {
		t.Fatalf("delete job: %v", err)
	}
}

func jobs(t *testing.T, s store.JobStore, since task.Time) []task.Job {
	t.Helper()
	all, err := s.Jobs(t.Context(), since)
	if err != nil {
		t.Fatalf("jobs: %v", err)
	}
	byID := func(a, b task.Job) int { return bytes.Compare(a.ID[:], b.ID[:]) }
	if !slices.IsSortedFunc(all, byID) {
		t.Errorf("jobs are not in the order of their ids")
	}
	return all
}

// findJob returns the definition with this id, deleted or not.
func findJob(t *testing.T, s store.JobStore, id task.ID) task.Job {
	t.Helper()
	for _, j := range jobs(t, s, 0) {
		if j.ID == id {
			return j
		}
	}
	t.Fatalf("job %s is not listed", id)
	return task.Job{}
}

func testPutJob(t *testing.T, s Full) {
	for _, j := range []task.Job{newJob(t.Name()), fullJob(t.Name())} {
		before := now(t, s)
		got := putJob(t, s, j)
		after := now(t, s)
		want := j
		want.Version = 1
		at := got.CreatedAt
		want.CreatedAt, want.UpdatedAt, want.Anchor, want.LastFire = at, at, at, at
		same(t, "answer", want, got)
		same(t, "row", want, findJob(t, s, j.ID))
		if at < before || at > after {
			t.Errorf("created at %d, outside of %d to %d", at, before, after)
		}
	}
}

func testPutJobSets(t *testing.T, s Full) {
	j := newJob(t.Name())
	j.Anchor, j.LastFire, j.CreatedAt = 1_000_001, 2_000_002, 3_000_003
	got := putJob(t, s, j)
	want := j
	want.Version, want.UpdatedAt = 1, got.UpdatedAt
	same(t, "answer", want, got)
	same(t, "row", want, findJob(t, s, j.ID))
	if got.UpdatedAt <= j.CreatedAt {
		t.Errorf("updated at %d; want the store's now", got.UpdatedAt)
	}
	j = newJob(t.Name())
	j.Anchor = 1_000_001
	if got = putJob(t, s, j); got.Anchor != j.Anchor || got.LastFire != j.Anchor {
		t.Errorf("anchor %d, last fire %d; want both %d", got.Anchor, got.LastFire, j.Anchor)
	}
}

func testPutEqualJob(t *testing.T, s Full) {
	j := fullJob(t.Name())
	first := putJob(t, s, j)
	again := j
	again.ID = newID()
	again.Anchor, again.LastFire, again.CreatedAt, again.LastTask = 1, 2, 3, newID()
	same(t, "answer", first, putJob(t, s, again))
	same(t, "row", first, findJob(t, s, first.ID))
	for _, x := range jobs(t, s, 0) {
		if x.ID == again.ID {
			t.Error("a second definition with this name exists")
		}
	}
	empty := newJob(t.Name())
	first = putJob(t, s, empty)
	empty.Payload, empty.Labels = []byte{}, map[string]string{}
	same(t, "answer with empty instead of none", first, putJob(t, s, empty))
}

func testReplaceJob(t *testing.T, s Full) {
	row := putJob(t, s, newJob(t.Name()))
	changes := []struct {
		what   string
		change func(*task.Job)
	}{
		{"cron", func(j *task.Job) { j.Schedule = task.Schedule{Cron: "0 * * * *"} }},
		{"zone", func(j *task.Job) { j.Schedule.Zone = "Asia/Shanghai" }},
		{"every", func(j *task.Job) { j.Schedule = task.Schedule{Every: 90 * time.Second} }},
		{"after", func(j *task.Job) { j.Schedule = task.Schedule{After: time.Hour} }},
		{"at", func(j *task.Job) { j.Schedule = task.Schedule{At: task.MaxTime} }},
		{"kind", func(j *task.Job) { j.Kind = "other" }},
		{"group", func(j *task.Job) { j.Group = "other" }},
		{"payload", func(j *task.Job) { j.Payload = []byte{0, 255} }},
		{"bucket", func(j *task.Job) { j.Bucket = task.Critical }},
		{"overlap", func(j *task.Job) { j.Overlap = task.OverlapSkip }},
		{"overlap key", func(j *task.Job) { j.OverlapKey = "k" }},
		{"misfire", func(j *task.Job) { j.Misfire = task.MisfireSkip }},
		{"misfire grace", func(j *task.Job) { j.MisfireGrace = time.Minute }},
		{"misfire cap", func(j *task.Job) { j.MisfireCap = 9 }},
		{"jitter", func(j *task.Job) { j.Jitter = time.Microsecond }},
		{"start", func(j *task.Job) { j.StartsAt = 5 }},
		{"end", func(j *task.Job) { j.EndsAt = task.MaxTime }},
		{"most fires", func(j *task.Job) { j.MaxFires = 3 }},
		{"retries", func(j *task.Job) { j.MaxRetries = 0 }},
		{"time-out", func(j *task.Job) { j.Timeout = task.NoTimeout }},
		{"policy", func(j *task.Job) { j.RetryPolicy = "{}" }},
		{"unknown", func(j *task.Job) { j.OnUnknown = task.UnknownRetry }},
		{"lateness", func(j *task.Job) { j.MaxLateness = time.Minute }},
		{"lifetime", func(j *task.Job) { j.MaxLifetime = time.Minute }},
		{"owner", func(j *task.Job) { j.OwnerService = "me" }},
		{"labels", func(j *task.Job) { j.Labels = map[string]string{"a": ""} }},
		{"a label", func(j *task.Job) { j.Labels = map[string]string{"a": "b"} }},
		{"no labels", func(j *task.Job) { j.Labels = nil }},
	}
	fire(t, s, store.Fence{}, fireOf(row, row.LastFire+1))
	row = findJob(t, s, row.ID)
	for _, c := range changes {
		what, j := c.what, row
		c.change(&j)
		want := j
		want.Version++
		j.ID, j.Anchor, j.LastFire, j.LastTask, j.CreatedAt = newID(), 1, 2, newID(), 3
		got := putJob(t, s, j)
		if got.UpdatedAt < row.UpdatedAt {
			t.Errorf("%s: updated at %d, before %d", what, got.UpdatedAt, row.UpdatedAt)
		}
		want.UpdatedAt = got.UpdatedAt
		if j.Schedule != row.Schedule {
			want.Fires = 0
		}
		if j.Schedule != row.Schedule || j.StartsAt != row.StartsAt || j.EndsAt != row.EndsAt ||
			j.MaxFires != row.MaxFires {
			want.LastFire = max(row.LastFire, got.UpdatedAt)
		}
		same(t, "answer after a change of "+what, want, got)
		row = findJob(t, s, row.ID)
		same(t, "row after a change of "+what, want, row)
	}
}

// A new schedule owes no fires of the past, and a cursor never moves back for it.
func testNewSchedule(t *testing.T, s Full) {
	const long = task.Time(1_000_000)
	j := newJob(t.Name())
	j.Anchor, j.LastFire = long, long
	j = putJob(t, s, j)
	j.Kind = "other"
	if j = putJob(t, s, j); j.LastFire != long {
		t.Errorf("another kind moved the cursor to %d", j.LastFire)
	}
	stale := j
	j.Schedule.Every *= 2
	if j = putJob(t, s, j); j.LastFire != j.UpdatedAt || j.LastFire <= long || j.Anchor != long {
		t.Errorf("after a new schedule: cursor %d, anchor %d, updated %d", j.LastFire, j.Anchor,
			j.UpdatedAt)
	}
	for _, f := range []store.Fire{fireOf(j, long+1), fireOf(stale, task.MaxTime-5)} {
		if got := fire(t, s, store.Fence{}, f)[0]; got.Status == store.Fired {
			t.Errorf("a fire of the old schedule: %+v", got)
		}
	}
	fire(t, s, store.Fence{}, fireOf(j, task.MaxTime-1))
	j.Schedule.Every *= 2
	if j = putJob(t, s, j); j.LastFire != task.MaxTime-1 {
		t.Errorf("a new schedule moved the cursor back to %d", j.LastFire)
	}
	same(t, "row", j, findJob(t, s, j.ID))
}

func testDeleteJob(t *testing.T, s Full) {
	if err := s.DeleteJob(t.Context(), name("nobody")); !isNotFound(err) {
		t.Errorf("delete of a job that never was: %v; want ErrNotFound", err)
	}
	j := putJob(t, s, newJob(t.Name()))
	f := fireOf(j, j.LastFire+1)
	fire(t, s, store.Fence{}, f)
	deleteJob(t, s, j.Name)
	row := findJob(t, s, j.ID)
	if row.DeletedAt < j.CreatedAt || row.UpdatedAt != row.DeletedAt || row.Name != j.Name {
		t.Errorf("after the delete: %+v", row)
	}
	if err := s.DeleteJob(t.Context(), j.Name); !isNotFound(err) {
		t.Errorf("second delete: %v; want ErrNotFound", err)
	}
	if tk := read(t, s, f.Task.ID); tk.State != task.Scheduled || tk.Job != j.Name {
		t.Errorf("the deleted job's task: %+v", tk)
	}
	for _, v := range []int64{j.Version, row.Version} {
		late := fireOf(j, j.LastFire+10)
		late.Version = v
		if got := fire(t, s, store.Fence{}, late)[0]; got.Status != store.JobChanged {
			t.Errorf("a fire of the deleted job: %+v; want job_changed", got)
		}
	}
}

// A definition made again after its end begins anew: it does not catch up on the time between, and
// fires computed from the old one are refused.
func testReCreateJob(t *testing.T, s Full) {
	old := putJob(t, s, newJob(t.Name()))
	deleteJob(t, s, old.Name)
	gone := findJob(t, s, old.ID)
	j := old
	j.ID, j.Anchor, j.LastFire, j.CreatedAt = newID(), 0, 0, 0
	j.Kind = "other"
	got := putJob(t, s, j)
	if got.DeletedAt != 0 || got.Kind != "other" || got.Anchor < gone.DeletedAt ||
		got.LastFire < gone.DeletedAt {
		t.Errorf("made again: %+v", got)
	}
	row := findJob(t, s, got.ID)
	same(t, "row", got, row)
	if prev := findJob(t, s, old.ID); prev.ID != got.ID && prev.DeletedAt == 0 {
		t.Errorf("the old definition is alive again: %+v", prev)
	}
	alive := 0
	for _, x := range jobs(t, s, 0) {
		if x.Name == j.Name && x.DeletedAt == 0 {
			alive++
		}
	}
	if alive != 1 {
		t.Errorf("%d definitions named %s are alive; want 1", alive, j.Name)
	}
	at := got.LastFire + 1
	if r := fire(t, s, store.Fence{}, fireOf(old, at))[0]; r.Status != store.JobChanged {
		t.Errorf("a fire of the old definition: %+v; want job_changed", r)
	}
	if r := fire(t, s, store.Fence{}, fireOf(got, at))[0]; r.Status != store.Fired {
		t.Errorf("a fire of the new definition: %+v; want fired", r)
	}
}

func testJobsSince(t *testing.T, s Full) {
	a, b := putJob(t, s, newJob(t.Name())), putJob(t, s, newJob(t.Name()))
	a.Kind = "changed"
	a = putJob(t, s, a)
	listed := func(since task.Time, id task.ID) bool {
		return slices.ContainsFunc(jobs(t, s, since), func(j task.Job) bool { return j.ID == id })
	}
	if !listed(a.UpdatedAt, a.ID) || listed(a.UpdatedAt+1, a.ID) {
		t.Errorf("a job updated at %d is not listed since then and not after", a.UpdatedAt)
	}
	// A fire is no change of the definition.
	fire(t, s, store.Fence{}, fireOf(b, b.LastFire+1))
	row := findJob(t, s, b.ID)
	if row.UpdatedAt != b.UpdatedAt || row.Version != b.Version || row.LastFire != b.LastFire+1 {
		t.Errorf("after a fire: %+v; before: %+v", row, b)
	}
	deleteJob(t, s, b.Name)
	if row = findJob(t, s, b.ID); !listed(row.UpdatedAt, b.ID) {
		t.Errorf("the deleted job is not listed since %d", row.UpdatedAt)
	}
	if _, err := s.Jobs(t.Context(), task.MaxTime); err != nil {
		t.Error(err)
	}
}

// Each start of each replica registers its jobs; the first makes them, the others find them.
func testD16(t *testing.T, s Full) {
	j := fullJob(t.Name())
	first := putJob(t, s, j)
	for restart := range 20 {
		for range 3 {
			j.ID = newID()
			same(t, "answer", first, putJob(t, s, j))
		}
		if r := fire(t, s, store.Fence{}, fireOf(first, first.Anchor+1))[0]; (r.Status ==
			store.Fired) != (restart == 0) {
			t.Errorf("the pending fire after restart %d: %+v", restart, r)
		}
		first = findJob(t, s, first.ID)
	}
}

func testT11(t *testing.T, s Full) {
	const callers, each = 10, 10
	j := newJob(t.Name())
	j.Schedule = task.Schedule{Every: 5 * time.Second}
	var got [callers][each]task.Job
	async(callers, func(i int) {
		for k := range each {
			mine := j
			mine.ID = newID()
			var err error
			if got[i][k], err = s.PutJob(t.Context(), mine); err != nil {
				t.Errorf("put: %v", err)
			}
		}
	})
	n := 0
	for _, x := range jobs(t, s, 0) {
		if x.Name == j.Name {
			n++
			for i := range got {
				for k := range got[i] {
					same(t, "answer of a concurrent put", x, got[i][k])
				}
			}
			if x.Version != 1 {
				t.Errorf("equal puts made version %d", x.Version)
			}
		}
	}
	if n != 1 {
		t.Errorf("%d definitions; want 1", n)
	}
}
