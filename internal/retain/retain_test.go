package retain

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

var errDown = errors.New("no connection")

// watched is a store that notes its pages, and whose Prune takes as long as a test says.
type watched struct {
	*memory.Store
	took time.Duration

	mu    sync.Mutex
	fail  error // of each call
	calls []seen
}

type seen struct {
	at  time.Time
	p   store.Prune
	out store.Pruned
}

func (w *watched) Prune(ctx context.Context, f store.Fence, p store.Prune) (store.Pruned, error) {
	w.mu.Lock()
	n, fail := len(w.calls), w.fail
	w.calls = append(w.calls, seen{at: time.Now(), p: p})
	w.mu.Unlock()
	time.Sleep(w.took)
	if fail != nil {
		return store.Pruned{}, fail
	}
	out, err := w.Store.Prune(ctx, f, p)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[n].out = out
	return out, err
}

// pages returns the calls so far.
func (w *watched) pages() []seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

func (w *watched) fails(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail = err
}

// site is a table beside which a Retainer runs.
type site struct {
	t      *testing.T
	store  *watched
	fence  store.Fence
	errs   []error
	serial byte
	ended  chan error // takes the error of Run
	stop   context.CancelFunc
}

func (s *site) fails(err error) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.errs = append(s.errs, err)
}

// failed returns the errors told so far.
func (s *site) failed() []error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return slices.Clone(s.errs)
}

// run prepares a table by before, and runs during beside a Retainer with the rules keep.
func run(t *testing.T, keep store.Retention, before, during func(s *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &site{t: t, store: &watched{Store: memory.New(memory.Options{})},
			ended: make(chan error, 1)}
		token, err := s.store.Install(t.Context(), 0, 0, "test")
		if err != nil {
			t.Fatal(err)
		}
		s.fence = store.Fence{Token: token}
		before(s)
		begin := time.Now()
		r := New(Config{Store: s.store, Fence: s.fence, Keep: keep,
			Now:    func() task.Time { return task.FromGo(time.Now()) },
			Since:  func() time.Duration { return time.Since(begin) },
			Failed: s.fails})
		ctx, stop := context.WithCancel(t.Context())
		s.stop = stop
		go func() { s.ended <- r.Run(ctx) }()
		during(s)
		stop()
		synctest.Wait()
		if err := <-s.ended; !errors.Is(err, context.Canceled) && !errors.Is(err, store.ErrFenced) {
			t.Errorf("Run ended with %v", err)
		}
	})
}

// ids makes n ids at an instant.
func (s *site) ids(n int, at time.Time) []task.ID {
	ids := make([]task.ID, n)
	for i := range ids {
		s.serial++
		ids[i] = task.NewID(at.UnixMilli(), [10]byte{3: byte(i >> 8), 4: byte(i), 9: s.serial})
	}
	return ids
}

// insert makes tasks with these ids, and leads them to a final state by events.
func (s *site) insert(ids []task.ID, events ...task.Event) {
	s.t.Helper()
	rows := make([]task.Task, len(ids))
	var trs []*task.Transition
	for i, id := range ids {
		rows[i] = task.Task{ID: id, Kind: "k", Group: "g", Bucket: task.Normal, MaxRetries: -1,
			Mutable: task.Mutable{State: task.Scheduled, Run: 1, RunAt: task.StoreNow}}
		row := rows[i]
		row.Version = 1
		tr := task.Begin(&row)
		for _, e := range events {
			tr.Then(e, task.NoReason, "")
		}
		trs = append(trs, tr)
	}
	if _, err := s.store.Insert(s.t.Context(), store.Fence{}, rows); err != nil {
		s.t.Fatal(err)
	}
	if len(events) == 0 {
		return
	}
	if _, err := s.store.Apply(s.t.Context(), store.Fence{}, trs); err != nil {
		s.t.Fatal(err)
	}
}

