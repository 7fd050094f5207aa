package complete

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

var errDown = errors.New("no connection")

// faulty is a memory store whose Apply can wait, fail, or lose its answer.
type faulty struct {
	*memory.Store

	mu      sync.Mutex
	gate    chan struct{} // Apply waits for it unless nil
	down    bool          // Apply and Tasks fail
	lose    int           // so many answers are lost after the rows were written
	illegal task.ID       // a transition of this task refuses the call
	sizes   []int         // of each Apply
	locked  map[task.ID]bool
}

func (s *faulty) set(f func(s *faulty)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

func (s *faulty) Apply(ctx context.Context, f store.Fence, trs []*task.Transition) (
	[]store.Result, error) {
	s.mu.Lock()
	gate, down, locked := s.gate, s.down, s.locked
	s.sizes = append(s.sizes, len(trs))
	bad := slices.ContainsFunc(trs, func(tr *task.Transition) bool {
		return !s.illegal.IsZero() && tr.ID == s.illegal
	})
	s.mu.Unlock()
	if gate != nil {
		<-gate
	}
	switch {
	case down:
		return nil, errDown
	case bad:
		return nil, task.ErrIllegal
	}
	res, err := s.free(locked, trs, func(trs []*task.Transition) ([]store.Result, error) {
		return s.Store.Apply(ctx, f, trs)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lose > 0 {
		s.lose--
		return nil, errDown
	}
	return res, err
}

func (s *faulty) Tasks(ctx context.Context, ids []task.ID) ([]task.Task, error) {
	s.mu.Lock()
	down := s.down
	s.mu.Unlock()
	if down {
		return nil, errDown
	}
	return s.Store.Tasks(ctx, ids)
}

// recorder is a Completer that runs in a bubble.
type recorder struct {
	*Completer
	t     *testing.T
	store *faulty
	rows  []*task.Task

	mu     sync.Mutex
	told   map[task.ID][]*task.Task // what Recorded was told, by execution
	errors int
}

// bench runs f beside a completer over a store with n running tasks.
func bench(t *testing.T, n int, f func(b *recorder)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &recorder{t: t, store: &faulty{Store: memory.New(memory.Options{})},
			told: map[task.ID][]*task.Task{}}
		b.Completer = New(Config{Store: b.store, Policy: func(*task.Task) Policy { return policy() },
			Now:  func() task.Time { return task.FromGo(time.Now()) },
			Rand: func() float64 { return 0 },
			Recorded: func(k *task.Task, r task.Report) {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.told[r.Execution] = append(b.told[r.Execution], k)
			},
			Failed: func(error) { b.mu.Lock(); b.errors++; b.mu.Unlock() }})
		b.insert(n)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.Run(ctx) }()
		f(b)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
}

func (b *recorder) insert(n int) {
	b.t.Helper()
	rows := make([]task.Task, n)
	for i := range rows {
		rows[i] = task.Task{ID: task.ID{1, byte(i), byte(i >> 8)}, Kind: "k", Group: "g",
			Bucket: task.Normal, MaxRetries: -1}
		m := &rows[i].Mutable
		m.State, m.Run, m.Attempt, m.RunAt = task.Running, 1, 1, task.StoreNow
		m.ExecutionID = task.ID{2, byte(i), byte(i >> 8)}
	}
	if _, err := b.store.Insert(b.t.Context(), store.Fence{}, rows); err != nil {
		b.t.Fatal(err)
	}
	for i := range rows {
		b.rows = append(b.rows, b.read(rows[i].ID))
	}
}

func (b *recorder) read(id task.ID) *task.Task {
	b.t.Helper()
	got, err := b.store.Store.Tasks(b.t.Context(), []task.ID{id})
	if err != nil || len(got) != 1 {
		b.t.Fatalf("read %s: %v, %v", id, got, err)
	}
	return &got[0]
}

// report hands over an outcome of task i, with the row as it was when it started.
func (b *recorder) report(i int, r task.Report) {
	k := *b.rows[i]
	r.ID, r.Execution = k.ID, k.ExecutionID
	b.Put(&k, r)
}

// history gives the events of task i.
func (b *recorder) history(i int) string {
	b.t.Helper()
	h, err := b.store.History(b.t.Context(), b.rows[i].ID)
	if err != nil {
		b.t.Fatal(err)
	}
	var names strings.Builder
	for _, e := range h {
		names.WriteString(" " + e.Event.String())
	}
	return names.String()
}

func (b *recorder) wantHistory(i int, want string) {
	b.t.Helper()
	if got := b.history(i); got != want {
		b.t.Errorf("history of task %d is%s, want%s", i, got, want)
	}
}

func (b *recorder) timesTold(i int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.told[b.rows[i].ExecutionID])
}

// TestWhatWaitsIsOneBatch: nothing waits for company, and what came meanwhile shares commits.
func TestWhatWaitsIsOneBatch(t *testing.T) {
	bench(t, 2501, func(b *recorder) {
		gate := make(chan struct{})
		b.store.set(func(s *faulty) { s.gate = gate })
		b.report(0, success)
		synctest.Wait()
		for i := 1; i <= 2500; i++ {
			b.report(i, success)
		}
		if n := b.Backlog(); n != 2501 {
			t.Errorf("backlog %d, want 2501", n)
		}
		close(gate)
		synctest.Wait()
		if want := []int{1, 1000, 1000, 500}; !slices.Equal(b.store.sizes, want) {
			t.Errorf("batches of %v, want %v", b.store.sizes, want)
		}
		if b.Backlog() != 0 {
			t.Errorf("backlog %d at the end", b.Backlog())
		}
		for i := range 2501 {
			if b.timesTold(i) != 1 || b.read(b.rows[i].ID).State != task.Succeeded {
				t.Fatalf("task %d: told %d times, %s", i, b.timesTold(i), b.history(i))
			}
		}
	})
}

// TestD14StoreIsAway: outcomes are kept while the store is away, in order, and recorded once.
func TestD14StoreIsAway(t *testing.T) {
	bench(t, 10, func(b *recorder) {
		b.store.set(func(s *faulty) { s.down = true })
		for i := range 10 {
			b.report(i, success)
		}
		time.Sleep(time.Minute)
		if b.Backlog() != 10 {
			t.Errorf("after a minute without a store the backlog is %d", b.Backlog())
		}
		if n := len(b.store.sizes); n > 40 {
			t.Errorf("%d tries in a minute", n)
		}
		b.store.set(func(s *faulty) { s.down = false })
		time.Sleep(lastPause)
		synctest.Wait()
		for i := range 10 {
			b.wantHistory(i, " submit_claimed succeed")
			if b.timesTold(i) != 1 {
				t.Errorf("task %d: told %d times", i, b.timesTold(i))
			}
		}
		if b.errors == 0 {
			t.Error("nobody was told of the outage")
		}
	})
}

// TestAnswerLost: the rows were written but the answer did not come. Nothing is written twice.
func TestAnswerLost(t *testing.T) {
	bench(t, 4, func(b *recorder) {
		b.store.set(func(s *faulty) { s.lose = 1 })
		b.report(0, success)
		b.report(1, failure)
		b.report(2, snoozed)
		b.report(3, task.Report{Outcome: task.OutFailed, Permanent: true})
		time.Sleep(time.Second)
		for i, want := range []string{" submit_claimed succeed", " submit_claimed fail retry",
			" submit_claimed snooze", " submit_claimed fail bury"} {
			b.wantHistory(i, want)
			if b.timesTold(i) != 1 {
				t.Errorf("task %d: told %d times", i, b.timesTold(i))
			}
		}
		if b.Backlog() != 0 {
			t.Errorf("backlog %d", b.Backlog())
		}
	})
}

// TestConflictDecidesAgain: somebody asked to cancel between the start and the report.
func TestConflictDecidesAgain(t *testing.T) {
	bench(t, 2, func(b *recorder) {
		for i := range 2 {
			ask := Cancel(b.rows[i], "ana", "wrong order")
			if _, err := b.store.Apply(b.t.Context(), store.Fence{}, []*task.Transition{ask}); err != nil {
				t.Fatal(err)
			}
		}
		b.report(0, failure) // by the row as it was before
		b.report(1, success)
		synctest.Wait()
		b.wantHistory(0, " submit_claimed ask_cancel cancel")
		b.wantHistory(1, " submit_claimed ask_cancel succeed")
	})
}

// TestStaleReportIsToldOnce: the task has moved on to another execution.
func TestStaleReportIsToldOnce(t *testing.T) {
	bench(t, 1, func(b *recorder) {
		b.report(0, released)
		synctest.Wait()
		again := Claim(b.read(b.rows[0].ID), another, "x", 1, 1)
		if _, err := b.store.Apply(b.t.Context(), store.Fence{}, []*task.Transition{again}); err != nil {
			t.Fatal(err)
		}
		b.report(0, success)
		synctest.Wait()
		b.wantHistory(0, " submit_claimed hand_back claim_local")
		told := b.told[b.rows[0].ExecutionID]
		if len(told) != 2 || told[0] == nil || told[1] != nil {
			t.Errorf("Recorded was told %v, want the task and then nil", told)
		}
	})
}

// TestGone: the row was deleted.
func TestGone(t *testing.T) {
	bench(t, 1, func(b *recorder) {
		ghost := *b.rows[0]
		ghost.ID, ghost.ExecutionID = another, another
		b.Put(&ghost, task.Report{ID: another, Execution: another, Outcome: task.OutSucceeded})
		synctest.Wait()
		if told := b.told[another]; len(told) != 1 || told[0] != nil || b.Backlog() != 0 {
			t.Errorf("told %v, backlog %d", told, b.Backlog())
		}
	})
}

// TestStopThenReport: that it was told to stop is written first when there is time, and left out
// when the report has overtaken it.
func TestStopThenReport(t *testing.T) {
	bench(t, 3, func(b *recorder) {
		b.Stop(b.rows[0])
		synctest.Wait()
		b.wantHistory(0, " submit_claimed stop")
		b.report(0, failure) // the row in memory knows nothing of the stop
		gate := make(chan struct{})
		b.store.set(func(s *faulty) { s.gate = gate })
		b.report(2, success) // holds the batch under way
		synctest.Wait()
		b.Stop(b.rows[1])
		b.report(1, stopped)
		close(gate)
		synctest.Wait()
		b.wantHistory(0, " submit_claimed stop time_out retry")
		b.wantHistory(1, " submit_claimed time_out retry")
		if b.timesTold(0) != 1 || b.timesTold(1) != 1 {
			t.Errorf("told %d and %d times", b.timesTold(0), b.timesTold(1))
		}
	})
}

// TestStopAfterReport: the other way round the stop means nothing.
func TestStopAfterReport(t *testing.T) {
	bench(t, 1, func(b *recorder) {
		b.report(0, success)
		b.Stop(b.rows[0])
		synctest.Wait()
		b.wantHistory(0, " submit_claimed succeed")
		if b.Backlog() != 0 {
			t.Errorf("backlog %d", b.Backlog())
		}
	})
}

// TestIllegalIsIsolated: one transition that the store refuses does not hold back the others.
func TestIllegalIsIsolated(t *testing.T) {
	bench(t, 20, func(b *recorder) {
		b.store.set(func(s *faulty) { s.illegal = b.rows[7].ID })
		for i := range 20 {
			b.report(i, success)
		}
		time.Sleep(time.Second)
		for i := range 20 {
			want := " submit_claimed succeed"
			if i == 7 {
				want = " submit_claimed"
			}
			b.wantHistory(i, want)
			if b.timesTold(i) != 1 {
				t.Errorf("task %d: told %d times", i, b.timesTold(i))
			}
		}
		if b.Backlog() != 0 || b.errors == 0 {
			t.Errorf("backlog %d, %d errors told", b.Backlog(), b.errors)
		}
	})
}

func TestFlush(t *testing.T) {
	bench(t, 2, func(b *recorder) {
		if err := b.Flush(b.t.Context()); err != nil {
			t.Errorf("flush of nothing: %v", err)
		}
		b.store.set(func(s *faulty) { s.down = true })
		b.report(0, success)
		short, cancel := context.WithTimeout(b.t.Context(), time.Second)
		defer cancel()
		if err := b.Flush(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("flush without a store: %v", err)
		}
		b.store.set(func(s *faulty) { s.down = false })
		b.report(1, success)
		if err := b.Flush(b.t.Context()); err != nil || b.Backlog() != 0 {
			t.Errorf("flush: %v, backlog %d", err, b.Backlog())
		}
		b.wantHistory(0, " submit_claimed succeed")
		b.wantHistory(1, " submit_claimed succeed")
	})
}
