package postgres_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ax-sched/ax/internal/testdb"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/postgres"
	"github.com/ax-sched/ax/store/storetest"
	"github.com/ax-sched/ax/task"
	"github.com/jackc/pgx/v5"
)

func newID() task.ID {
	var r [10]byte
	_, _ = rand.Read(r[:])
	return task.NewID(time.Now().UnixMilli(), r)
}

// plainTask is due at once, with a small payload.
func plainTask() task.Task {
	return task.Task{ID: newID(), Kind: "order.close.timeout", Group: "default",
		Bucket: task.Normal, Payload: []byte(`{"order":185135722552891243}`), MaxRetries: -1,
		Mutable: task.Mutable{State: task.Scheduled, Run: 1, RunAt: task.StoreNow}}
}

func keyedTask() task.Task {
	t := plainTask()
	t.Key = t.ID.String()[9:]
	return t
}

func makeTasks(n int, one func() task.Task) []task.Task {
	ts := make([]task.Task, n)
	for i := range ts {
		ts[i] = one()
	}
	return ts
}

func perSecond(b *testing.B, n int64) {
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkRawCommit is the yard-stick of InsertOne/1: a small row and a commit for each.
func BenchmarkRawCommit(b *testing.B) {
	c, err := pgx.Connect(b.Context(), testdb.Postgres(b))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(b.Context()))
	if _, err := c.Exec(b.Context(),
		"CREATE TABLE raw (id uuid PRIMARY KEY, run_at bigint, payload bytea)"); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		id := newID()
		if _, err := c.Exec(b.Context(), "INSERT INTO raw VALUES ($1, $2, $3)",
			[16]byte(id), 1, []byte("payload")); err != nil {
			b.Fatal(err)
		}
	}
	perSecond(b, int64(b.N))
}

func BenchmarkInsertOne(b *testing.B) {
	for _, callers := range []int{1, 32, 128} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			s := openStore(b, testdb.Postgres(b))
			var n atomic.Int64
			b.SetParallelism(max(callers/2, 1))
			if callers == 1 {
				for b.Loop() {
					insertOne(b, s)
					n.Add(1)
				}
			} else {
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						insertOne(b, s)
						n.Add(1)
					}
				})
			}
			perSecond(b, n.Load())
		})
	}
}

func insertOne(b *testing.B, s *postgres.Store) {
	if _, err := s.Insert(b.Context(), store.Fence{}, []task.Task{plainTask()}); err != nil {
		b.Error(err)
	}
}

func BenchmarkInsertMany1000(b *testing.B) {
	for name, one := range map[string]func() task.Task{"plain": plainTask, "keyed": keyedTask} {
		b.Run(name, func(b *testing.B) {
			s := openStore(b, testdb.Postgres(b))
			for b.Loop() {
				b.StopTimer()
				ts := makeTasks(1000, one)
				b.StartTimer()
				if _, err := s.Insert(b.Context(), store.Fence{}, ts); err != nil {
					b.Fatal(err)
				}
			}
			perSecond(b, int64(b.N)*1000)
		})
	}
}

// claim and finish are the two moves of a task that goes well in the leader's own process.
func claim(t *task.Task, token int64) *task.Transition {
	tr := task.Begin(t).Then(task.ClaimLocal, 0, "")
	tr.WhenDue = true
	tr.Set.Attempt, tr.Set.ExecutionID, tr.Set.Token = 1, newID(), token
	tr.Set.Executor, tr.Set.Epoch = "node-1", 1
	tr.Set.DispatchedAt, tr.Set.StartedAt = task.StoreNow, task.StoreNow
	return tr.Keys(t)
}

func finish(t *task.Task, claimed *task.Transition) *task.Transition {
	u := *t
	u.Mutable, u.Version = claimed.Set, claimed.Version+1
	tr := task.Begin(&u).Then(task.Succeed, 0, "")
	tr.Execution = u.ExecutionID
	tr.Set.LastOutcome, tr.Set.FinishedAt = task.OutSucceeded, task.StoreNow
	return tr.Keys(&u)
}

