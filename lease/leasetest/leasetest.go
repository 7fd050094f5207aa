// Package leasetest is the conformance suite of lease backends: what package lease promises, as
// tests.
//
//	func TestLeases(t *testing.T) { leasetest.Run(t, leasetest.Options{}, open) }
//
// Tests that need a lease to run out use short leases and wait for the effect, or move the clock
// of a backend that has an Advance method; they never sleep for a guessed time.
package leasetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ax-sched/ax/lease"
)

// Options say what kind of backend is tested.
type Options struct {
	// Eternal: a lease does not run out while its holder's process lives, as with a lock of the
	// operating system.
	Eternal bool
	// Advance moves the backend's clock. Without it the suite waits.
	Advance func(d time.Duration)
}

// suite is what the tests of one backend share. Partitions and holders are its own.
type suite struct {
	Options
	b lease.Backend
}

const (
	long  = time.Hour
	short = 60 * time.Millisecond
	// patience bounds the waits of a test that has failed; good backends never use it up.
	patience = 20 * time.Second
)

var partitions atomic.Int32

func partition() int { return 100 + int(partitions.Add(1)) }

// holder returns what a process start would: a random name.
func holder() string { return fmt.Sprintf("node-%016x", rand.Uint64()) }

// Run runs the suite. The backends that open returns may share one database.
func Run(t *testing.T, o Options, open func(t *testing.T) lease.Backend) {
	t.Helper()
	tests := map[string]func(*testing.T, suite){
		"AcquireAndRelease":       testAcquire,
		"HeldByAnother":           testHeld,
		"OwnAgain":                testOwnAgain,
		"Renew":                   testRenew,
		"ReleaseOfOthers":         testReleaseOfOthers,
		"PartitionsAreApart":      testPartitions,
		"OneOfManyCandidates":     testCandidates,
		"H02 random holders":      testH02,
		"RenewKeepsOthersOut":     testRenewKeeps,
		"CanceledContext":         testCanceled,
		"Look":                    testLook,
		"HoldersAreComparedWhole": testHolders,
	}
	if !o.Eternal {
		tests["ExpiryAndSteal"] = testSteal
		tests["RenewAfterExpiry"] = testRenewAfterExpiry
		tests["LeftIsTrue"] = testLeft
		tests["LookAfterExpiry"] = testLookExpired
	}
	b := open(t)
	for name, run := range tests {
		t.Run(name, func(t *testing.T) { run(t, suite{Options: o, b: b}) })
	}
}

// acquire takes a lease that must be free.
func (s suite) acquire(t *testing.T, p int, h string, ttl time.Duration) {
	t.Helper()
	if err := s.b.Acquire(t.Context(), p, h, ttl); err != nil {
		t.Fatalf("acquire by %s: %v", h, err)
	}
}

// refused checks that a lease is held by somebody.
func (s suite) refused(t *testing.T, p int, h, by string) *lease.HeldError {
	t.Helper()
	var held *lease.HeldError
	if err := s.b.Acquire(t.Context(), p, h, long); !errors.As(err, &held) {
		t.Fatalf("acquire of a held lease gave %v; want a HeldError", err)
	}
	if held.Holder != by {
		t.Errorf("the lease is held by %q; want %q", held.Holder, by)
	}
	return held
}

// acquireWhenExpired takes a lease as soon as a short one has run out.
func (s suite) acquireWhenExpired(t *testing.T, p int, h string) {
	t.Helper()
	if s.Advance != nil {
		s.Advance(2 * short)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		err := s.b.Acquire(ctx, p, h, long)
		var held *lease.HeldError
		if err == nil {
			return
		}
		if !errors.As(err, &held) {
			t.Fatalf("acquire of an expired lease: %v", err)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("a lease of %s has not expired after %s", short, patience)
		case <-time.After(max(held.Left, time.Millisecond)):
		}
	}
}

// async runs n calls at the same time and waits for them.
func async(n int, fn func(i int)) {
	begin, done := make(chan struct{}), make(chan struct{})
	for i := range n {
		go func() {
			defer func() { done <- struct{}{} }()
			<-begin
			fn(i)
		}()
	}
	close(begin)
	for range n {
		<-done
	}
}
