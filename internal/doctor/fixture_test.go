package doctor_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/ax-sched/ax/internal/doctor"
	"github.com/ax-sched/ax/internal/testdb"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/postgres"
	"github.com/ax-sched/ax/store/sqlite"
	"github.com/ax-sched/ax/task"
	_ "github.com/jackc/pgx/v5/stdlib" // the drivers of planted SQL
	_ "modernc.org/sqlite"
)

// world is a database in which a test plants faults.
type world struct {
	doctor.Database
	t   *testing.T
	now task.Time
	raw *sql.DB
	// host is what the clock of this host says more than it should.
	host  time.Duration
	epoch int64
}

// onBoth runs a test on a SQLite file and on PostgreSQL.
func onBoth(t *testing.T, run func(t *testing.T, w *world)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "ax.db")
		st, err := sqlite.Open(path)
		run(t, newWorld(t, st, err, "sqlite", "file:"+path))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := testdb.Postgres(t)
		st, err := postgres.Open(t.Context(), dsn)
		run(t, newWorld(t, st, err, "pgx", dsn))
	})
}

func newWorld(t *testing.T, st doctor.Database, err error, driver, dsn string) *world {
	t.Helper()
	must(t, err)
	raw, err := sql.Open(driver, dsn)
	must(t, err)
	t.Cleanup(func() {
		must(t, raw.Close())
		must(t, st.Close())
	})
	w := &world{Database: st, t: t, raw: raw}
	w.now, err = st.Now(t.Context())
	must(t, err)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// examine asks the doctor. It makes no pause: nothing moves here.
func (w *world) examine() doctor.Report {
	w.t.Helper()
	f, err := doctor.Read(w.t.Context(), w.Database, doctor.Options{
		Host: func() time.Time { return time.Now().Add(w.host) }})
	must(w.t, err)
	return doctor.Examine(f)
}

// lead makes somebody the leader, with an executor of the group default and a handler of the kind
// work.
func (w *world) lead() {
	w.t.Helper()
	ctx := w.t.Context()
	must(w.t, w.Leases().Acquire(ctx, 0, "boss", time.Hour))
	var err error
	w.epoch, err = w.Registry().Register(ctx, registry.Member{Name: "boss", Instance: "boss-1",
		Group: "default", Slots: 10}, time.Hour)
	must(w.t, err)
	must(w.t, w.PutKinds(ctx, []task.Kind{{Name: "work", Timeout: time.Minute}}))
}

// add inserts a task that was due a while ago and returns it as it is stored.
func (w *world) add(kind string, late time.Duration, set ...func(*task.Task)) task.Task {
	w.t.Helper()
	t := task.Task{ID: newID(), Kind: kind, Group: "default", Bucket: task.Normal, MaxRetries: -1,
		FireTime: task.StoreNow}
	t.State, t.Run, t.RunAt = task.Scheduled, 1, w.now.Add(-late)
	for _, f := range set {
		f(&t)
	}
	_, err := w.Insert(w.t.Context(), store.Fence{}, []task.Task{t})
	must(w.t, err)
	return w.row(t.ID)
}

func (w *world) row(id task.ID) task.Task {
	w.t.Helper()
	rows, err := w.Tasks(w.t.Context(), []task.ID{id})
	if err != nil || len(rows) != 1 {
		w.t.Fatalf("task %s: %d rows, %v", id, len(rows), err)
	}
	return rows[0]
}

// move applies one transition, made of events.
func (w *world) move(t task.Task, set func(*task.Mutable), r task.Reason, events ...task.Event) (
	after task.Task) {
	w.t.Helper()
	tr := task.Begin(&t)
	if set != nil {
		set(&tr.Set)
	}
	for _, e := range events {
		tr.Then(e, r, "")
	}
	tr.Set.Reason = r
	res, err := w.Apply(w.t.Context(), store.Fence{}, []*task.Transition{tr.Keys(&t)})
	if err != nil || res[0].Status != store.Applied {
		w.t.Fatalf("%v: %v, %v", events, res, err)
	}
	return w.row(t.ID)
}

// start claims a task for an executor.
func (w *world) start(t task.Task, epoch int64) task.Task {
	w.t.Helper()
	return w.move(t, func(m *task.Mutable) {
		m.ExecutionID, m.Epoch, m.Executor = newID(), epoch, "boss"
		m.Attempt++
		m.StartedAt = task.StoreNow
	}, 0, task.ClaimLocal)
}

// bury runs a task and lets it fail for good.
func (w *world) bury(t task.Task) task.Task {
	w.t.Helper()
	return w.move(w.start(t, w.epoch), func(m *task.Mutable) {
		m.Failures, m.LastOutcome, m.Error = 1, task.OutFailed, "no such table"
	}, task.Exhausted, task.Fail, task.Bury)
}

// job makes a definition that was made an hour ago.
func (w *world) job(name string, set func(*task.Job)) task.Job {
	w.t.Helper()
	j := task.Job{ID: newID(), Name: name, Kind: "work", Group: "default", Bucket: task.Normal,
		MaxRetries: -1, Schedule: task.Schedule{Every: 24 * time.Hour}, Anchor: w.now.Add(-time.Hour),
		LastFire: w.now.Add(-time.Hour), CreatedAt: w.now.Add(-time.Hour)}
	if set != nil {
		set(&j)
	}
	j, err := w.PutJob(w.t.Context(), j)
	must(w.t, err)
	return j
}

// fire records a fire of a job.
func (w *world) fire(j task.Job, at task.Time, state task.State, r task.Reason) task.Task {
	w.t.Helper()
	t := task.Task{ID: newID(), Kind: j.Kind, Group: j.Group, Bucket: j.Bucket, MaxRetries: -1,
		JobID: j.ID, Job: j.Name, FireTime: at, FireCount: 1}
	t.State, t.Run, t.RunAt, t.Reason = state, 1, at, r
	res, err := w.Fire(w.t.Context(), store.Fence{}, []store.Fire{{JobID: j.ID, Version: j.Version,
		Task: t}})
	if err != nil || res[0].Status != store.Fired {
		w.t.Fatalf("fire: %v, %v", res, err)
	}
	return w.row(t.ID)
}

// exec plants what no store would write.
func (w *world) exec(sql string) {
	w.t.Helper()
	_, err := w.raw.ExecContext(context.WithoutCancel(w.t.Context()), sql)
	must(w.t, err)
}
