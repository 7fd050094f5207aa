package main

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/ax-sched/ax/internal/demo"
	"github.com/ax-sched/ax/internal/testdb"
	"github.com/go-sql-driver/mysql"
)

// mysqlURL is what a person gives with --db for a database of the tests.
func mysqlURL(t *testing.T) string {
	t.Helper()
	cfg, err := mysql.ParseDSN(testdb.MySQL(t))
	if err != nil {
		t.Fatal(err)
	}
	u := url.URL{Scheme: "mysql", User: url.UserPassword(cfg.User, cfg.Passwd), Host: cfg.Addr,
		Path: "/" + cfg.DBName}
	if cfg.Net == "unix" {
		u.Host, u.RawQuery = "localhost", url.Values{"socket": {cfg.Addr}}.Encode()
	}
	return u.String()
}

// TestDevOnMySQL plays the demo on a server.
func TestDevOnMySQL(t *testing.T) {
	t.Parallel()
	dsn := mysqlURL(t)
	r := runAx(t, "", "dev", "--for", "3s", "--json", "--db", dsn)
	var s demo.Summary
	if err := json.Unmarshal([]byte(r.out), &s); err != nil || r.code != 0 || !s.OK {
		t.Fatalf("%v, %+v", err, r)
	}
	if ts := tasksOf(t, dsn, "--state", "succeeded"); len(ts) == 0 {
		t.Errorf("no tasks; summary %+v", s)
	}
	if r := runAx(t, "", "doctor", "--db", dsn); r.code != 0 {
		t.Errorf("doctor: %+v", r)
	}
}

// TestMigrateMySQL: up and status tell the same, nobody migrates by the way, and the script is one
// for the client of the server.
func TestMigrateMySQL(t *testing.T) {
	t.Parallel()
	dsn := mysqlURL(t)
	if r := runAx(t, "", "tasks", "list", "--db", dsn); r.code != 1 ||
		!strings.Contains(r.errs, "migrate up") {
		t.Errorf("tasks of an empty database: %+v", r)
	}
	for _, command := range []string{"status", "up", "status"} {
		r := runAx(t, "", "migrate", command, "--json", "--db", dsn)
		var s schemaJSON
		if err := json.Unmarshal([]byte(r.out), &s); err != nil || r.code != 0 ||
			s.Installed+s.Pending != s.Newest {
			t.Errorf("%s: %v, %+v", command, err, r)
		}
	}
	r := runAx(t, "", "migrate", "dump", "--db", "mysql:")
	if r.code != 0 || !strings.Contains(r.out, "ENGINE = InnoDB") {
		t.Errorf("%+v", r)
	}
	if r := runAx(t, "", "migrate", "dump", "--db", "mysql:", "--schema", "ax"); r.code != 2 {
		t.Errorf("%+v", r)
	}
}
