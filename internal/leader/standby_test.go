package leader

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/lease"
)

// locked is a lease that belongs to another process while it lives.
type locked struct {
	lease.Backend
	until time.Time // when that process ends
}

func (l locked) Acquire(ctx context.Context, p int, holder string, d time.Duration) error {
	if time.Now().Before(l.until) {
		return &lease.HeldError{Holder: "process 4711", Exclusive: true}
	}
	return l.Backend.Acquire(ctx, p, holder, d)
}

// TestExclusiveLease: a lock of the operating system that another process holds for more than
// 10 s is an error that names it; one that is freed before that is waited for.
func TestExclusiveLease(t *testing.T) {
	for _, lives := range []time.Duration{0, 9 * time.Second, time.Hour} {
		campaign(t, func(h *hall) {
			n := &node{name: "a", cut: &cut{Fencer: h.store,
				Backend: locked{h.store.Leases(), h.start.Add(lives)}}, done: make(chan error, 1)}
			n.Leader = New(h.config(n, nil))
			ctx, cancel := context.WithCancel(h.t.Context())
			n.stop = cancel
			time.Sleep(time.Millisecond)
			go func() { n.done <- n.Run(ctx) }()
			if lives == time.Hour {
				err := <-n.done
				if !errors.Is(err, lease.ErrLocked) || time.Since(h.start) > 12*time.Second ||
					time.Since(h.start) < lockedLimit {
					t.Errorf("%v after %s", err, time.Since(h.start))
				}
				cancel()
				return
			}
			time.Sleep(lives + time.Second)
			if ts := h.terms(); len(ts) != 1 || ts[0].began > lives+700*time.Millisecond {
				t.Errorf("the other lives %s: terms %+v", lives, ts)
			}
			h.leave(n)
		})
	}
}

// TestCrashedLeader: a leader that dies without a word is followed within its lease and the
// spread of stand-bys, by one of them only.
func TestCrashedLeader(t *testing.T) {
	campaign(t, func(h *hall) {
		// The dead one: it took the lease and was never heard of again.
		if err := h.store.Leases().Acquire(h.t.Context(), 0, "dead", ttl); err != nil {
			t.Fatal(err)
		}
		var ns []*node
		for _, name := range []string{"a", "b", "c"} {
			ns = append(ns, h.join(name, nil))
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		ts := h.terms()
		if len(ts) != 1 || ts[0].began < ttl || ts[0].began > ttl+2*time.Second {
			t.Errorf("terms %+v", ts)
		}
		for _, n := range ns {
			h.leave(n)
		}
	})
}

// TestH02Churn: nodes come and go; there is never a second leader at the same time, and tokens
// only grow.
func TestH02Churn(t *testing.T) {
	campaign(t, func(h *hall) {
		for i := range 60 {
			a := h.join("same host/"+string(rune('a'+i%26))+string(rune('a'+i/26)), nil)
			time.Sleep(5 * time.Second)
			b := h.join("same host/next"+string(rune('a'+i)), nil)
			time.Sleep(5 * time.Second)
			h.leave(a)
			h.leave(b)
		}
		ts := h.terms()
		if len(ts) < 60 {
			t.Errorf("%d terms", len(ts))
		}
		for i := 1; i < len(ts); i++ {
			if ts[i].began < ts[i-1].end || ts[i].token <= ts[i-1].token {
				t.Errorf("after %+v came %+v", ts[i-1], ts[i])
			}
		}
	})
}

// TestStoreAway: without a store the candidate asks about once a second, and leads when it is back.
func TestStoreAway(t *testing.T) {
	campaign(t, func(h *hall) {
		asked := 0
		n := &node{name: "a", cut: &cut{Backend: h.store.Leases(), Fencer: h.store},
			done: make(chan error, 1)}
		cfg := h.config(n, nil)
		cfg.Lease = away{h.store.Leases(), h.start.Add(time.Minute), &asked}
		n.Leader = New(cfg)
		ctx, cancel := context.WithCancel(h.t.Context())
		n.stop = cancel
		go func() { n.done <- n.Run(ctx) }()
		time.Sleep(63 * time.Second)
		if ts := h.terms(); len(ts) != 1 || ts[0].began > 62*time.Second {
			t.Errorf("terms %+v", ts)
		}
		h.leave(n)
		if asked < 30 || asked > 70 {
			t.Errorf("asked %d times in a minute", asked)
		}
	})
}

// away is a backend that does not answer for a while.
type away struct {
	lease.Backend
	until time.Time
	asked *int
}

func (a away) Acquire(ctx context.Context, p int, holder string, d time.Duration) error {
	if *a.asked++; time.Now().Before(a.until) {
		return errDown
	}
	return a.Backend.Acquire(ctx, p, holder, d)
}
