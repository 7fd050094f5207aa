package leasetest

import (
	"context"
	"errors"
	"testing"

	"github.com/ax-sched/ax/lease"
)

// look asks who holds a lease. A backend without the ability is left alone: Redis and etcd may
// have no word for it.
func (s suite) look(t *testing.T, p int) lease.Holding {
	t.Helper()
	h, err := s.b.(lease.Looker).Look(t.Context(), p)
	if err != nil {
		t.Fatalf("look: %v", err)
	}
	return h
}

// testLook: looking tells who holds the lease, and neither takes nor extends it.
func testLook(t *testing.T, s suite) {
	if _, ok := s.b.(lease.Looker); !ok {
		return
	}
	p, a := partition(), holder()
	if h := s.look(t, p); h.Held() || h.Holder != "" {
		t.Errorf("nobody has ever held it: %+v", h)
	}
	s.acquire(t, p, a, long)
	h := s.look(t, p)
	if !h.Held() || h.Holder != a || h.Exclusive != s.Eternal || h.Left > long {
		t.Errorf("held by %s: %+v", a, h)
	}
	if err := s.b.Renew(t.Context(), p, a, long); err != nil {
		t.Errorf("renew after a look: %v", err)
	}
	if err := s.b.Release(t.Context(), p, a); err != nil {
		t.Fatal(err)
	}
	if h := s.look(t, p); h.Held() {
		t.Errorf("after the release: %+v", h)
	}
	s.acquire(t, p, holder(), long) // nothing was taken
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if h, err := s.b.(lease.Looker).Look(ctx, p); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled context gave %+v, %v", h, err)
	}
}

// testLookExpired: a lease that has run out is not held, and still says whose it was.
func testLookExpired(t *testing.T, s suite) {
	if _, ok := s.b.(lease.Looker); !ok {
		return
	}
	p, q, a := partition(), partition(), holder()
	s.acquire(t, p, a, short)
	s.acquire(t, q, a, short)
	s.acquireWhenExpired(t, q, holder()) // now the lease of p has expired too
	if h := s.look(t, p); h.Held() || h.Holder != a || h.Left > 0 {
		t.Errorf("expired: %+v", h)
	}
}
