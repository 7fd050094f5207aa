package sqlite_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite"
	"github.com/ax-sched/ax/store/storetest"
	"github.com/ax-sched/ax/task"
)

// newTask returns a task as a submit makes it, due at once.
func newTask() task.Task {
	var rnd [10]byte
	binary.NativeEndian.PutUint64(rnd[:], rand.Uint64())
	return task.Task{
		ID: task.NewID(time.Now().UnixMilli(), rnd), Kind: "order.close.timeout",
		Group: "default", Bucket: task.Normal, Payload: []byte(`{"order":12345678,"try":1}`),
		FireTime: task.StoreNow, MaxRetries: -1,
		Mutable: task.Mutable{State: task.Scheduled, Run: 1, RunAt: task.StoreNow},
	}
}

func newTasks(n int, keyed bool) []task.Task {
	ts := make([]task.Task, n)
	for i := range ts {
		ts[i] = newTask()
		if keyed {
			ts[i].Key = fmt.Sprintf("order-%x", ts[i].ID[8:])
		}
	}
	return ts
}

func benchStore(b *testing.B) *sqlite.Store {
	return open(b, filepath.Join(b.TempDir(), "ax.db"))
}

func mustInsert(b testing.TB, s *sqlite.Store, ts []task.Task) {
	in, err := s.Insert(b.Context(), store.Fence{}, ts)
	if err != nil {
		b.Fatal(err)
	}
	for i := range in {
		if in[i].ID != ts[i].ID || in[i].Duplicate {
			b.Fatalf("row %d: %+v", i, in[i])
		}
	}
}

func perSecond(b *testing.B, rows int) {
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkInsertOne(b *testing.B) {
	s := benchStore(b)
	for b.Loop() {
		mustInsert(b, s, newTasks(1, false))
	}
	perSecond(b, 1)
}

func BenchmarkInsertOneOf32(b *testing.B) {
	s := benchStore(b)
	const callers, each = 32, 20
	for b.Loop() {
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range each {
					mustInsert(b, s, newTasks(1, false))
				}
			})
		}
		wg.Wait()
	}
	perSecond(b, callers*each)
}

func BenchmarkInsertMany1000(b *testing.B) {
	s := benchStore(b)
	for b.Loop() {
		b.StopTimer()
		ts := newTasks(1000, true)
		b.StartTimer()
		mustInsert(b, s, ts)
	}
	perSecond(b, 1000)
}

// claimOf and finishOf are what the leader's own process does with a task.
func claimOf(t *task.Task, f store.Fence) *task.Transition {
	tr := task.Begin(t).Then(task.ClaimLocal, task.NoReason, "")
	tr.WhenDue = true
	tr.Set.Attempt, tr.Set.Executor, tr.Set.Epoch, tr.Set.Token = 1, "node-a", 7, f.Token
	tr.Set.ExecutionID = newTask().ID
	tr.Set.DispatchedAt, tr.Set.StartedAt = task.StoreNow, task.StoreNow
	return tr.Keys(t)
}

func finishOf(t *task.Task) *task.Transition {
	tr := task.Begin(t).Then(task.Succeed, task.NoReason, "")
	tr.Execution = t.ExecutionID
	tr.Set.LastOutcome, tr.Set.FinishedAt = task.OutSucceeded, task.StoreNow
	return tr.Keys(t)
}

func mustApply(b testing.TB, s *sqlite.Store, f store.Fence, trs []*task.Transition) {
	res, err := s.Apply(b.Context(), f, trs)
	if err != nil {
		b.Fatal(err)
	}
	for i := range res {
		if res[i].Status != store.Applied {
			b.Fatalf("transition %d: %s", i, res[i].Status)
		}
	}
}

func lead(b testing.TB, s *sqlite.Store) store.Fence {
	token, err := s.Install(b.Context(), 0, 0, "bench")
	if err != nil {
		b.Fatal(err)
	}
	return store.Fence{Token: token}
}

// batch is 256 claims and the 256 finishes after them.
type batch struct{ claims, finishes []*task.Transition }

func insertBatches(b testing.TB, s *sqlite.Store, f store.Fence, n int) []batch {
	ts := newTasks(256*n, false)
	for i := 0; i < len(ts); i += 1024 {
		mustInsert(b, s, ts[i:min(i+1024, len(ts))])
	}
	out := make([]batch, n)
	for i := range ts {
		t := &ts[i]
		t.Version, t.RunAt = 1, 1
		claim := claimOf(t, f)
		t.Mutable, t.Version = claim.Set, 2
		o := &out[i/256]
		o.claims = append(o.claims, claim)
		o.finishes = append(o.finishes, finishOf(t))
	}
	return out
}

// BenchmarkClaimFinish256 applies claims and finishes of 100,352 tasks in turn.
func BenchmarkClaimFinish256(b *testing.B) {
	const batches = 392
	for b.Loop() {
		b.StopTimer()
		s := benchStore(b)
		f := lead(b, s)
		all := insertBatches(b, s, f, batches)
		b.StartTimer()
		for i := range all {
			mustApply(b, s, f, all[i].claims)
			mustApply(b, s, store.Fence{}, all[i].finishes)
		}
	}
	perSecond(b, 256*batches)
}

// BenchmarkClaimWhileFinish256 is what a scheduler does: it claims while it finishes.
func BenchmarkClaimWhileFinish256(b *testing.B) {
	const batches = 392
	for b.Loop() {
		b.StopTimer()
		s := benchStore(b)
		f := lead(b, s)
		all := insertBatches(b, s, f, batches)
		claimed := make(chan int, batches)
		b.StartTimer()
		var wg sync.WaitGroup
		wg.Go(func() {
			defer close(claimed)
			for i := range all {
				mustApply(b, s, f, all[i].claims)
				claimed <- i
			}
		})
		for i := range claimed {
			mustApply(b, s, store.Fence{}, all[i].finishes)
		}
		wg.Wait()
	}
	perSecond(b, 256*batches)
}

func BenchmarkDueScan(b *testing.B) {
	s := benchStore(b)
	for range 20 {
		mustInsert(b, s, newTasks(1000, false))
	}
	cs := []store.Cursor{{Group: "default", Bucket: task.Normal, Until: task.MaxTime, Limit: 1000}}
	for b.Loop() {
		due, _, err := s.Due(b.Context(), cs)
		if err != nil || len(due[0]) != 1000 {
			b.Fatal(len(due[0]), err)
		}
	}
	perSecond(b, 1000)
}

func BenchmarkTasks256(b *testing.B) {
	s := benchStore(b)
	ts := newTasks(20_000, false)
	mustInsert(b, s, ts)
	var ids []task.ID
	for i := range 256 {
		ids = append(ids, ts[i*70].ID)
	}
	for b.Loop() {
		rows, err := s.Tasks(b.Context(), ids)
		if err != nil || len(rows) != 256 {
			b.Fatal(len(rows), err)
		}
	}
	perSecond(b, 256)
}

// BenchmarkFinished: see docs/decisions/0013-retention.md for the figures.
func BenchmarkFinished(b *testing.B) { storetest.BenchFinished(b, benchStore(b)) }
