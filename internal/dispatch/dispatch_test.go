package dispatch

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/executor"
	"github.com/ax-sched/ax/internal/admit"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

var errDown = errors.New("no connection")

// faulty is a memory store whose reads and writes can fail, or lose their answer.
type faulty struct {
	*memory.Store

	mu    sync.Mutex
	down  bool
	lose  int   // so many answers of Apply are lost after the rows were written
	sizes []int // of each Apply
	reads int
}

func (s *faulty) set(f func(s *faulty)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

func (s *faulty) Tasks(ctx context.Context, ids []task.ID) ([]task.Task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reads++; s.down {
		return nil, errDown
	}
	return s.Store.Tasks(ctx, ids)
}

func (s *faulty) Apply(ctx context.Context, f store.Fence, trs []*task.Transition) (
	[]store.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sizes = append(s.sizes, len(trs)); s.down {
		return nil, errDown
	}
	res, err := s.Store.Apply(ctx, f, trs)
	if s.lose > 0 {
		s.lose--
		return nil, errDown
	}
	return res, err
}

// rig is a dispatcher that runs in a bubble, over a memory store and a real executor.
type rig struct {
	*Dispatcher
	t     *testing.T
	store *faulty
	local *executor.Local
	n     int

	mu      sync.Mutex
	ran     []task.ID // handlers that were called, in order
	hold    time.Duration
	settled map[task.ID]int
	back    []task.ID // executions handed back
	skipped []task.Task
	lined   map[task.ID]bool
	crowded []task.ID
	rooms   int
	later   map[task.ID]task.Time
	errors  int
	backlog int
	member  bool
	slots   int
	began   time.Time
	// outcome is what handlers report; without it nothing is recorded and all rows stay RUNNING.
	outcome func(k *task.Task) task.Outcome
}

// dispatcher runs f beside a dispatcher with so many slots; handlers take hold.
func dispatcher(t *testing.T, slots int, hold time.Duration, f func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, store: &faulty{Store: memory.New(memory.Options{})}, hold: hold, slots: slots,
			settled: map[task.ID]int{}, later: map[task.ID]task.Time{}, member: true,
			lined: map[task.ID]bool{},
			began: time.Now()}
		token, err := r.store.Install(t.Context(), 0, 0, "test")
		if err != nil {
			t.Fatal(err)
		}
		var handlers sync.WaitGroup
		r.local, err = executor.New(r.executor(&handlers))
		if err != nil {
			t.Fatal(err)
		}
		r.Dispatcher = New(r.config(t.Context()), store.Fence{Token: token})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		ahead := make(chan error, 1)
		go func() { ahead <- r.ReadAhead(ctx) }()
		f(r)
		handlers.Wait()
		cancel()
		if err := <-ahead; !errors.Is(err, context.Canceled) {
			t.Errorf("ReadAhead: %v", err)
		}
		if err := <-done; !errors.Is(err, context.Canceled) && !errors.Is(err, store.ErrFenced) {
			t.Errorf("Run: %v", err)
		}
		if used, _ := r.local.Load(); used != 0 {
			t.Errorf("%d slots are not given back", used)
		}
	})
}

func (r *rig) executor(handlers *sync.WaitGroup) executor.Config {
	return executor.Config{Slots: r.slots, ZombieWait: time.Minute,
		Limit: func(kind string) int {
			if kind == "one" {
				return 1
			}
			return 0
		},
		Run: func(ctx context.Context, k *task.Task) task.Report {
			r.mu.Lock()
			r.ran = append(r.ran, k.ID)
			r.mu.Unlock()
			if r.outcome == nil { // else it obeys the end of its context
				ctx = context.WithoutCancel(ctx)
			}
			select {
			case <-ctx.Done():
			case <-time.After(r.hold):
			}
			return task.Report{Outcome: task.OutSucceeded}
		},
		Report: r.reported, Overdue: func(*task.Task) {},
		Freed: func() { r.Wake() },
		Now:   func() int64 { return time.Since(r.began).Microseconds() },
		Spawn: func(f func()) { handlers.Go(f) }}
}

