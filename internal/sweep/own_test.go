package sweep

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
