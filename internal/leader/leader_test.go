package leader

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

const ttl = 10 * time.Second

var errDown = errors.New("no connection")

// cut is a lease backend and a fencer from which one node can be cut off.
type cut struct {
	lease.Backend
	store.Fencer

	mu      sync.Mutex
	down    bool          // calls fail
	hang    bool          // calls hang until their context ends
	read    func()        // called after the token was read
	renewed int           // renewals that worked
	slow    time.Duration // each renewal takes so long
}

func (c *cut) set(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// pass lets a call through, or not.
func (c *cut) pass(ctx context.Context) error {
	c.mu.Lock()
	down, hang := c.down, c.hang
	c.mu.Unlock()
	switch {
	case hang:
		<-ctx.Done()
		return ctx.Err()
	case down:
		return errDown
	}
	return nil
}

func (c *cut) Acquire(ctx context.Context, p int, holder string, d time.Duration) error {
	if err := c.pass(ctx); err != nil {
		return err
	}
	return c.Backend.Acquire(ctx, p, holder, d)
}

func (c *cut) Release(ctx context.Context, p int, holder string) error {
	if err := c.pass(ctx); err != nil {
		return err
	}
	return c.Backend.Release(ctx, p, holder)
}

func (c *cut) Renew(ctx context.Context, p int, holder string, d time.Duration) error {
	c.mu.Lock()
	slow := c.slow
	c.mu.Unlock()
	time.Sleep(slow)
	if err := c.pass(ctx); err != nil {
		return err
	}
	err := c.Backend.Renew(ctx, p, holder, d)
	c.set(func() { c.renewed++ })
	return err
}

func (c *cut) Token(ctx context.Context, p int) (int64, error) {
	n, err := c.Fencer.Token(ctx, p)
	c.mu.Lock()
	read := c.read
	c.read = nil
	c.mu.Unlock()
	if read != nil {
		read()
	}
	return n, err
}

// span is one term of one node.
type span struct {
	node       string
	token      int64
	began, end time.Duration // end is 0 while it lasts
	cause      error
}

// hall is where nodes campaign, in a bubble.
type hall struct {
	t     *testing.T
	store *memory.Store
	shift time.Duration // of the store's wall clock
	start time.Time

	mu    sync.Mutex
	spans []*span
}

func campaign(t *testing.T, f func(h *hall)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &hall{t: t, start: time.Now()}
		h.store = memory.New(memory.Options{Now: func() task.Time {
			h.mu.Lock()
			defer h.mu.Unlock()
			return task.FromGo(time.Now().Add(h.shift))
		}})
		f(h)
	})
}

// node is one campaigner.
type node struct {
	*Leader
	*cut
	name string
	done chan error
	stop context.CancelFunc
}

// join starts a node; its duties end with their context, or with what fail says.
func (h *hall) join(name string, fail chan error) *node {
	h.t.Helper()
	n := &node{name: name, cut: &cut{Backend: h.store.Leases(), Fencer: h.store},
		done: make(chan error, 1)}
	n.Leader = New(h.config(n, fail))
	ctx, cancel := context.WithCancel(h.t.Context())
	n.stop = cancel
	go func() { n.done <- n.Run(ctx) }()
	return n
}

func (h *hall) config(n *node, fail chan error) Config {
	return Config{Lease: n.cut, Store: n.cut, Holder: n.name, TTL: ttl,
		Spawn: func(f func()) { go f() },
		Since: func() time.Duration { return time.Since(h.start) },
		Rand:  func() float64 { return 0.5 }, Failed: func(error) {},
		Lead: func(ctx context.Context, f store.Fence) <-chan error {
			s := &span{node: n.name, token: f.Token, began: time.Since(h.start)}
			h.mu.Lock()
			h.spans = append(h.spans, s)
			h.mu.Unlock()
			done := make(chan error, 1)
			go func() {
				err := context.Canceled
				select {
				case <-ctx.Done():
				case err = <-fail:
				}
				h.mu.Lock()
				s.end, s.cause = time.Since(h.start), context.Cause(ctx)
				h.mu.Unlock()
				done <- err
			}()
			return done
		}}
}

