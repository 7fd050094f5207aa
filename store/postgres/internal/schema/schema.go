// Package schema finds and makes the tables of ax in a PostgreSQL database, and compares a database
// with them.
package schema

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/internal/sqlstore"
	"github.com/ax-sched/ax/task"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Schema is what the migrations of a program make, and where.
type Schema struct {
	all []sqlstore.Migration
	// Name is the schema in which the tables lie; Find sets it.
	Name string
	// Keep: the tables are left as they are.
	Keep bool
}

// Load reads the steps from the folder migrations of files.
func Load(files fs.FS) (*Schema, error) {
	all, err := sqlstore.Load(files, "migrations")
	return &Schema{all: all}, err
}

// Quoted returns the name as it is written in SQL.
func (s *Schema) Quoted() string { return pgx.Identifier{s.Name}.Sanitize() }

// Find settles the schema, "" for the first of the search_path that exists, and refuses a server
// that cannot be written.
func (s *Schema) Find(ctx context.Context, c *pgx.Conn, name string) error {
	var readOnly, exists bool
	var found *string
	err := c.QueryRow(ctx, openDatabase, name).Scan(&readOnly, &found, &exists)
	switch {
	case err != nil:
		return err
	case readOnly:
		return fmt.Errorf("%w: connect to the primary (target_session_attrs=read-write finds it)",
			store.ErrReadOnly)
	case found == nil:
		return &task.InputError{Field: "schema", Reason: "the search_path names no schema that " +
			"exists; name one with postgres.Schema"}
	}
	s.Name = *found
	if !exists {
		return &task.InputError{Field: "schema", Reason: fmt.Sprintf(
			"%q does not exist; create it: CREATE SCHEMA %s", s.Name, s.Quoted())}
	}
	return nil
}

// Bring brings the tables to the version of this program. Who finds nothing to do writes nothing,
// so a role without the right to create tables is enough then.
func (s *Schema) Bring(ctx context.Context, c *pgx.Conn) error {
	return sqlstore.Database{
		Installed: func() (int, error) { return s.installed(ctx, c) },
		Alone:     func(f func() error) error { return s.alone(ctx, c, f) },
		Run:       func(m sqlstore.Migration) error { return s.step(ctx, c, m) },
	}.Bring(s.all, s.Keep)
}

// Version compares the tables with what this program knows, whatever they are.
func (s *Schema) Version(ctx context.Context, c *pgx.Conn) (v store.SchemaVersion, err error) {
	v.Newest = len(s.all)
	v.Installed, err = s.installed(ctx, c)
	return v, err
}

// Script returns what makes the steps after a version by hand; "" if there are none. Without a name
// the tables go to the first schema of the search_path.
func (s *Schema) Script(from int) (string, error) {
	todo, err := sqlstore.Plan(s.all, from)
	if err != nil || len(todo) == 0 {
		return "", err
	}
	var b strings.Builder
	b.WriteString("BEGIN;\n")
	for _, m := range todo {
		fmt.Fprintf(&b, "\n-- %04d_%s\n%s\n%s;\n", m.Version, m.Name,
			strings.TrimSpace(s.render(m.SQL)), s.note(m.Version))
	}
	b.WriteString("\nCOMMIT;\n")
	return b.String(), nil
}

// installed reads the version of the tables, 0 if there are none.
func (s *Schema) installed(ctx context.Context, c *pgx.Conn) (int, error) {
	var meta, tasks bool
	if err := c.QueryRow(ctx, findTables, s.Name).Scan(&meta, &tasks); err != nil {
		return 0, err
	}
	switch {
	case !meta && tasks:
		return 0, fmt.Errorf("%w: %s has a table ax_tasks but no ax_meta; use another schema",
			store.ErrDamaged, s.Quoted())
	case !meta:
		return 0, nil
	}
	var product, version *string
	if err := c.QueryRow(ctx, s.render(readMeta)).Scan(&product, &version); err != nil {
		if noRights(err) {
			return 0, fmt.Errorf("read schema version: %w (grant SELECT, INSERT, UPDATE, DELETE "+
				"on the tables of schema %s, and USAGE on its sequences)", err, s.Quoted())
		}
		return 0, fmt.Errorf("%w: read schema version: %w", store.ErrDamaged, err)
	}
	installed, err := strconv.Atoi(text(version))
	if err != nil || installed < 1 || text(product) != "ax" || !tasks {
		return 0, fmt.Errorf("%w: ax_meta in %s says product %q, schema version %q",
			store.ErrDamaged, s.Quoted(), text(product), text(version))
	}
	return installed, nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// alone runs f in a transaction that waits for another program as long as it takes.
func (s *Schema) alone(ctx context.Context, c *pgx.Conn, f func() error) error {
	return pgx.BeginTxFunc(ctx, c, pgx.TxOptions{IsoLevel: pgx.ReadCommitted},
		func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, patience); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, lockName, "ax migration "+s.Quoted()); err != nil {
				return err
			}
			return f()
		})
}

// step makes one step, several statements in one text.
func (s *Schema) step(ctx context.Context, c *pgx.Conn, m sqlstore.Migration) error {
	_, err := c.PgConn().Exec(ctx, s.render(m.SQL)+"\n"+s.note(m.Version)).ReadAll()
	if noRights(err) {
		return fmt.Errorf("create tables: %w (run once as a role that may, or: "+
			"GRANT CREATE ON SCHEMA %s TO the role of the connection)", err, s.Quoted())
	}
	return err
}

// note is the statement that notes that a step was made.
func (s *Schema) note(version int) string {
	return strings.ReplaceAll(s.render(writeVersion), "$1", strconv.Itoa(version))
}

// render puts the quoted schema in the place of "schema."; without a name nothing.
func (s *Schema) render(text string) string {
	in := ""
	if s.Name != "" {
		in = s.Quoted() + "."
	}
	return strings.ReplaceAll(text, "schema.", in)
}

func noRights(err error) bool {
	const insufficientPrivilege = "42501"
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == insufficientPrivilege
}
