package mysql_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/ax-sched/ax/internal/testdb"
	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/lease/leasetest"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/registry/registrytest"
	"github.com/ax-sched/ax/store/mysql"
	"github.com/ax-sched/ax/store/storetest"
)

func open(t *testing.T) storetest.Full { return openStore(t, testdb.MySQL(t)) }

// openStore opens a store and closes it when the test ends.
func openStore(t testing.TB, dsn string, opts ...mysql.Option) *mysql.Store {
	t.Helper()
	s, err := mysql.Open(t.Context(), dsn, opts...)
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

// handle is a program's own way to the database.
func handle(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// openOver makes a store over a handle, as a program that has one does.
func openOver(t *testing.T) storetest.Full {
	db := handle(t, testdb.MySQL(t))
	db.SetMaxOpenConns(8)
	s, err := mysql.New(context.WithoutCancel(t.Context()), db, mysql.TablePrefix("svc_"))
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

func TestConformance(t *testing.T) { storetest.Run(t, open) }

func TestConformanceOverHandle(t *testing.T) { storetest.Run(t, openOver) }

func TestOracle(t *testing.T) { storetest.RunOracle(t, open, storetest.Sequences(100)) }

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

func TestTx(t *testing.T) {
	storetest.RunTx(t, func(t *testing.T) (storetest.Full, storetest.Begin) {
		dsn := testdb.MySQL(t)
		db := handle(t, dsn)
		return openStore(t, dsn), func(t *testing.T) storetest.CallerTx {
			tx := begin(t, db)
			return storetest.CallerTx{Tx: tx, Commit: tx.Commit, Rollback: tx.Rollback}
		}
	})
}

func begin(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(context.WithoutCancel(t.Context()), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() }) // mostly it has ended
	return tx
}
