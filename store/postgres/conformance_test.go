package postgres_test

import (
	"context"
	"testing"

	"github.com/ax-sched/ax/internal/testdb"
	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/lease/leasetest"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/registry/registrytest"
	"github.com/ax-sched/ax/store/postgres"
	"github.com/ax-sched/ax/store/storetest"
	"github.com/jackc/pgx/v5/pgxpool"
)

func open(t *testing.T) storetest.Full { return openStore(t, testdb.Postgres(t)) }

// openFast returns an open function on a server that skips what only a crash needs.
func openFast(t *testing.T, params string) func(t *testing.T) storetest.Full {
	server := testdb.StartPostgres(t, testdb.Options{Fast: true})
	return func(t *testing.T) storetest.Full {
		return openStore(t, server.Database(t)+params)
	}
}

// openStore opens a store and closes it when the test ends.
func openStore(t testing.TB, dsn string, opts ...postgres.Option) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn, opts...)
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

// openOver makes a store over a pool, as a program that has one does.
func openOver(t *testing.T, dsn string) storetest.Full {
	pool, err := pgxpool.New(context.WithoutCancel(t.Context()), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s, err := postgres.New(t.Context(), pool)
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

func TestConformance(t *testing.T) { storetest.Run(t, openFast(t, "")) }

func TestConformanceOverPool(t *testing.T) {
	server := testdb.StartPostgres(t, testdb.Options{Fast: true})
	storetest.Run(t, func(t *testing.T) storetest.Full { return openOver(t, server.Database(t)) })
}

func TestConformanceWithoutPreparedStatements(t *testing.T) {
	storetest.Run(t, openFast(t, "&default_query_exec_mode=exec"))
}

func TestOracle(t *testing.T) { storetest.RunOracle(t, openFast(t, ""), storetest.Sequences(100)) }

func TestLeases(t *testing.T) {
	leasetest.Run(t, leasetest.Options{}, func(t *testing.T) lease.Backend {
		return open(t).Leases()
	})
}

func TestRegistry(t *testing.T) {
	registrytest.Run(t, registrytest.Options{}, func(t *testing.T) registry.Registry {
		return open(t).Registry()
	})
}
