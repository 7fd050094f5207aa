package testdb

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func query[T any](t *testing.T, c *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := c.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func execute(t *testing.T, c *pgx.Conn, sql string) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func databaseOf(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/")
}

func TestEachCallGivesAnEmptyDatabaseOfItsOwn(t *testing.T) {
	a, b := connect(t, Postgres(t)), connect(t, Postgres(t))
	execute(t, a, "CREATE TABLE only_in_a (id int)")
	const tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
	if got := query[int](t, a, tables); got != 1 {
		t.Errorf("first database has %d tables, want the one just made", got)
	}
	if got := query[int](t, b, tables); got != 0 {
		t.Errorf("second database has %d tables, want none", got)
	}
}

func TestSharedServerIsNearToProduction(t *testing.T) {
	c := connect(t, Postgres(t))
	for setting, want := range map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
	} {
		if got := query[string](t, c, "SELECT current_setting($1)", setting); got != want {
			t.Errorf("%s = %s, want %s", setting, got, want)
		}
	}
}

func TestDatabaseIsDroppedWithItsTest(t *testing.T) {
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	var name string
	t.Run("user", func(t *testing.T) {
		dsn := Postgres(t)
		name = databaseOf(t, dsn)
		// Nobody closes this connection before the drop: it must not stand in its way.
		if _, err := pgx.Connect(t.Context(), dsn); err != nil {
			t.Fatal(err)
		}
	})
	left := query[int](t, connect(t, s.AdminDSN()),
		"SELECT count(*) FROM pg_database WHERE datname = $1", name)
	if left != 0 {
		t.Errorf("database %s is still there after its test", name)
	}
}

func TestOptionsReachTheServer(t *testing.T) {
	s := StartPostgres(t, Options{Fast: true, Settings: map[string]string{
		"application_name": "it's set", "max_connections": "17",
	}})
	c := connect(t, s.Database(t))
	for setting, want := range map[string]string{
		"fsync": "off", "max_connections": "17",
	} {
		if got := query[string](t, c, "SELECT current_setting($1)", setting); got != want {
			t.Errorf("%s = %s, want %s", setting, got, want)
		}
	}
	reset := query[string](t, c,
		"SELECT reset_val FROM pg_settings WHERE name = 'application_name'")
	if reset != "it's set" {
		t.Errorf("application_name = %q, want %q", reset, "it's set")
	}
	if query[bool](t, c, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") {
		t.Error("the role of a test database is a superuser")
	}
}

func TestCommitsSurviveEveryKindOfEnd(t *testing.T) {
	s := StartPostgres(t, Options{})
	dsn := s.Database(t)
	execute(t, connect(t, dsn), "CREATE TABLE seen (what text)")
	for _, end := range []struct {
		name string
		down func() error
		up   func() error
	}{
		{"kill", s.Kill, s.Start},
		{"stop", s.Stop, s.Start},
		{"restart", func() error { return nil }, s.Restart},
	} {
		c := connect(t, dsn)
		execute(t, c, "INSERT INTO seen VALUES ('"+end.name+"')")
		if err := end.down(); err != nil {
			t.Fatalf("%s: %v", end.name, err)
		}
		if err := end.up(); err != nil {
			t.Fatalf("start after %s: %v", end.name, err)
		}
		if err := c.Ping(t.Context()); err == nil {
			t.Errorf("a connection outlived %s", end.name)
		}
		got := query[int](t, connect(t, dsn),
			"SELECT count(*) FROM seen WHERE what = $1", end.name)
		if got != 1 {
			t.Errorf("after %s the committed row is there %d times", end.name, got)
		}
	}
}

func TestServerThatIsDownRefusesAndStaysDown(t *testing.T) {
	s := StartPostgres(t, Options{Fast: true})
	if err := s.Start(); err == nil {
		t.Error("a second start of a running server is no error")
	}
	for range 2 {
		if err := s.Stop(); err != nil {
			t.Fatalf("stop: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := pgx.Connect(ctx, s.DSN()); err == nil {
		t.Error("a stopped server takes connections")
	}
}

func TestForeignServer(t *testing.T) {
	own := StartPostgres(t, Options{Fast: true})
	s, err := foreignServer(own.AdminDSN())
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, s.Database(t))
	execute(t, c, "CREATE TABLE here (id int)")
	for name, verb := range map[string]func() error{
		"stop": s.Stop, "kill": s.Kill, "start": s.Start, "restart": s.Restart,
	} {
		if verb() == nil {
			t.Errorf("%s of a foreign server is no error", name)
		}
	}
	for _, dsn := range []string{"", "127.0.0.1:5432", "mysql://a:b@h/d", "postgres://h/d"} {
		_, err := foreignServer(dsn)
		if err == nil || !strings.Contains(err.Error(), dsnEnv) {
			t.Errorf("foreignServer(%q): %v, want an error that names %s", dsn, err, dsnEnv)
		}
	}
}
