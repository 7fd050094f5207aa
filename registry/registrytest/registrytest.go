// Package registrytest is the conformance suite of registries: what package registry promises, as
// tests.
//
//	func TestRegistry(t *testing.T) { registrytest.Run(t, registrytest.Options{}, open) }
//
// Tests that need a lease to run out use short leases and wait for the effect, or move the clock
// of a registry that has one; they never sleep for a guessed time.
package registrytest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ax-sched/ax/registry"
)

// Options say what kind of registry is tested.
type Options struct {
	// Eternal: a member's lease does not run out while its process lives, as with a lock of the
	// operating system. Until is task.MaxTime then.
	Eternal bool
	// Advance moves the registry's clock. Without it the suite waits.
	Advance func(d time.Duration)
}

type suite struct {
	Options
	r registry.Registry
}

const (
	long  = time.Hour
	short = 60 * time.Millisecond
	// patience bounds the waits of a test that has failed; good registries never use it up.
	patience = 20 * time.Second
)

// Run runs the suite. Members that others have registered in the same database do not matter.
func Run(t *testing.T, o Options, open func(t *testing.T) registry.Registry) {
	t.Helper()
	tests := map[string]func(*testing.T, suite){
		"Register":               testRegister,
		"SameInstanceAgain":      testSameInstance,
		"NewInstanceRetiresOld":  testNewInstance,
		"EpochsGrow":             testEpochsGrow,
		"ConcurrentRegister":     testConcurrent,
		"Renew":                  testRenew,
		"RetireOfALivingMember":  testRetireAlive,
		"Leave":                  testLeave,
		"RetiredInstanceReturns": testReturn,
		"UnknownEpoch":           testUnknown,
		"CanceledContext":        testCanceled,
	}
	if !o.Eternal {
		tests["Retire"] = testRetire
		tests["RenewRevives"] = testRevive
		tests["ExpiredMembersAreListed"] = testExpiredListed
		tests["RenewAgainstRetire"] = testRenewAgainstRetire
	}
	r := open(t)
	for name, run := range tests {
		t.Run(name, func(t *testing.T) { run(t, suite{Options: o, r: r}) })
	}
}

// member returns an executor that no other test knows.
func member() registry.Member {
	id := rand.Uint64()
	return registry.Member{Name: fmt.Sprintf("exec-%016x", id), Instance: instance(),
		Group: "default", Slots: 8}
}

// instance returns what a process start would: a random name.
func instance() string { return fmt.Sprintf("instance-%016x", rand.Uint64()) }

func (s suite) register(t *testing.T, m registry.Member, ttl time.Duration) int64 {
	t.Helper()
	epoch, err := s.r.Register(t.Context(), m, ttl)
	if err != nil {
		t.Fatalf("register: %v", err)
	}
	if epoch <= 0 {
		t.Fatalf("register gave epoch %d; 0 means none", epoch)
	}
	return epoch
}

// find returns the unretired member with this epoch.
func (s suite) find(t *testing.T, epoch int64) (registry.Member, bool) {
	t.Helper()
	all, err := s.r.Members(t.Context())
	if err != nil {
		t.Fatalf("members: %v", err)
	}
	var found registry.Member
	n := 0
	for _, m := range all {
		if m.Epoch == epoch {
			found = m
			n++
		}
	}
	if n > 1 {
		t.Errorf("epoch %d is listed %d times", epoch, n)
	}
	return found, n > 0
}

// gone checks that an epoch is retired: not listed, and not to be renewed.
func (s suite) gone(t *testing.T, epoch int64) {
	t.Helper()
	if m, ok := s.find(t, epoch); ok {
		t.Errorf("the retired epoch is listed: %+v", m)
	}
	if err := s.r.Renew(t.Context(), epoch, long); !errors.Is(err, registry.ErrRetired) {
		t.Errorf("renew of the retired epoch gave %v; want ErrRetired", err)
	}
}

// retireWhenExpired retires an epoch as soon as its short lease has run out.
func (s suite) retireWhenExpired(t *testing.T, epoch int64) {
	t.Helper()
	if s.Advance != nil {
		s.Advance(2 * short)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		err := s.r.Retire(ctx, epoch)
		if err == nil {
			return
		}
		if !errors.Is(err, registry.ErrAlive) {
			t.Fatalf("retire: %v", err)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("a lease of %s has not expired after %s", short, patience)
		case <-time.After(time.Millisecond):
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