// leave stops a node and waits.
func (h *hall) leave(n *node) {
	h.t.Helper()
	n.stop()
	if err := <-n.done; !errors.Is(err, context.Canceled) {
		h.t.Errorf("%s: Run: %v", n.name, err)
	}
}

// terms returns copies of what was led so far.
func (h *hall) terms() []span {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []span
	for _, s := range h.spans {
		out = append(out, *s)
	}
	return out
}

// TestOneLeads: the first leads, renews every third of the lease, and the other waits.
func TestOneLeads(t *testing.T) {
	campaign(t, func(h *hall) {
		a := h.join("a", nil)
		synctest.Wait()
		b := h.join("b", nil)
		time.Sleep(time.Hour)
		if ts := h.terms(); len(ts) != 1 || ts[0].node != "a" || ts[0].token != 1 || ts[0].began != 0 {
			t.Errorf("terms %+v", ts)
		}
		a.set(func() {
			if a.renewed < 1075 || a.renewed > 1085 {
				t.Errorf("%d renewals in an hour", a.renewed)
			}
		})
		h.leave(a)
		h.leave(b)
	})
}

// TestReleaseOnStop: a clean stop gives the lease up at once; a stand-by leads within its wait,
// under a larger token.
func TestReleaseOnStop(t *testing.T) {
	campaign(t, func(h *hall) {
		a := h.join("a", nil)
		synctest.Wait()
		b := h.join("b", nil)
		time.Sleep(61 * time.Second)
		h.leave(a)
		time.Sleep(6 * time.Second)
		ts := h.terms()
		if len(ts) != 2 || ts[1].node != "b" || ts[1].token != 2 {
			t.Fatalf("terms %+v", ts)
		}
		if gap := ts[1].began - ts[0].end; gap > longestWait+spread {
			t.Errorf("taken over after %s", gap)
		}
		h.leave(b)
	})
}

// TestH01BeliefEnds: renewals fail or hang for ever on a. It stops leading at its deadline, b
// takes over after it, and what a writes is refused.
func TestH01BeliefEnds(t *testing.T) {
	for _, hang := range []bool{false, true} {
		campaign(t, func(h *hall) {
			a := h.join("a", nil)
			synctest.Wait()
			b := h.join("b", nil)
			time.Sleep(ttl/3 + time.Second) // one renewal, sent at ttl/3
			a.set(func() { a.down, a.hang = !hang, hang })
			time.Sleep(time.Minute)
			ts := h.terms()
			if len(ts) < 2 || ts[0].node != "a" || ts[1].node != "b" {
				h.t.Fatalf("hang %v: terms %+v", hang, ts)
			}
			if ts[0].end > ttl/3+ttl || !errors.Is(ts[0].cause, ErrDeadline) {
				t.Errorf("hang %v: a stopped at %s by %v", hang, ts[0].end, ts[0].cause)
			}
			if ts[1].began < ts[0].end || ts[1].token != 2 || ts[1].end != 0 {
				t.Errorf("hang %v: b led from %s to %s, a to %s", hang, ts[1].began, ts[1].end, ts[0].end)
			}
			for range 100 {
				_, err := h.store.Apply(h.t.Context(), store.Fence{Token: ts[0].token}, nil)
				if !errors.Is(err, store.ErrFenced) {
					t.Fatalf("a write of a: %v", err)
				}
			}
			h.leave(a)
			h.leave(b)
		})
	}
}

// TestShortOutage: renewals that fail for less than the lease end nothing.
func TestShortOutage(t *testing.T) {
	campaign(t, func(h *hall) {
		a := h.join("a", nil)
		time.Sleep(time.Minute)
		a.set(func() { a.down = true })
		time.Sleep(6 * time.Second)
		a.set(func() { a.down = false })
		time.Sleep(time.Minute)
		if ts := h.terms(); len(ts) != 1 || ts[0].end != 0 {
			t.Errorf("terms %+v", ts)
		}
		h.leave(a)
	})
}

