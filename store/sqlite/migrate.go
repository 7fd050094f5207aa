package sqlite

import (
	"fmt"
	"strconv"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/internal/sqlstore"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
)

// applicationID marks the file as one of ax: "ax1\x00" read as a number.
const applicationID = 0x61783100

// schemaVersion returns the version of the schema, 0 of an empty file and of a shared one without
// tables of ax, or store.ErrDamaged.
func schemaVersion(c *lite.Conn, shared bool) (int, error) {
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
	case app != applicationID && !shared:
		inside, err := number(c, "SELECT count(*) FROM sqlite_schema "+
			"WHERE type = 'table' AND (name = 'ax_meta' OR name = 'ax_tasks')")
		if err != nil || inside == 2 { // a shared file, and nothing has to be added to it
			break
		}
		return 0, fmt.Errorf("%w: application id %#x, %d schema entries; sqlite.Shared adds the "+
			"tables of ax to a file of your own", store.ErrDamaged, app, tables)
	}
	if shared {
		ours, err := number(c,
			"SELECT count(*) FROM sqlite_schema WHERE substr(name, 1, 3) = 'ax_'")
		if err != nil || ours == 0 {
			return 0, err
		}
	}
	var text string
	found, err := one(c, "SELECT value FROM ax_meta WHERE name = 'schema'", nothing,
		func(s *lite.Stmt) { text = s.ColText(0) })
	if err != nil || !found {
		return 0, fmt.Errorf("%w: no schema version: %w", store.ErrDamaged, err)
	}
	version, err := strconv.Atoi(text)
	if err != nil || version < 1 {
		return 0, fmt.Errorf("%w: schema version %q", store.ErrDamaged, text)
	}
	return version, nil
}

func number(c *lite.Conn, query string) (n int64, err error) {
	_, err = one(c, query, nothing, func(s *lite.Stmt) { n = s.ColInt(0) })
	return n, err
}

// migrate brings the schema from version to the latest, all steps in one transaction. A second
// process that does the same waits for the lock and then finds nothing left to do.
func migrate(c *lite.Conn, version int, o options) error {
	all, err := sqlstore.Load(migrationFiles, "migrations")
	if err != nil {
		return err
	}
	if todo, err := sqlstore.Plan(all, version); err != nil || len(todo) == 0 {
		return err
	}
	if err := c.Exec(beginWrite); err != nil {
		return err
	}
	if err := upgrade(c, all, o); err != nil {
		_ = c.Exec(rollback) // the first error is the one that says what is wrong
		return err
	}
	return c.Exec(commit)
}

func upgrade(c *lite.Conn, all []sqlstore.Migration, o options) error {
	version, err := schemaVersion(c, o.shared) // again, now that nobody else can change it
	if err != nil {
		return err
	}
	todo, err := sqlstore.Plan(all, version)
	if err != nil {
		return err
	}
	for _, m := range todo {
		if err := c.Exec(m.SQL); err != nil {
			return fmt.Errorf("migration %d, %s: %w", m.Version, m.Name, err)
		}
	}
	if !o.shared && version == 0 { // a shared file keeps its own
		if err := c.Exec(fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
			return err
		}
	}
	return c.Exec(fmt.Sprintf(`
INSERT OR REPLACE INTO ax_meta (name, value) VALUES ('schema', '%d'), ('changed_at', '%d')`,
		len(all), o.now()))
}