func (r *rig) config(ctx context.Context) Config {
	locked := func(f func()) { r.mu.Lock(); defer r.mu.Unlock(); f() }
	return Config{Store: r.store, Local: r.local,
		Handler: func(k *task.Task) (context.Context, complete.Policy, bool) {
			p := complete.Policy{Timeout: time.Hour, MaxLateness: k.MaxLateness}
			return ctx, p, k.Kind != "elsewhere"
		},
		Member: func() (string, int64, bool) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return "node", 7, r.member
		},
		NewID: func() (id task.ID) {
			locked(func() { r.n++; id = task.ID{9, byte(r.n), byte(r.n >> 8)} })
			return id
		},
		Now:     func() task.Time { return task.FromGo(time.Now()) },
		Backlog: func() (n int) { locked(func() { n = r.backlog }); return n },
		Settled: func(it admit.Item) { locked(func() { r.settled[it.ID]++ }) },
		HandBack: func(k *task.Task) {
			locked(func() { r.back = append(r.back, k.ExecutionID) })
		},
		Lined:   func(it admit.Item) { locked(func() { r.lined[it.ID] = true }) },
		Crowded: func(it admit.Item) { locked(func() { r.crowded = append(r.crowded, it.ID) }) },
		Room:    func() { locked(func() { r.rooms++ }) },
		Skipped: func(k *task.Task) {
			locked(func() { r.skipped = append(r.skipped, *k) })
		},
		Later:  func(it admit.Item, at task.Time) { locked(func() { r.later[it.ID] = at }) },
		Failed: func(error) { locked(func() { r.errors++ }) }}
}

// insert makes n scheduled tasks, changed by set, and returns them as the trigger hands them over.
func (r *rig) insert(n int, kind string, set func(i int, k *task.Task)) []admit.Item {
	r.t.Helper()
	rows, its := make([]task.Task, n), make([]admit.Item, n)
	for i := range rows {
		r.n++
		rows[i] = task.Task{ID: task.ID{1, byte(r.n >> 8), byte(r.n)}, Kind: kind, Group: "g",
			Bucket: task.Normal, MaxRetries: -1}
		rows[i].State, rows[i].Run, rows[i].RunAt = task.Scheduled, 1, task.FromGo(time.Now())
		if set != nil {
			set(i, &rows[i])
		}
		its[i] = admit.Item{ID: rows[i].ID, RunAt: rows[i].RunAt, Kind: kind, Bucket: task.Normal}
	}
	if _, err := r.store.Insert(r.t.Context(), store.Fence{}, rows); err != nil {
		r.t.Fatal(err)
	}
	return its
}

func (r *rig) set(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// states counts the tasks by state.
func (r *rig) states() map[task.State]int64 {
	r.t.Helper()
	m, err := r.store.Count(r.t.Context(), 0)
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

func (r *rig) runs() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ran)
}

func (r *rig) read(id task.ID) task.Task {
	r.t.Helper()
	rows, err := r.store.Store.Tasks(r.t.Context(), []task.ID{id})
	if err != nil || len(rows) != 1 {
		r.t.Fatalf("read %s: %v", id, err)
	}
	return rows[0]
}