// TestBeliefCountsFromTheSending: a slow answer does not make the belief longer.
func TestBeliefCountsFromTheSending(t *testing.T) {
	campaign(t, func(h *hall) {
		a := h.join("a", nil)
		a.set(func() { a.slow = 3 * time.Second })
		time.Sleep(5 * time.Second) // a renewal is under way since ttl/3
		a.set(func() { a.slow, a.down = 0, true })
		time.Sleep(time.Minute)
		if ts := h.terms(); ts[0].end > ttl/3+ttl || ts[0].end < ttl {
			t.Errorf("belief ended at %s, the renewal was sent at %s", ts[0].end, ttl/3)
		}
		h.leave(a)
	})
}

// TestPausedCandidate: one that is paused between reading the token and asking for the lease
// cannot fence the leader elected meanwhile.
func TestPausedCandidate(t *testing.T) {
	campaign(t, func(h *hall) {
		var b *node
		a := &node{name: "a", cut: &cut{Backend: freeLease{h.store.Leases()}, Fencer: h.store}}
		a.read = func() { // b is elected while a sleeps
			b = h.join("b", nil)
			time.Sleep(time.Minute)
		}
		a.Leader = New(h.config(a, nil))
		ctx, cancel := context.WithCancel(h.t.Context())
		a.done, a.stop = make(chan error, 1), cancel
		go func() { a.done <- a.Run(ctx) }()
		time.Sleep(time.Minute + 500*time.Millisecond)
		if ts := h.terms(); len(ts) != 1 || ts[0].node != "b" || ts[0].end != 0 || ts[0].token != 1 {
			t.Errorf("terms %+v", ts)
		}
		if n, err := h.store.Token(h.t.Context(), 0); n != 1 || err != nil {
			t.Errorf("token %d, %v: the candidate fenced the leader", n, err)
		}
		h.leave(a)
		h.leave(b)
	})
}

// freeLease grants every wish, like a coordinator that lost its memory (H07).
type freeLease struct{ lease.Backend }

func (freeLease) Acquire(context.Context, int, string, time.Duration) error { return nil }

// TestLostLease: a renewal that says the lease is another's ends the term at once.
func TestLostLease(t *testing.T) {
	campaign(t, func(h *hall) {
		a := h.join("a", nil)
		time.Sleep(time.Second)
		if err := h.store.Leases().Release(h.t.Context(), 0, "a"); err != nil {
			t.Fatal(err)
		}
		b := h.join("b", nil)
		time.Sleep(ttl / 3)
		if ts := h.terms(); len(ts) != 2 || ts[0].end != ttl/3 || ts[1].node != "b" {
			t.Errorf("terms %+v", ts)
		}
		h.leave(a)
		h.leave(b)
	})
}

// TestFencedDuties: duties that end by themselves end the term; the node campaigns again.
func TestFencedDuties(t *testing.T) {
	campaign(t, func(h *hall) {
		fail := make(chan error, 1)
		a := h.join("a", fail)
		time.Sleep(time.Second)
		fail <- store.ErrFenced
		time.Sleep(10 * time.Second)
		ts := h.terms()
		if len(ts) != 2 || ts[0].end != time.Second || ts[1].token != 2 || ts[1].end != 0 {
			t.Errorf("terms %+v", ts)
		}
		h.leave(a)
	})
}

// TestT02ClockJumps: steps of the wall clock move neither renewals nor beliefs.
func TestT02ClockJumps(t *testing.T) {
	campaign(t, func(h *hall) {
		a := h.join("a", nil)
		synctest.Wait()
		b := h.join("b", nil)
		time.Sleep(time.Minute)
		h.mu.Lock()
		h.shift = -time.Hour
		h.mu.Unlock()
		before := 0
		a.set(func() { before = a.renewed })
		time.Sleep(10 * time.Minute)
		a.set(func() {
			if n := a.renewed - before; n < 178 || n > 182 {
				t.Errorf("%d renewals in ten minutes after the step", n)
			}
		})
		if ts := h.terms(); len(ts) != 1 {
			t.Errorf("terms %+v", ts)
		}
		h.leave(a)
		h.leave(b)
	})
}
