package testdb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// dsnEnv names the variable that points the tests at a server of one's own.
const dsnEnv = "AX_TEST_POSTGRES_DSN"

// shared is the server that all tests of one binary use, started by the first that asks.
// A failure to start is kept too, so that the tests after the first do not wait for it again.
var shared = sync.OnceValues(func() (*Server, error) {
	if dsn := os.Getenv(dsnEnv); dsn != "" {
		return foreignServer(dsn)
	}
	return newServer(Options{})
})

// Postgres returns the URL of a new, empty database on the server that the tests of this
// binary share. The role in it owns the database and is not a superuser. The database is
// dropped when the test ends. The test fails if there is no PostgreSQL.
func Postgres(tb testing.TB) string {
	tb.Helper()
	s, err := shared()
	if err != nil {
		tb.Fatalf("PostgreSQL for tests: %v", err)
	}
	return s.Database(tb)
}

// StartPostgres starts a server for this test alone. It is stopped, and its folder removed,
// when the test ends.
func StartPostgres(tb testing.TB, o Options) *Server {
	tb.Helper()
	s, err := newServer(o)
	if err != nil {
		tb.Fatalf("PostgreSQL for this test: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.end(syscall.SIGQUIT); err != nil {
			tb.Errorf("end of PostgreSQL: %v", err)
		}
	})
	return s
}

// Database creates an empty database on s and returns its URL. It is dropped when the test
// ends, connections to it or not, if the server is up then.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	name := "ax_" + strings.ToLower(rand.Text()[:12])
	if err := s.createDatabase(tb.Context(), name); err != nil {
		tb.Fatalf("create database: %v", err)
	}
	tb.Cleanup(func() {
		// The context of the test has ended by now.
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		err := s.exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
		if err != nil && s.running() {
			tb.Errorf("drop database: %v", err)
		}
	})
	return withDatabase(s.dsn, name)
}

// createDatabase makes a database from template0, which nobody can be connected to: with
// template1 two creations at once get in each other's way.
func (s *Server) createDatabase(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	u, err := url.Parse(s.dsn)
	if err != nil {
		return err
	}
	owner := pgx.Identifier{u.User.Username()}.Sanitize()
	return s.exec(ctx, "CREATE DATABASE "+name+" TEMPLATE template0 OWNER "+owner)
}

// exec runs one statement as the superuser, on a connection of its own.
func (s *Server) exec(ctx context.Context, sql string) error {
	c, err := pgx.Connect(ctx, s.adminDSN)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, sql)
	return errors.Join(err, c.Close(ctx))
}

// foreignServer takes a server that somebody else runs.
func foreignServer(dsn string) (*Server, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.User == nil {
		return nil, fmt.Errorf("%s: want postgres://USER:PASSWORD@HOST:PORT/DATABASE", dsnEnv)
	}
	s := &Server{dsn: dsn, adminDSN: dsn}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := s.exec(ctx, "SELECT 1"); err != nil {
		return nil, fmt.Errorf("%s: %w", dsnEnv, err)
	}
	return s, nil
}

func withDatabase(dsn, name string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn // newServer and foreignServer made or checked it
	}
	u.Path = "/" + name
	return u.String()
}

// startTimeout bounds every wait for a server. It is generous: a loaded machine with two cores
// needs seconds for what takes a moment on an idle one.
const startTimeout = 60 * time.Second
