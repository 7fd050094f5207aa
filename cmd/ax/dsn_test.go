package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestDSN(t *testing.T) {
	for dsn, want := range map[string]database{
		"sqlite:ax.db":              {path: "ax.db"},
		"sqlite:./a/../b.db":        {path: "b.db"},
		"sqlite:/var/x.db":          {path: "/var/x.db"},
		"sqlite:///var/x.db":        {path: "/var/x.db"},
		"sqlite:C:x.db":             {path: "C:x.db"},
		"postgres://u:p@h:5432/n":   {url: "postgres://u:p@h:5432/n"},
		"postgresql://h/n?a=b#frag": {url: "postgresql://h/n?a=b#frag"},
		"mysql://u:p@h:3306/n":      {url: "mysql://u:p@h:3306/n"},
		"mariadb://u@h/n":           {url: "mariadb://u@h/n"},
	} {
		if got, err := parseDSN(dsn); err != nil || got != want {
			t.Errorf("%s: %+v, error %v; want %+v", dsn, got, err, want)
		}
	}
}

// TestPasswordsAreNotPrinted: neither in the name of a database nor in an error.
func TestPasswordsAreNotPrinted(t *testing.T) {
	for _, dsn := range []string{"postgres://u:secret@h/n", "postgres://u@h/n?password=secret",
		"postgresql://u:secret@h:5432/n?sslmode=disable", "mysql://u:secret@h/n"} {
		db, err := parseDSN(dsn)
		if err != nil || strings.Contains(db.String(), "secret") || !strings.Contains(db.String(), "u") {
			t.Errorf("%s prints as %s, error %v", dsn, db, err)
		}
	}
	for _, dsn := range []string{"postgres:secret", "postgres://u:secret@h:port/n", "mysql:secret",
		"mysql://u:secret@h:port/n"} {
		if _, err := parseDSN(dsn); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v", dsn, err)
		}
	}
	// Nothing listens on port 1.
	for _, dsn := range []string{"postgres://u:secret@127.0.0.1:1/n?connect_timeout=5",
		"mysql://u:secret@127.0.0.1:1/n"} {
		r := runAx(t, "", "tasks", "list", "--db", dsn)
		if r.code != 1 || strings.Contains(r.errs, "secret") ||
			!strings.Contains(r.errs, "127.0.0.1") {
			t.Errorf("%s: %+v", dsn, r)
		}
	}
}

func TestDefaultDatabase(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	path, err := defaultPath()
	if err != nil || path != "/var/lib/ax/ax.db" && path != filepath.Join(state, "ax", "ax.db") {
		t.Errorf("%q, error %v", path, err)
	}
}

// TestEnvironmentOfFlags: most flags have a variable each, and the flag wins.
func TestEnvironmentOfFlags(t *testing.T) {
	dir := t.TempDir()
	fillDatabase(t, filepath.Join(dir, "ax.db"))
	t.Setenv("AX_DB", "sqlite:ax.db")
	t.Setenv("AX_LIMIT", "1")
	if r := runAx(t, dir, "tasks", "list", "--kind", "mail"); r.code != 0 ||
		strings.Count(r.out, "mail") != 1 {
		t.Errorf("%+v", r)
	}
	if r := runAx(t, dir, "tasks", "list", "--kind", "mail", "--limit", "5"); r.code != 0 ||
		strings.Count(r.out, "mail") != 2 {
		t.Errorf("%+v", r)
	}
	t.Setenv("AX_LIMIT", "many")
	if r := runAx(t, dir, "tasks", "list"); r.code != 2 || !strings.Contains(r.errs, "AX_LIMIT") {
		t.Errorf("%+v", r)
	}
}

// TestHelpListsTheCommands at the top.
func TestHelpListsTheCommands(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"-h"}} {
		r := runAx(t, "", args...)
		for _, want := range []string{"  dev ", "  run ", "  cron next ", "  cron explain ",
			"  tasks list ", "  tasks show ", "  tasks cancel ", "  version ", "AX_DB", "2 wrong use"} {
			if r.code != 0 || !strings.Contains(r.out, want) {
				t.Errorf("%q: no %q in %+v", args, want, r)
			}
		}
	}
}
