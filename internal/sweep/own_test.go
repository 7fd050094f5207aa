package sweep

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// home is an executor that compares its rows with what it runs.
type home struct {
	*site
	mu       sync.Mutex
	epoch    int64
	known    map[task.ID]bool
	canceled []task.ID
	back     []task.ID
}

// own runs f beside an Own that looks every two seconds.
func own(t *testing.T, f func(h *home)) {
	t.Helper()
	onSite(t, func(s *site) {
		h := &home{site: s, epoch: 7, known: map[task.ID]bool{}}
		o := NewOwn(OwnConfig{Store: s.store,
			Epoch: func() int64 { h.mu.Lock(); defer h.mu.Unlock(); return h.epoch },
			Known: func(x task.ID) bool { h.mu.Lock(); defer h.mu.Unlock(); return h.known[x] },
			Cancel: func(x task.ID) {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.canceled = append(h.canceled, x)
			},
			HandBack: func(k *task.Task) {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.back = append(h.back, k.ExecutionID)
			},
			Failed: func(error) { h.mu.Lock(); h.errors++; h.mu.Unlock() }, Every: 2 * time.Second})
		ctx, cancel := context.WithCancel(s.t.Context())
		done := make(chan error, 1)
		go func() { done <- o.Run(ctx) }()
		f(h)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
}

func (h *home) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

// handedBack gives the executions handed back, each once.
func (h *home) handedBack() map[task.ID]bool {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	m := map[task.ID]bool{}
	for _, x := range h.back {
		m[x] = true
	}
	return m
}

// TestOwnHandsBack: a row that says it runs here, but which does not, is handed back when it has
// been missing for a while; others are left alone.
func TestOwnHandsBack(t *testing.T) {
	own(t, func(h *home) {
		missing := h.read(h.run(7, nil)).ExecutionID
		runs := h.read(h.run(7, nil)).ExecutionID
		h.run(8, nil) // of another executor
		h.set(func() { h.known[runs] = true })
		time.Sleep(patience)
		if got := h.handedBack(); len(got) != 0 {
			t.Errorf("handed back %v too soon: its claim may be under way", got)
		}
		time.Sleep(2 * time.Second * 2)
		if got := h.handedBack(); len(got) != 1 || !got[missing] {
			t.Errorf("handed back %v, want %s", got, missing)
		}
	})
}

// TestOwnIsPatient: an execution that is known again in between starts to miss anew.
func TestOwnIsPatient(t *testing.T) {
	own(t, func(h *home) {
		x := h.read(h.run(7, nil)).ExecutionID
		time.Sleep(time.Second) // between two looks
		for range 20 {
			time.Sleep(4 * time.Second)
			h.set(func() { h.known[x] = true })
			time.Sleep(2 * time.Second)
			h.set(func() { h.known[x] = false })
		}
		if got := h.handedBack(); len(got) != 0 {
			t.Errorf("handed back %v", got)
		}
	})
}

// TestA07CancelByPolling: somebody asked another process to cancel; the executor finds it within
// one turn.
func TestA07CancelByPolling(t *testing.T) {
	own(t, func(h *home) {
		asked := func(k *task.Task) { k.CancelAsked = task.StoreNow }
		x := h.read(h.run(7, asked)).ExecutionID
		other := h.read(h.run(7, nil)).ExecutionID
		h.set(func() { h.known[x], h.known[other] = true, true })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		h.set(func() {
			if len(h.canceled) != 1 || h.canceled[0] != x {
				t.Errorf("canceled %v, want %s", h.canceled, x)
			}
		})
	})
}

// TestOwnWithoutAnEpoch: while the process is no executor, nothing is compared.
func TestOwnWithoutAnEpoch(t *testing.T) {
	own(t, func(h *home) {
		h.set(func() { h.epoch = 0 })
		h.run(0, nil)
		h.run(7, nil)
		time.Sleep(time.Minute)
		if got := h.handedBack(); len(got) != 0 {
			t.Errorf("handed back %v", got)
		}
	})
}

// TestOwnManyRows: more than one page.
func TestOwnManyRows(t *testing.T) {
	own(t, func(h *home) {
		for range page + 200 {
			h.run(7, nil)
		}
		time.Sleep(patience + 4*time.Second)
		if n := len(h.handedBack()); n != page+200 {
			t.Errorf("%d handed back of %d", n, page+200)
		}
	})
}

// TestOwnStoreAway: errors are told, and comparing goes on.
func TestOwnStoreAway(t *testing.T) {
	own(t, func(h *home) {
		h.store.set(func() { h.store.down = true })
		x := h.read(h.run(7, nil)).ExecutionID
		time.Sleep(time.Minute)
		h.store.set(func() { h.store.down = false })
		time.Sleep(patience + 4*time.Second)
		if got := h.handedBack(); !got[x] {
			t.Errorf("handed back %v, want %s", got, x)
		}
		h.set(func() {
			if h.errors < 25 || h.errors > 35 {
				t.Errorf("%d errors told in a minute", h.errors)
			}
		})
	})
}

// TestOwnFollowsItsRows: an execution that still runs here is told to end when its row says that it
// does not; not while the task is held, and not if it has completed the task itself.
func TestOwnFollowsItsRows(t *testing.T) {
	asked := func(act complete.Act) func(*task.Task) *task.Transition {
		return func(k *task.Task) *task.Transition {
			tr, err := act(k, complete.By{})
			if err != nil {
				t.Error(err)
			}
			return tr
		}
	}
	held := func(k *task.Task) *task.Transition {
		return complete.Overlong(k, complete.Policy{MaxLifetime: 1}, task.FromGo(time.Now()))
	}
	for name, c := range map[string]struct {
		moves []func(*task.Task) *task.Transition
		want  int
	}{
		"held":      {[]func(*task.Task) *task.Transition{held}, 0},
		"canceled":  {[]func(*task.Task) *task.Transition{held, asked(complete.CancelBy)}, 1},
		"triggered": {[]func(*task.Task) *task.Transition{held, asked(complete.Trigger)}, 1},
		"resolved": {[]func(*task.Task) *task.Transition{held,
			asked(complete.Resolve(complete.Succeeded))}, 1},
		"new run": {[]func(*task.Task) *task.Transition{held, asked(complete.CancelBy),
			asked(complete.Redrive)}, 1},
		"CompleteTx": {[]func(*task.Task) *task.Transition{func(k *task.Task) *task.Transition {
			return task.Begin(k).Then(task.Succeed, 0, "").Keys(k)
		}}, 0},
	} {
		own(t, func(h *home) {
			id := h.run(7, func(k *task.Task) { k.DispatchedAt = task.StoreNow })
			x := h.read(id).ExecutionID
			other := h.read(h.run(7, nil)).ExecutionID
			h.set(func() { h.known[x], h.known[other] = true, true })
			for i, move := range c.moves {
				if i < 2 { // what follows comes within the same turn
					time.Sleep(5 * time.Second)
				}
				k := h.read(id)
				res, err := h.store.Apply(t.Context(), store.Fence{}, []*task.Transition{move(&k)})
				if err != nil || res[0].Status != store.Applied {
					t.Fatal(res, err)
				}
			}
			time.Sleep(10 * time.Second)
			synctest.Wait()
			h.set(func() {
				if len(h.canceled) != c.want || c.want > 0 && h.canceled[0] != x {
					t.Errorf("%s: canceled %v, want %d of %s", name, h.canceled, c.want, x)
				}
			})
		})
	}
}
