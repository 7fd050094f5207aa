// Package schema makes the tables of ax in a SQLite file, and compares a file with them.
package schema

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/internal/sqlstore"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
)

// applicationID marks the file as one of ax: "ax1\x00" read as a number.
const applicationID = 0x61783100

// Schema is what the migrations of a program make.
type Schema struct {
	all []sqlstore.Migration
	// Shared: the file may have other tables than those of ax, and keeps its application id.
	Shared bool
	// Keep: the schema is left as it is.
	Keep bool
}

// Load reads the steps from the folder migrations of files.
func Load(files fs.FS) (Schema, error) {
	all, err := sqlstore.Load(files, "migrations")
	return Schema{all: all}, err
}

// Check returns the error that Bring would give, if it can be seen before anything is written: the
// file is damaged or not one of ax (store.ErrDamaged), or of the wrong version.
func (s Schema) Check(c *lite.Conn) error {
	version, err := s.installed(c)
	if err == nil {
		_, err = sqlstore.Check(s.all, version, s.Keep)
	}
	return err
}

// Bring brings the schema to the latest version. Another process that does the same waits for the
// lock. The time is noted for a reader.
func (s Schema) Bring(c *lite.Conn, now int64) error {
	return sqlstore.Database{
		Installed: func() (int, error) { return s.installed(c) },
		Alone:     func(f func() error) error { return alone(c, f) },
		Run:       func(m sqlstore.Migration) error { return s.step(c, m, now) },
	}.Bring(s.all, s.Keep)
}

// alone runs f in a write transaction.
func alone(c *lite.Conn, f func() error) error {
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := f(); err != nil {
		_ = c.Exec("ROLLBACK") // the first error is the one that says what is wrong
		return err
	}
	return c.Exec("COMMIT")
}

func (s Schema) step(c *lite.Conn, m sqlstore.Migration, now int64) error {
	if err := c.Exec(m.SQL); err != nil {
		return err
	}
	if m.Version == 1 && !s.Shared {
		if err := c.Exec(claim()); err != nil {
			return err
		}
	}
	return c.Exec(note(m.Version) + fmt.Sprintf(`;
INSERT OR REPLACE INTO ax_meta (name, value) VALUES ('changed_at', '%d')`, now))
}

func claim() string { return fmt.Sprintf("PRAGMA application_id = %d", applicationID) }

func note(version int) string {
	return fmt.Sprintf("INSERT OR REPLACE INTO ax_meta (name, value) VALUES ('schema', '%d')",
		version)
}

// installed returns the version of the schema, 0 of an empty file and of a shared one without
// tables of ax, or store.ErrDamaged.
func (s Schema) installed(c *lite.Conn) (int, error) {
	app, err := number(c, "PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	tables, err := number(c, "SELECT count(*) FROM sqlite_schema")
	switch {
	case err != nil:
		return 0, err
	case app == 0 && tables == 0:
		return 0, nil
	case app != applicationID && !s.Shared:
		inside, err := number(c, "SELECT count(*) FROM sqlite_schema "+
			"WHERE type = 'table' AND (name = 'ax_meta' OR name = 'ax_tasks')")
		if err != nil || inside == 2 { // a shared file, and nothing has to be added to it
			break
		}
		return 0, fmt.Errorf("%w: application id %#x, %d schema entries; if it is a file "+
			"of your own, sqlite.Shared adds the tables of ax, and so does what \"ax migrate dump "+
			"--db sqlite:\" prints", store.ErrDamaged, app, tables)
	}
	if s.Shared {
		ours, err := number(c,
			"SELECT count(*) FROM sqlite_schema WHERE substr(name, 1, 3) = 'ax_'")
		if err != nil || ours == 0 {
			return 0, err
		}
	}
	return noted(c)
}

// noted reads the version that the last step has noted.
func noted(c *lite.Conn) (int, error) {
	text, found := "", false
	err := each(c, "SELECT value FROM ax_meta WHERE name = 'schema'", func(q *lite.Stmt) {
		text, found = q.ColText(0), true
	})
	if err != nil || !found {
		return 0, fmt.Errorf("%w: no schema version: %w", store.ErrDamaged, err)
	}
	version, err := strconv.Atoi(text)
	if err != nil || version < 1 {
		return 0, fmt.Errorf("%w: schema version %q", store.ErrDamaged, text)
	}
	return version, nil
}

// Version compares the schema of a file with what the program knows, whatever it is.
func (s Schema) Version(c *lite.Conn) (v store.SchemaVersion, err error) {
	v.Newest = len(s.all)
	v.Installed, err = s.installed(c)
	return v, err
}

// Script returns what makes the steps after a version by hand; "" if there are none.
func (s Schema) Script(from int, pageSize int) (string, error) {
	todo, err := sqlstore.Plan(s.all, from)
	if err != nil || len(todo) == 0 {
		return "", err
	}
	var b strings.Builder
	if from == 0 {
		fmt.Fprintf(&b, "PRAGMA page_size = %d;\n%s;\n", pageSize, claim())
	}
	b.WriteString("BEGIN IMMEDIATE;\n")
	for _, m := range todo {
		fmt.Fprintf(&b, "\n-- %04d_%s\n%s\n%s;\n", m.Version, m.Name, strings.TrimSpace(m.SQL),
			note(m.Version))
	}
	b.WriteString("\nCOMMIT;\n")
	return b.String(), nil
}

// number runs a query for one number.
func number(c *lite.Conn, query string) (n int64, err error) {
	err = each(c, query, func(q *lite.Stmt) { n = q.ColInt(0) })
	return n, err
}

// each calls read for each row of a query.
func each(c *lite.Conn, query string, read func(*lite.Stmt)) error {
	q, err := c.Stmt(query)
	if err != nil {
		return err
	}
	defer q.Reset()
	for {
		more, err := q.Step()
		if err != nil || !more {
			return err
		}
		read(q)
	}
}
