package leader

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
)

// TestDutiesThatFailAtOnce: a term whose duties end with an error is not begun again in a hot
// loop (O07).
func TestDutiesThatFailAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		base := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		terms := 0
		l := New(Config{Lease: st.Leases(), Store: st, Holder: "a", TTL: 10 * time.Second,
			Since: func() time.Duration { return time.Since(base) },
			Rand:  func() float64 { return 0.5 }, Spawn: func(f func()) { go f() },
			Lead: func(context.Context, store.Fence) <-chan error {
				done := make(chan error, 1)
				done <- errors.New("a part panicked")
				if terms++; terms == 10_000 {
					cancel()
				}
				return done
			}, Failed: func(error) {}})
		time.AfterFunc(time.Minute, cancel)
		l.Run(ctx)
		if terms > 100 {
			t.Errorf("%d terms in %v", terms, time.Since(base))
		}
	})
}

// deaf is a backend whose renewal hangs and does not look at its context.
type deaf struct {
	lease.Backend
	hang chan struct{}
}

func (d deaf) Renew(context.Context, int, string, time.Duration) error { <-d.hang; return nil }

// TestBeliefEndsWhileRenewalHangs: belief ends at the deadline, also if the backend does not
// return (H01).
func TestBeliefEndsWhileRenewalHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		base := time.Now()
		var ended atomic.Int64
		hang := make(chan struct{})
		l := New(Config{Lease: deaf{st.Leases(), hang}, Store: st, Holder: "a", TTL: 10 * time.Second,
			Since: func() time.Duration { return time.Since(base) },
			Rand:  func() float64 { return 0.5 }, Spawn: func(f func()) { go f() },
			Lead: func(ctx context.Context, _ store.Fence) <-chan error {
				done := make(chan error, 1)
				go func() {
					<-ctx.Done()
					ended.CompareAndSwap(0, int64(time.Since(base)))
					done <- ctx.Err()
				}()
				return done
			}, Failed: func(error) {}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		time.Sleep(time.Minute)
		if d := time.Duration(ended.Load()); d == 0 || d > 10*time.Second {
			t.Errorf("the duties ended %v after the lease was taken (0: never), TTL 10s", d)
		}
		cancel()
		close(hang)
		<-done
	})
}
