package trigger

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

var errDown = errors.New("no connection")

// watched is a memory store whose Due can fail or hang.
type watched struct {
	*memory.Store

	mu    sync.Mutex
	down  bool
	hang  time.Duration
	reads int
	rows  int // read
}

func (s *watched) Due(ctx context.Context, cs []store.Cursor) ([][]store.Due, task.Time, error) {
	s.mu.Lock()
	down, hang := s.down, s.hang
	s.mu.Unlock()
	time.Sleep(hang)
	if down {
		return nil, 0, errDown
	}
	pages, at, err := s.Store.Due(ctx, cs)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	for _, p := range pages {
		s.rows += len(p)
	}
	return pages, at, err
}

func (s *watched) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// pushed is a due task as it was handed over.
type pushed struct {
	Item
	at task.Time
}

// rig is a trigger that runs in a bubble over one group; a lane holds 4,000 tasks.
type rig struct {
	unhandled []string // kinds told of
	*Trigger
	t     *testing.T
	store *watched
	n     int

	mu     sync.Mutex
	out    []pushed
	settle bool // what is handed over is claimed at once
	kinds  map[string]bool
	errors int
}

// with prepares a store, starts a trigger over it and runs f.
func with(t *testing.T, prepare, f func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, store: &watched{Store: memory.New(memory.Options{})}, settle: true,
			kinds: map[string]bool{"a": true, "b": true, "c": true}}
		if prepare != nil {
			prepare(r)
		}
		began := time.Now()
		var err error
		r.Trigger, err = New(Config{Store: r.store, Groups: []string{"g"},
			Now:     func() task.Time { return task.FromGo(time.Now()) },
			Since:   func() time.Duration { return time.Since(began) },
			Sampled: func(time.Duration, task.Time) {},
			Unhandled: func(kind string) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.unhandled = append(r.unhandled, kind)
			},
			Has: func(kind string) bool {
				r.mu.Lock()
				defer r.mu.Unlock()
				return r.kinds[kind]
			},
			Push: r.push, Failed: func(error) { r.mu.Lock(); r.errors++; r.mu.Unlock() },
			Poll: 2 * time.Second, Window: 5 * time.Minute, Tick: time.Millisecond, Loaded: 16_000})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { r.Run(ctx) })
		wg.Go(func() { r.Drive(ctx) })
		f(r)
		cancel()
		wg.Wait()
	})
}

// push takes due tasks as a dispatcher does: what the table says is claimed, the rest dropped. A
// page that was read before a claim may bring a task back.
func (r *rig) push(its []Item) {
	now := task.FromGo(time.Now())
	r.mu.Lock()
	settle := r.settle
	r.mu.Unlock()
	for _, it := range its {
		k := r.read(it.ID)
		if k.State == task.Scheduled && k.RunAt == it.RunAt {
			r.mu.Lock()
			r.out = append(r.out, pushed{it, now})
			r.mu.Unlock()
			if settle {
				r.move(it.ID, task.Cancel, nil)
			}
		}
		if settle {
			r.Settled(it)
		}
	}
}

// claims says whether what is handed over is claimed at once, or waits for slots.
func (r *rig) claims(now bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle = now
}

func (r *rig) read(id task.ID) *task.Task {
	rows, err := r.store.Tasks(context.Background(), []task.ID{id})
	if err != nil || len(rows) != 1 {
		r.t.Errorf("read: %v", err)
		return &task.Task{}
	}
	return &rows[0]
}

// insert makes n tasks of the kind that are due after d, as another process does.
func (r *rig) insert(n int, kind string, d time.Duration) []task.Task {
	r.t.Helper()
	rows := make([]task.Task, n)
	for i := range rows {
		r.n++
		rows[i] = task.Task{ID: task.ID{1, byte(r.n >> 16), byte(r.n >> 8), byte(r.n)}, Kind: kind,
			Group: "g", Bucket: task.Normal}
		rows[i].State, rows[i].Run = task.Scheduled, 1
		rows[i].RunAt = task.FromGo(time.Now().Add(d))
	}
	if _, err := r.store.Insert(r.t.Context(), store.Fence{}, rows); err != nil {
		r.t.Fatal(err)
	}
	return rows
}

// move applies one event to a task.
func (r *rig) move(id task.ID, e task.Event, set func(m *task.Mutable)) {
	tr := task.Begin(r.read(id))
	if set != nil {
		set(&tr.Set)
	}
	trs := []*task.Transition{tr.Then(e, 0, "")}
	if _, err := r.store.Apply(context.Background(), store.Fence{}, trs); err != nil {
		r.t.Error(err)
	}
}

