// Package schema makes the tables of ax in a database of MySQL or MariaDB, and compares a database
// with them.
package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/internal/sqlstore"
)

// Schema is what the migrations of a program make, and under which names.
type Schema struct {
	all    []sqlstore.Migration
	prefix string // before each name of a table
	// Keep: the tables are left as they are.
	Keep bool
}

// Load reads the steps from the folder migrations of files.
func Load(files fs.FS, prefix string) (*Schema, error) {
	all, err := sqlstore.Load(files, "migrations")
	return &Schema{all: all, prefix: prefix}, err
}

// names are those of tables and of their indexes.
var names = regexp.MustCompile(`\bax_`)

// Render puts the prefix before the names of tables in a statement.
func (s *Schema) Render(text string) string {
	if s.prefix == "" {
		return text
	}
	return names.ReplaceAllString(text, s.prefix+"ax_")
}

// Bring brings the tables to the version of this program. Who finds nothing to do writes nothing,
// so an account without the right to create tables is enough then.
func (s *Schema) Bring(ctx context.Context, c *sql.Conn) error {
	return sqlstore.Database{
		Installed: func() (int, error) { return s.installed(ctx, c) },
		Alone:     func(f func() error) error { return s.alone(ctx, c, f) },
		Run:       func(m sqlstore.Migration) error { return s.step(ctx, c, m) },
	}.Bring(s.all, s.Keep)
}

// Version compares the tables with what this program knows, whatever they are.
func (s *Schema) Version(ctx context.Context, c *sql.Conn) (v store.SchemaVersion, err error) {
	v.Newest = len(s.all)
	v.Installed, err = s.installed(ctx, c)
	return v, err
}

// Script returns what makes the steps after a version by hand; "" if there are none.
func (s *Schema) Script(from int) (string, error) {
	todo, err := sqlstore.Plan(s.all, from)
	if err != nil || len(todo) == 0 {
		return "", err
	}
	var b strings.Builder
	if from == 0 {
		fmt.Fprintf(&b, "%s;\n%s;\n", s.Render(createMeta), s.Render(claim))
	}
	for _, m := range todo {
		fmt.Fprintf(&b, "\n-- %04d_%s\n%s\n%s;\n", m.Version, m.Name,
			strings.TrimSpace(s.Render(m.SQL)), s.note(m.Version))
	}
	return b.String(), nil
}

// The table of facts is the first that is made and its version the last that is written: what a
// migration that died has left is recognised, and made again.
const (
	createMeta = `
CREATE TABLE IF NOT EXISTS ax_meta (
    name  VARBINARY(64)  NOT NULL,
    value VARBINARY(250) NOT NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4`
	claim      = `INSERT IGNORE INTO ax_meta (name, value) VALUES ('product', 'ax')`
	readMeta   = `SELECT name, value FROM ax_meta WHERE name IN ('product', 'schema_version')`
	findTables = `
SELECT table_name FROM information_schema.tables
 WHERE table_schema = database() AND table_name IN (?, ?)`
)

func (s *Schema) note(version int) string {
	return s.Render(fmt.Sprintf(
		"REPLACE INTO ax_meta (name, value) VALUES ('schema_version', '%d')", version))
}

// installed reads the version of the tables, 0 if there are none, or not all of the first step.
func (s *Schema) installed(ctx context.Context, c *sql.Conn) (int, error) {
	there := map[string]string{}
	tables := []any{s.Render("ax_meta"), s.Render("ax_tasks")}
	rows, err := c.QueryContext(ctx, findTables, tables...)
	err = eachPair(rows, err, func(name, _ string) { there[name] = name })
	if err != nil {
		return 0, err
	}
	meta, tasks := there[s.Render("ax_meta")] != "", there[s.Render("ax_tasks")] != ""
	switch {
	case !meta && tasks:
		return 0, fmt.Errorf("%w: the database has a table %s but no %s; use another database or "+
			"mysql.TablePrefix", store.ErrDamaged, tables[1], tables[0])
	case !meta:
		return 0, nil
	}
	facts := map[string]string{}
	rows, err = c.QueryContext(ctx, s.Render(readMeta))
	if err = eachPair(rows, err, func(n, v string) { facts[n] = v }); err != nil {
		return 0, fmt.Errorf("%w: read schema version: %w", store.ErrDamaged, err)
	}
	version, known := facts["schema_version"]
	if facts["product"] == "ax" && !known {
		return 0, nil // a migration died before its end
	}
	installed, err := strconv.Atoi(version)
	if err != nil || installed < 1 || facts["product"] != "ax" || !tasks {
		return 0, fmt.Errorf("%w: %s says product %q, schema version %q", store.ErrDamaged,
			tables[0], facts["product"], version)
	}
	return installed, nil
}

// eachPair reads rows of one or two texts.
func eachPair(rows *sql.Rows, err error, each func(a, b string)) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		var a, b string
		if err := rows.Scan([]any{&a, &b}[:len(cols)]...); err != nil {
			return err
		}
		each(a, b)
	}
	return rows.Err()
}

// alone runs f while no other program migrates under the same prefix in this database.
func (s *Schema) alone(ctx context.Context, c *sql.Conn, f func() error) (err error) {
	const take = `SELECT get_lock(left(concat('ax migrate ', md5(concat(database(), ?))), 60), ?)`
	const free = `DO release_lock(left(concat('ax migrate ', md5(concat(database(), ?))), 60))`
	const patience = 600 // seconds; ctx may end before
	var got sql.NullInt64
	if err := c.QueryRowContext(ctx, take, s.prefix, patience).Scan(&got); err != nil {
		return err
	}
	if got.Int64 != 1 {
		return fmt.Errorf("%w: another program migrates the database", store.ErrBusy)
	}
	defer func() {
		_, end := c.ExecContext(context.WithoutCancel(ctx), free, s.prefix)
		err = errors.Join(err, end)
	}()
	return f()
}

// step makes one step, statement by statement.
func (s *Schema) step(ctx context.Context, c *sql.Conn, m sqlstore.Migration) error {
	steps := []string{s.Render(createMeta), s.Render(claim)}
	steps = append(steps, statements(s.Render(m.SQL))...)
	for _, text := range append(steps, s.note(m.Version)) {
		if _, err := c.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%w (the account needs CREATE, ALTER and INDEX once; or make the "+
				"tables by hand: ax migrate dump)", err)
		}
	}
	return nil
}

// statements cuts a script. Each statement ends with a semicolon at the end of a line.
func statements(script string) (out []string) {
	for part := range strings.SplitSeq(script, ";\n") {
		if strings.TrimSpace(part) != "" {
			out = append(out, part)
		}
	}
	return out
}
