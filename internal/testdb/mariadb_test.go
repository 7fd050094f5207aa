package testdb

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"syscall"
	"testing"
)

// scan runs a query for one value in a database of MariaDB.
func scan[T any](t *testing.T, dsn, query string) (v T) {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(context.Background(), query).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

// TestMariaDB: each call gives an empty database of its own, on one server; a private server is
// another one, which comes back after Stop and Kill with its data and is gone after its test.
func TestMariaDB(t *testing.T) {
	const port, socket = "SELECT IF(@@skip_networking, 0, @@port)", "SELECT @@socket"
	a, b := MySQL(t), MySQL(t)
	if a == b || scan[string](t, a, socket) != scan[string](t, b, socket) {
		t.Errorf("databases %s and %s", a, b)
	}
	if n := scan[int](t, a, port); n != 0 && os.Getenv(mysqlEnv) == "" {
		t.Errorf("the server listens on port %d", n)
	}
	var s *MariaDB
	var pid int
	t.Run("user", func(t *testing.T) {
		s = StartMariaDB(t, Options{})
		dsn := s.Database(t)
		if scan[string](t, dsn, socket) == scan[string](t, a, socket) {
			t.Error("the private server is the shared one")
		}
		ctx := context.Background()
		for _, down := range []func() error{s.Stop, s.Kill} {
			name := scan[string](t, dsn, "SELECT database()")
			err := s.exec(ctx, "CREATE OR REPLACE TABLE "+name+".kept (n INT) SELECT 7 AS n")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(down(), down()); err != nil {
				t.Fatal(err)
			}
			if err := s.exec(ctx, "DO 1"); err == nil || s.running() {
				t.Fatal("the server answers when it is down")
			}
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
			if n := scan[int](t, dsn, "SELECT n FROM kept"); n != 7 {
				t.Errorf("the table has %d", n)
			}
		}
		if err := s.Start(); err == nil {
			t.Error("a server that runs was started")
		}
		pid = s.proc.cmd.Process.Pid
	})
	if _, err := os.Stat(s.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder after the test: %v, want that it does not exist", err)
	}
	await(t, "end of the server", func() bool {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	})
}

func TestForeignMariaDB(t *testing.T) {
	for _, dsn := range []string{"", "127.0.0.1:3306", "root@unix(/nowhere)/"} {
		if s, err := foreignMariaDB(dsn); err == nil {
			t.Errorf("%q gave %+v", dsn, s)
		}
	}
	own := StartMariaDB(t, Options{Fast: true})
	s, err := foreignMariaDB(own.admin.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	if n := scan[int](t, s.Database(t), "SELECT 1"); n != 1 {
		t.Errorf("got %d", n)
	}
	if err := errors.Join(s.Start(), s.Stop(), s.Kill()); !errors.Is(err, errForeign) {
		t.Errorf("Start, Stop and Kill of a foreign server: %v", err)
	}
	if p, err := findProgram("no-such-program", "sh"); err != nil || p == "" {
		t.Errorf("sh is at %q, %v", p, err)
	}
	if p, err := findProgram("no-such-program"); err == nil {
		t.Errorf("no-such-program is at %q", p)
	}
}
