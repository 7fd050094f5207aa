package leasetest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ax-sched/ax/lease"
)

func testAcquire(t *testing.T, s suite) {
	p, a, b := partition(), holder(), holder()
	for range 3 {
		s.acquire(t, p, a, long)
		if err := s.b.Release(t.Context(), p, a); err != nil {
			t.Fatal(err)
		}
		s.acquire(t, p, b, long)
		for range 2 { // the second one is harmless
			if err := s.b.Release(t.Context(), p, b); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func testHeld(t *testing.T, s suite) {
	p, a := partition(), holder()
	s.acquire(t, p, a, long)
	held := s.refused(t, p, holder(), a)
	if held.Left < 0 || held.Left > long || held.Exclusive != s.Eternal {
		t.Errorf("%+v; want at most %s left, exclusive %t", held, long, s.Eternal)
	}
	if err := s.b.Renew(t.Context(), p, a, long); err != nil {
		t.Errorf("renew after somebody else tried: %v", err)
	}
}

func testOwnAgain(t *testing.T, s suite) {
	p, a := partition(), holder()
	for range 3 {
		s.acquire(t, p, a, long)
	}
	s.refused(t, p, holder(), a)
	if err := s.b.Release(t.Context(), p, a); err != nil {
		t.Fatal(err)
	}
	s.acquire(t, p, holder(), long) // one release gives up a lease that was taken three times
}

func testRenew(t *testing.T, s suite) {
	p, a, b := partition(), holder(), holder()
	lost := func(who string) {
		t.Helper()
		if err := s.b.Renew(t.Context(), p, who, long); !errors.Is(err, lease.ErrLost) {
			t.Errorf("renew gave %v; want ErrLost", err)
		}
	}
	lost(a) // nobody holds it
	s.acquire(t, p, a, long)
	lost(b)
	if err := s.b.Renew(t.Context(), p, a, long); err != nil {
		t.Errorf("renew by the holder: %v", err)
	}
	if err := s.b.Release(t.Context(), p, a); err != nil {
		t.Fatal(err)
	}
	lost(a)
	s.acquire(t, p, b, long)
	lost(a)
	s.refused(t, p, a, b)
}

func testReleaseOfOthers(t *testing.T, s suite) {
	p, a, b := partition(), holder(), holder()
	if err := s.b.Release(t.Context(), p, b); err != nil {
		t.Errorf("release of a free lease: %v", err)
	}
	s.acquire(t, p, a, long)
	if err := s.b.Release(t.Context(), p, b); err != nil {
		t.Errorf("release of another's lease: %v", err)
	}
	s.refused(t, p, b, a)
}

func testPartitions(t *testing.T, s suite) {
	p, q, a, b := partition(), partition(), holder(), holder()
	s.acquire(t, p, a, long)
	s.acquire(t, q, b, long)
	s.refused(t, q, a, b)
	if err := s.b.Release(t.Context(), p, a); err != nil {
		t.Fatal(err)
	}
	s.refused(t, q, a, b)
}

func testCandidates(t *testing.T, s suite) {
	const n, rounds = 8, 10
	p := partition()
	for range rounds {
		var won atomic.Int32
		var winner atomic.Value
		async(n, func(int) {
			h := holder()
			err := s.b.Acquire(t.Context(), p, h, long)
			var held *lease.HeldError
			switch {
			case err == nil:
				won.Add(1)
				winner.Store(h)
			case !errors.As(err, &held):
				t.Errorf("acquire: %v", err)
			}
		})
		if won.Load() != 1 {
			t.Fatalf("%d of %d candidates won; want 1", won.Load(), n)
		}
		if err := s.b.Release(t.Context(), p, winner.Load().(string)); err != nil {
			t.Fatal(err)
		}
	}
}

// Three processes of one host and one configuration differ only by their random holder: at no
// moment do two of them hold the lease, however often it changes hands.
func testH02(t *testing.T, s suite) {
	const processes, terms = 3, 40
	p := partition()
	var leaders, elected atomic.Int32
	async(processes, func(int) {
		h := holder()
		for elected.Load() < terms {
			err := s.b.Acquire(t.Context(), p, h, long)
			var held *lease.HeldError
			if errors.As(err, &held) {
				if held.Holder == h {
					t.Errorf("the lease of %s is refused to itself", h)
				}
				continue
			}
			if err != nil {
				t.Errorf("acquire: %v", err)
				return
			}
			if n := leaders.Add(1); n != 1 {
				t.Errorf("%d leaders at one time", n)
			}
			elected.Add(1)
			if err := s.b.Renew(t.Context(), p, h, long); err != nil {
				t.Errorf("renew by the leader: %v", err)
			}
			leaders.Add(-1)
			if err := s.b.Release(t.Context(), p, h); err != nil {
				t.Errorf("release: %v", err)
			}
		}
	})
}

// A renewal reaches from now, whatever was left; without it the short lease would run out.
func testRenewKeeps(t *testing.T, s suite) {
	p, a := partition(), holder()
	s.acquire(t, p, a, short)
	if err := s.b.Renew(t.Context(), p, a, long); err != nil {
		t.Fatal(err)
	}
	if s.Advance != nil {
		s.Advance(2 * short)
	}
	held := s.refused(t, p, holder(), a)
	if !s.Eternal && held.Left != 0 && held.Left < long/2 {
		t.Errorf("%s left of a lease renewed for %s", held.Left, long)
	}
}

func testSteal(t *testing.T, s suite) {
	p, a, b := partition(), holder(), holder()
	s.acquire(t, p, a, short)
	s.acquireWhenExpired(t, p, b)
	if err := s.b.Renew(t.Context(), p, a, long); !errors.Is(err, lease.ErrLost) {
		t.Errorf("renew of a stolen lease gave %v; want ErrLost", err)
	}
	if err := s.b.Release(t.Context(), p, a); err != nil {
		t.Errorf("release of a stolen lease: %v", err)
	}
	s.refused(t, p, a, b)
	if err := s.b.Renew(t.Context(), p, b, long); err != nil {
		t.Errorf("renew by the new holder: %v", err)
	}
}

// Whether an expired lease that nobody took can be renewed is the backend's choice; the answer
// must be true.
func testRenewAfterExpiry(t *testing.T, s suite) {
	p, q, a := partition(), partition(), holder()
	s.acquire(t, p, a, short)
	s.acquire(t, q, a, short)
	s.acquireWhenExpired(t, q, holder()) // now the lease of p has expired too
	switch err := s.b.Renew(t.Context(), p, a, long); {
	case err == nil:
		s.refused(t, p, holder(), a)
	case errors.Is(err, lease.ErrLost):
		s.acquire(t, p, holder(), long)
	default:
		t.Errorf("renew after expiry: %v", err)
	}
}

// A stand-by tries again when Left has passed: it must not be longer than the lease.
func testLeft(t *testing.T, s suite) {
	p, a := partition(), holder()
	s.acquire(t, p, a, long)
	if left := s.refused(t, p, holder(), a).Left; left > long {
		t.Errorf("%s left of %s", left, long)
	}
	if err := s.b.Renew(t.Context(), p, a, 2*long); err != nil {
		t.Fatal(err)
	}
	left := s.refused(t, p, holder(), a).Left
	if left > 2*long || left != 0 && left <= long {
		t.Errorf("%s left of %s", left, 2*long)
	}
}

func testCanceled(t *testing.T, s suite) {
	p, a := partition(), holder()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.b.Acquire(ctx, p, a, long); !errors.Is(err, context.Canceled) {
		t.Errorf("acquire with a canceled context gave %v", err)
	}
	s.acquire(t, p, holder(), long) // nothing was taken
}

// Names that share a beginning, or differ in case, are different holders.
func testHolders(t *testing.T, s suite) {
	p := partition()
	a := "Node-" + strings.Repeat("x", 150)
	s.acquire(t, p, a, long)
	for _, h := range []string{a[:len(a)-1], a + "x", strings.ToLower(a), a + " "} {
		s.refused(t, p, h, a)
		if err := s.b.Renew(t.Context(), p, h, long); !errors.Is(err, lease.ErrLost) {
			t.Errorf("renew by %q gave %v; want ErrLost", h, err)
		}
	}
}