// got returns what was handed over of a kind.
func (r *rig) got(kind string) []pushed {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []pushed
	for _, p := range r.out {
		if p.Kind == kind {
			out = append(out, p)
		}
	}
	return out
}

// wantOnce checks that n tasks of the kind were handed over, each once, none early, none later
// than late.
func (r *rig) wantOnce(kind string, n int, late time.Duration) {
	r.t.Helper()
	seen := map[task.ID]bool{}
	got := r.got(kind)
	for _, p := range got {
		if seen[p.ID] {
			r.t.Errorf("%s was handed over twice", p.ID)
		}
		seen[p.ID] = true
		if p.at < p.RunAt || p.at.Sub(p.RunAt) > late {
			r.t.Errorf("%s came %s after it was due, want 0 to %s", p.ID, p.at.Sub(p.RunAt), late)
		}
	}
	if len(got) != n {
		r.t.Errorf("%d tasks of kind %s were handed over, want %d", len(got), kind, n)
	}
}

// TestInTime: what a new leader finds in the table comes when it is due, not before.
func TestInTime(t *testing.T) {
	with(t, func(r *rig) {
		for i := range 600 { // twice the window
			r.insert(1, "a", time.Duration(i)*time.Second+time.Duration(i)*time.Millisecond)
		}
	}, func(r *rig) {
		time.Sleep(11 * time.Minute)
		r.wantOnce("a", 600, time.Millisecond)
		if r.Loaded() != 0 {
			t.Errorf("%d tasks are still held", r.Loaded())
		}
	})
}

// TestT04FarAway: tasks of the next years cost no memory and do not fire.
func TestT04FarAway(t *testing.T) {
	with(t, func(r *rig) {
		rows := r.insert(2, "a", 6*time.Hour)
		r.move(rows[0].ID, task.Reschedule, func(m *task.Mutable) { m.RunAt = task.MaxTime })
	}, func(r *rig) {
		time.Sleep(5 * time.Hour)
		if r.Loaded() != 0 || len(r.got("a")) != 0 {
			t.Errorf("%d held, %d handed over", r.Loaded(), len(r.got("a")))
		}
		time.Sleep(2 * time.Hour)
		r.wantOnce("a", 1, time.Millisecond)
	})
}

// TestWindowIsBounded: of many tasks in the window only the share of the lane is held, and what is
// due in the next seconds; all come, once each.
func TestWindowIsBounded(t *testing.T) {
	with(t, func(r *rig) {
		for i := range 60 {
			r.insert(200, "a", time.Duration(i)*4*time.Second)
		}
	}, func(r *rig) {
		for range 300 {
			time.Sleep(time.Second)
			if n := r.Loaded(); n > 4600 {
				t.Fatalf("%d tasks are held, the lane's share is 4,000, and 600 are near", n)
			}
		}
		r.wantOnce("a", 12_000, 2*time.Second)
	})
}

// TestBacklogIsBounded: overdue tasks without slots are held up to the share of their kind, and
// come when slots are there; another kind is not held back.
func TestBacklogIsBounded(t *testing.T) {
	with(t, func(r *rig) {
		r.claims(false)
		r.insert(12_000, "a", -time.Hour)
		r.insert(10, "b", -time.Minute)
	}, func(r *rig) {
		time.Sleep(30 * time.Second)
		if n := r.Loaded(); n > 8010 {
			t.Fatalf("%d tasks are held; half of the lane is 8,000, and ten are of another kind", n)
		}
		if n := len(r.got("b")); n != 10 {
			t.Errorf("%d tasks of the other kind came, want 10", n)
		}
		waiting := r.got("a")
		r.claims(true)
		for _, p := range waiting {
			r.move(p.ID, task.Cancel, nil)
			r.Settled(p.Item)
		}
		time.Sleep(30 * time.Second)
		r.wantOnce("a", 12_000, 2*time.Hour)
	})
}

// TestUnpark: tasks of a kind without a handler wait in the table and come when it is registered.
func TestUnpark(t *testing.T) {
	with(t, func(r *rig) {
		r.insert(1, "new", -time.Hour)
		r.insert(1500, "a", -30*time.Minute)
		r.insert(100, "new", -time.Minute)
		r.insert(1, "new", time.Minute)
	}, func(r *rig) {
		time.Sleep(30 * time.Second)
		if len(r.got("new")) != 0 {
			t.Fatal("a kind without a handler was handed over")
		}
		r.mu.Lock()
		r.kinds["new"] = true
		r.mu.Unlock()
		r.Unpark("new")
		if n := len(r.got("new")); n != 101 {
			t.Errorf("%d tasks came at once, want 101", n)
		}
		time.Sleep(time.Minute)
		r.wantOnce("new", 102, 2*time.Hour)
		r.wantOnce("a", 1500, time.Hour)
	})
}
