package sqlite

import (
	"context"
	"fmt"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
	"github.com/ax-sched/ax/store/sqlite/internal/schema"
)

// Status compares the schema of a file with what this program knows, without changing the file. One
// that does not exist gives fs.ErrNotExist, and one that is not of ax store.ErrDamaged.
func Status(path string) (v store.SchemaVersion, err error) {
	c, err := existing(path)
	if err != nil {
		return v, fmt.Errorf("schema of %s: %w", path, named(err))
	}
	o := newOptions(nil)
	err = c.Exec(fmt.Sprintf("PRAGMA busy_timeout = %d", o.busy.Milliseconds()))
	if err == nil {
		v, err = readVersion(c)
	}
	if end := c.Close(); err == nil {
		err = end
	}
	if err != nil {
		return v, fmt.Errorf("schema of %s: %w", path, named(err))
	}
	return v, nil
}

func readVersion(c *lite.Conn) (v store.SchemaVersion, err error) {
	sc, err := schema.Load(migrationFiles)
	if err != nil {
		return v, err
	}
	err = transact(c, func(c *lite.Conn) (err error) {
		v, err = sc.Version(c)
		return err
	})
	return v, err
}

// Dump returns a script that makes the schema by hand, with the tool sqlite3: the steps after
// version from, 0 for all of them. Open then finds nothing to do.
func Dump(from int) (string, error) {
	sc, err := schema.Load(migrationFiles)
	if err != nil {
		return "", err
	}
	return sc.Script(from, pageSize)
}

// Inspect implements store.Inspector.
func (s *Store) Inspect(ctx context.Context) (in store.Inspection, err error) {
	sc, err := schema.Load(migrationFiles)
	if err != nil {
		return in, err
	}
	sc.Shared = s.opts.shared
	err = s.readers.do(ctx, func(c *lite.Conn) (err error) {
		if in.Schema, err = sc.Version(c); err == nil {
			in.Faults, err = sc.Faults(c)
		}
		return err
	})
	if err != nil {
		return in, fmt.Errorf("inspect: %w", err)
	}
	return in, nil
}