// BenchmarkClaimFinish works stored tasks off: claims on one connection, and concurrently the
// finishes of the batch before on another. Keyed tasks give a unique key back.
func BenchmarkClaimFinish(b *testing.B) {
	for _, size := range []int{256, 1000} {
		for name, one := range map[string]func() task.Task{"plain": plainTask, "keyed": keyedTask} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				benchClaimFinish(b, size, one)
			})
		}
	}
}

func benchClaimFinish(b *testing.B, size int, one func() task.Task) {
	s := openStore(b, testdb.Postgres(b), postgres.Quiet())
	token, err := s.Install(b.Context(), 0, 0, "bench")
	if err != nil {
		b.Fatal(err)
	}
	fence := store.Fence{Token: token}
	const stock = 50_000
	var tasks []task.Task
	var claims, finishes, last []*task.Transition
	var wg sync.WaitGroup
	for b.Loop() {
		if len(tasks) < size {
			b.StopTimer()
			tasks = stockUp(b, s, stock, one)
			b.StartTimer()
		}
		batch := tasks[:size]
		tasks = tasks[size:]
		claims = make([]*task.Transition, size)
		for i := range batch {
			claims[i] = claim(&batch[i], token)
		}
		if last != nil {
			done := last
			wg.Go(func() { applyAll(b, s, store.Fence{}, done) })
		}
		applyAll(b, s, fence, claims)
		wg.Wait()
		finishes = make([]*task.Transition, size)
		for i := range batch {
			finishes[i] = finish(&batch[i], claims[i])
		}
		last = finishes
	}
	applyAll(b, s, store.Fence{}, last)
	perSecond(b, int64(b.N)*int64(size))
}

// stockUp inserts n tasks and returns them as they are stored.
func stockUp(b *testing.B, s *postgres.Store, n int, one func() task.Task) []task.Task {
	tasks := make([]task.Task, 0, n)
	for len(tasks) < n {
		part := makeTasks(1000, one)
		rows, err := s.Insert(b.Context(), store.Fence{}, part)
		if err != nil {
			b.Fatal(err)
		}
		for i := range part {
			part[i].RunAt, part[i].Version = rows[i].RunAt, rows[i].Version
		}
		tasks = append(tasks, part...)
	}
	return tasks
}

func applyAll(b *testing.B, s *postgres.Store, f store.Fence, trs []*task.Transition) {
	rs, err := s.Apply(b.Context(), f, trs)
	if err != nil {
		b.Error(err)
		return
	}
	for _, r := range rs {
		if r.Status != store.Applied {
			b.Errorf("not applied: %v", r.Status)
			return
		}
	}
}

func BenchmarkDueScan(b *testing.B) {
	s := openStore(b, testdb.Postgres(b), postgres.Quiet())
	stockUp(b, s, 100_000, plainTask)
	now, err := s.Now(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var cs []store.Cursor
	for _, bucket := range task.Buckets() {
		cs = append(cs, store.Cursor{Group: "default", Bucket: bucket, Until: now, Limit: 1000})
	}
	for b.Loop() {
		pages, _, err := s.Due(b.Context(), cs)
		if err != nil || len(pages[2]) != 1000 {
			b.Fatalf("%d due tasks, %v", len(pages[2]), err)
		}
	}
}

func BenchmarkTasks256(b *testing.B) {
	s := openStore(b, testdb.Postgres(b), postgres.Quiet())
	tasks := stockUp(b, s, 10_000, plainTask)
	ids := make([]task.ID, 256)
	for i := range ids {
		ids[i] = tasks[i*30].ID
	}
	for b.Loop() {
		got, err := s.Tasks(b.Context(), ids)
		if err != nil || len(got) != len(ids) {
			b.Fatalf("%d tasks, %v", len(got), err)
		}
	}
}

// BenchmarkFinished: see docs/decisions/0013-retention.md for the figures.
func BenchmarkFinished(b *testing.B) {
	storetest.BenchFinished(b, openStore(b, testdb.StartPostgres(b, testdb.Options{}).Database(b)))
}
