package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/lease/leasetest"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/registry/registrytest"
	"github.com/ax-sched/ax/store/sqlite"
	"github.com/ax-sched/ax/store/storetest"
)

func TestConformance(t *testing.T) { storetest.Run(t, openFull) }

func TestOracle(t *testing.T) { storetest.RunOracle(t, openFull, storetest.Sequences(300)) }

func TestLeases(t *testing.T) {
	leasetest.Run(t, leasetest.Options{Eternal: true}, func(t *testing.T) lease.Backend {
		return openFull(t).Leases()
	})
}

func TestRegistry(t *testing.T) {
	registrytest.Run(t, registrytest.Options{Eternal: true}, func(t *testing.T) registry.Registry {
		return openFull(t).Registry()
	})
}

func openFull(t *testing.T) storetest.Full { return open(t, filepath.Join(t.TempDir(), "ax.db")) }

// open opens a file for the length of a test.
func open(t testing.TB, path string, opts ...sqlite.Option) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(path, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
