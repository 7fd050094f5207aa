package memory_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/lease/leasetest"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/registry/registrytest"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/store/storetest"
	"github.com/ax-sched/ax/task"
)

func TestConformance(t *testing.T) { storetest.Run(t, open) }

func TestConformanceFrozenClock(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Full { return openFrozen(t) })
}

// The store against itself: this tests the suite.
func TestOracle(t *testing.T) { storetest.RunOracle(t, open, storetest.Sequences(300)) }

func TestLeases(t *testing.T) {
	t.Run("host clock", func(t *testing.T) {
		leasetest.Run(t, leasetest.Options{}, func(t *testing.T) lease.Backend {
			return open(t).Leases()
		})
	})
	t.Run("moved clock", func(t *testing.T) {
		s := openFrozen(t)
		leasetest.Run(t, leasetest.Options{Advance: s.Advance},
			func(*testing.T) lease.Backend { return s.Leases() })
	})
}

func TestRegistry(t *testing.T) {
	t.Run("host clock", func(t *testing.T) {
		registrytest.Run(t, registrytest.Options{}, func(t *testing.T) registry.Registry {
			return open(t).Registry()
		})
	})
	t.Run("moved clock", func(t *testing.T) {
		s := openFrozen(t)
		registrytest.Run(t, registrytest.Options{Advance: s.Advance},
			func(*testing.T) registry.Registry { return s.Registry() })
	})
}

func open(t *testing.T) storetest.Full {
	s := memory.New(memory.Options{})
	closeLater(t, s)
	return s
}

func closeLater(t *testing.T, s *memory.Store) {
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// frozen is a store whose clock stands still unless it is moved.
type frozen struct {
	*memory.Store
	at *atomic.Int64
}

func openFrozen(t *testing.T) frozen {
	var at atomic.Int64
	at.Store(1_800_000_000_000_001)
	s := memory.New(memory.Options{Now: func() task.Time { return task.Time(at.Load()) }})
	closeLater(t, s)
	return frozen{s, &at}
}

func (f frozen) Advance(d time.Duration) { f.at.Add(d.Microseconds()) }