// left returns how many of the tasks are there.
func (s *site) left(ids []task.ID) int {
	s.t.Helper()
	rows, err := s.store.Tasks(s.t.Context(), ids)
	if err != nil {
		s.t.Fatal(err)
	}
	return len(rows)
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

var cancel = []task.Event{task.Cancel}

// TestDefaults: without any rule what was canceled goes after 7 days and not before, what is dead
// after 90, and what is not final never.
func TestDefaults(t *testing.T) {
	var canceled, dead, waits []task.ID
	run(t, store.Retention{}, func(s *site) {
		canceled, dead = s.ids(1200, time.Now()), s.ids(10, time.Now())
		waits = s.ids(10, time.Now())
		s.insert(canceled, cancel...)
		s.insert(dead, task.Expire)
		s.insert(waits)
	}, func(s *site) {
		check := func(c, d int) {
			t.Helper()
			if a, b := s.left(canceled), s.left(dead); a != c || b != d {
				t.Errorf("%d canceled and %d dead are left; want %d and %d", a, b, c, d)
			}
		}
		const day = 24 * time.Hour
		pass(7*day - time.Minute)
		check(1200, 10)
		pass(2 * time.Hour)
		check(0, 10)
		pass(82 * day)
		check(0, 10)
		pass(2 * day)
		check(0, 0)
		if n := s.left(waits); n != 10 {
			t.Errorf("%d tasks that are not final are left; want 10", n)
		}
	})
}

// TestEveryID: tasks go whatever their ids say, also those that ended long after they were made,
// and those whose ids were not made by ax.
func TestEveryID(t *testing.T) {
	hour := store.Retention{Default: store.Keep{Canceled: time.Hour}}
	var late, odd []task.ID
	run(t, hour, func(s *site) {
		late = s.ids(700, time.Now().Add(-24*time.Hour))
		odd = []task.ID{{15: 1}, {1}, {0xff, 0xff}, {0x80, 15: 3}}
		odd = append(odd, s.ids(3, time.Now().Add(30*time.Minute))...)
		odd = append(odd, s.ids(3, time.Now().Add(300*time.Minute))...)
	}, func(s *site) {
		pass(2 * time.Hour)
		s.insert(late, cancel...)
		s.insert(odd, cancel...)
		pass(50 * time.Minute)
		if a, b := s.left(late), s.left(odd); a != len(late) || b != len(odd) {
			t.Errorf("%d and %d are left after 50 minutes; want all", a, b)
		}
		pass(time.Hour)
		if a, b := s.left(late), s.left(odd); a != 0 || b != 0 {
			t.Errorf("%d and %d are left after two hours; want none", a, b)
		}
	})
}

// TestYoungOnesAreNotRead: of many tasks that cannot be over yet none is looked at.
func TestYoungOnesAreNotRead(t *testing.T) {
	run(t, store.Retention{}, func(s *site) {
		s.insert(s.ids(5*page, time.Now().Add(-time.Hour)), cancel...)
		s.insert(s.ids(3*page, time.Now()))
	}, func(s *site) {
		pass(90 * time.Minute)
		if len(s.store.pages()) != 4 { // two walks of two ranges
			t.Errorf("%d pages were read; want 4", len(s.store.pages()))
		}
		for _, p := range s.store.pages() {
			if !p.out.Next.IsZero() {
				t.Errorf("a page of %d tasks was found", page)
			}
		}
	})
}

// TestForEver: where everything stays no task is looked at. Keys that were kept for a time only go
// all the same.
func TestForEver(t *testing.T) {
	all := store.Keep{Succeeded: -1, Skipped: -1, Canceled: -1, Dead: -1}
	var ids []task.ID
	run(t, store.Retention{Default: all}, func(s *site) {
		ids = s.ids(3, time.Now())
		s.insert(append(ids, task.ID{0: 0xff, 1: 0xff, 15: 1}), cancel...)
	}, func(s *site) {
		pass(59 * time.Minute)
		s.keep(2*page+1, time.Second)
		pass(10 * time.Hour)
		keys := 0
		for _, p := range s.store.pages() {
			if !p.p.Until.IsZero() || !p.out.Next.IsZero() || p.out.Deleted != 0 ||
				p.p.After != none() {
				t.Errorf("a page after %s", p.p.After)
			}
			keys += p.out.Keys
		}
		if n := len(s.store.pages()); n != 11+2 || keys != 2*page+1 {
			t.Errorf("%d pages with %d keys", n, keys)
		}
		if n := s.left(ids); n != 3 {
			t.Errorf("%d tasks are left", n)
		}
	})
}

// keep makes tasks that keep keys for a time.
func (s *site) keep(n int, d time.Duration) {
	s.t.Helper()
	rows := make([]task.Task, n)
	for i, id := range s.ids(n, time.Now()) {
		rows[i] = task.Task{ID: id, Kind: "k", Key: id.String(), Unique: task.UniqueFor(d),
			Group: "g", Bucket: task.Normal, MaxRetries: -1,
			Mutable: task.Mutable{State: task.Scheduled, Run: 1, RunAt: task.StoreNow}}
	}
	if _, err := s.store.Insert(s.t.Context(), store.Fence{}, rows); err != nil {
		s.t.Fatal(err)
	}
}

// TestKeptKeys: keys whose end has passed go with the next walk, however many and however few tasks
// there are; those that have no end, or not yet, stay.
func TestKeptKeys(t *testing.T) {
	run(t, store.Retention{}, func(s *site) {
		s.keep(4*page+7, time.Minute)
		s.keep(page, 100*time.Hour)
	}, func(s *site) {
		pass(30 * time.Minute)
		keys := 0
		for _, p := range s.store.pages() {
			keys += p.out.Keys
		}
		if keys != 4*page+7 {
			t.Errorf("%d keys went; want %d", keys, 4*page+7)
		}
	})
}

// TestFenced: a leader that was replaced ends and deletes nothing.
func TestFenced(t *testing.T) {
	var ids []task.ID
	run(t, store.Retention{Default: store.Keep{Canceled: time.Minute}}, func(s *site) {
		ids = s.ids(10, time.Now())
		s.insert(ids, cancel...)
	}, func(s *site) {
		if _, err := s.store.Install(t.Context(), 0, s.fence.Token, "next"); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		if n := s.left(ids); n != 10 {
			t.Errorf("%d tasks are left; want 10", n)
		}
		select {
		case err := <-s.ended:
			if !errors.Is(err, store.ErrFenced) {
				t.Errorf("Run ended with %v", err)
			}
			s.ended <- err
		default:
			t.Error("Run goes on")
		}
	})
}

// TestOutage: errors are told, once a minute, and the walk goes on where it was.
func TestOutage(t *testing.T) {
	var ids []task.ID
	run(t, store.Retention{Default: store.Keep{Canceled: time.Minute}}, func(s *site) {
		ids = s.ids(4*page, time.Now())
		s.insert(ids, cancel...)
	}, func(s *site) {
		pass(time.Minute + breath/2) // after one page of the first walk
		if n := s.left(ids); n != 3*page {
			t.Fatalf("%d tasks are left after the first page; want %d", n, 3*page)
		}
		s.store.fails(errDown)
		pass(10*time.Minute + time.Second)
		if len(s.failed()) != 11 || !errors.Is(s.failed()[0], errDown) {
			t.Errorf("%d errors were told in ten minutes: %v; want 11", len(s.failed()), s.failed()[:1])
		}
		before := len(s.store.pages())
		s.store.fails(nil)
		pass(time.Minute)
		if n := s.left(ids); n != 0 {
			t.Errorf("%d tasks are left", n)
		}
		if s.store.pages()[before].p.After.IsZero() {
			t.Error("the walk began anew")
		}
	})
}

// TestPace: pauses are in proportion to the work, and shorter where much is to be deleted for long.
func TestPace(t *testing.T) {
	var ids []task.ID
	run(t, store.Retention{Default: store.Keep{Canceled: time.Minute}}, func(s *site) {
		s.store.took = time.Second
		ids = s.ids(40*page, time.Now())
		for part := range slices.Chunk(ids, 20*page) {
			s.insert(part, cancel...)
		}
	}, func(s *site) {
		pass(time.Hour)
		if n := s.left(ids); n != 0 {
			t.Fatalf("%d tasks are left", n)
		}
		var slow, fast int
		for i, p := range s.store.pages()[1:] {
			if p.out.Next.IsZero() || s.store.pages()[i].out.Next.IsZero() {
				continue
			}
			switch gap := p.at.Sub(s.store.pages()[i].at); gap {
			case (1 + share) * time.Second:
				slow++
			case (1 + hurry) * time.Second:
				fast++
			default:
				t.Errorf("page %d came %s after the one before", i, gap)
			}
		}
		// Ten minutes at a page every 20 s, then every 5 s.
		if slow != 30 || fast != 9 {
			t.Errorf("%d long pauses and %d short ones", slow, fast)
		}
	})
}