// TestClaimsWithinSlots: what is due is claimed in batches of the free slots.
func TestClaimsWithinSlots(t *testing.T) {
	dispatcher(t, 10, time.Second, func(r *rig) {
		r.Push(r.insert(25, "k", nil))
		synctest.Wait()
		if r.runs() != 10 || r.Waiting() != 15 || r.states()[task.Running] != 10 {
			t.Errorf("%d run, %d wait, states %v", r.runs(), r.Waiting(), r.states())
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if r.runs() != 25 || r.Waiting() != 0 {
			t.Errorf("%d ran, %d wait", r.runs(), r.Waiting())
		}
		if r.store.sizes[0] != 10 {
			t.Errorf("the first claim took %d rows", r.store.sizes[0])
		}
		for id, n := range r.settled {
			if n != 1 {
				t.Errorf("%s was settled %d times", id, n)
			}
		}
		if len(r.settled) != 25 {
			t.Errorf("%d settled", len(r.settled))
		}
	})
}

// TestClaimedRow: the table says who runs it, under which token.
func TestClaimedRow(t *testing.T) {
	dispatcher(t, 1, time.Second, func(r *rig) {
		its := r.insert(1, "k", nil)
		r.Push(its)
		synctest.Wait()
		k := r.read(its[0].ID)
		if k.State != task.Running || k.Executor != "node" || k.Epoch != 7 || k.Attempt != 1 ||
			k.Token != r.Fence().Token || k.StartedAt != task.FromGo(r.began) {
			t.Errorf("row %+v", k.Mutable)
		}
		if !r.local.Known(k.ExecutionID) {
			t.Error("the executor does not know the execution")
		}
	})
}

// TestFIFO: tasks of one kind start in the order in which they became due.
func TestFIFO(t *testing.T) {
	dispatcher(t, 8, time.Second, func(r *rig) {
		its := r.insert(20, "one", nil)
		r.Push(its)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		for i, id := range r.ran {
			if id != its[i].ID {
				t.Fatalf("place %d: %s, want %s", i, id, its[i].ID)
			}
		}
		if len(r.ran) != 20 {
			t.Errorf("%d ran", len(r.ran))
		}
	})
}

// TestNotDue: the store's clock decides; what it refuses waits, with its slot given back.
func TestNotDue(t *testing.T) {
	dispatcher(t, 2, time.Second, func(r *rig) {
		due := task.FromGo(time.Now().Add(50 * time.Millisecond))
		its := r.insert(1, "k", func(_ int, k *task.Task) { k.RunAt = due })
		r.Push(its)
		synctest.Wait()
		if r.runs() != 0 || r.later[its[0].ID] != due || r.local.Free() != 2 || r.Waiting() != 0 {
			t.Errorf("%d ran, later %v, %d slots free, %d wait", r.runs(), r.later, r.local.Free(),
				r.Waiting())
		}
		if len(r.settled) != 0 {
			t.Error("the wheel was told to forget it")
		}
	})
}

// TestMovedMeanwhile: what somebody canceled, moved or deleted is dropped.
func TestMovedMeanwhile(t *testing.T) {
	dispatcher(t, 4, time.Second, func(r *rig) {
		its := r.insert(3, "k", func(i int, k *task.Task) {
			if i == 1 {
				k.State = task.Running
			}
		})
		its[0].RunAt-- // it was rescheduled since it was read
		ghost := admit.Item{ID: task.ID{5}, RunAt: its[0].RunAt, Kind: "k", Bucket: task.Normal}
		r.Push(append(its, ghost))
		synctest.Wait()
		if r.runs() != 1 || r.ran[0] != its[2].ID {
			t.Errorf("ran %v, want only the one that is as it was", r.ran)
		}
		if len(r.settled) != 4 || r.local.Free() != 3 || r.Waiting() != 0 {
			t.Errorf("settled %v, %d slots free, %d wait", r.settled, r.local.Free(), r.Waiting())
		}
	})
}

// TestConflict: somebody moves the row between the reading and the claim.
func TestConflict(t *testing.T) {
	dispatcher(t, 4, time.Second, func(r *rig) {
		its := r.insert(1, "k", nil)
		r.cfg.Handler = func(k *task.Task) (context.Context, complete.Policy, bool) {
			other := task.Begin(k).Then(task.Cancel, 0, "")
			if _, err := r.store.Store.Apply(r.t.Context(), store.Fence{},
				[]*task.Transition{other}); err != nil {
				t.Error(err)
			}
			return r.t.Context(), complete.Policy{Timeout: time.Hour}, true
		}
		r.Push(its)
		synctest.Wait()
		if r.runs() != 0 || r.settled[its[0].ID] != 1 || r.local.Free() != 4 {
			t.Errorf("%d ran, settled %v, %d slots free", r.runs(), r.settled, r.local.Free())
		}
	})
}
