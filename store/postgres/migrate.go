package postgres

import (
	"context"
	"embed"
	"fmt"
	"strconv"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/internal/sqlstore"
	"github.com/ax-sched/ax/task"
	"github.com/jackc/pgx/v5"
)

//go:embed migrations/*.sql
var migrations embed.FS

// prepareSchema finds the schema and brings its tables to the version of this program. Programs
// that find nothing to do write nothing, so a role without the right to create tables is enough
// for them.
func (s *Store) prepareSchema(ctx context.Context, schema string) error {
	all, err := sqlstore.Load(migrations, "migrations")
	if err != nil {
		return err
	}
	return retry(ctx, func() error {
		return s.with(ctx, s.claimer, func(c *conn) error {
			if err := s.findSchema(ctx, c, schema); err != nil {
				return err
			}
			todo, err := s.pending(ctx, c, all)
			if err != nil || len(todo) == 0 {
				return err
			}
			return s.migrate(ctx, c, all)
		})
	})
}

// findSchema settles the schema and refuses a server that cannot be written.
func (s *Store) findSchema(ctx context.Context, c *conn, name string) error {
	var readOnly, exists bool
	a := &args{}
	a.Text(name)
	err := c.call(ctx, openDatabase, a, func(r *row) {
		readOnly = r.Bool()
		name = r.Text()
		exists = r.Bool()
	})
	switch {
	case err != nil:
		return err
	case readOnly:
		return fmt.Errorf("%w: connect to the primary (target_session_attrs=read-write finds it)",
			store.ErrReadOnly)
	case name == "":
		return &task.InputError{Field: "schema", Reason: "the search_path names no schema that " +
			"exists; name one with postgres.Schema"}
	case !exists:
		return &task.InputError{Field: "schema", Reason: fmt.Sprintf(
			"%q does not exist; create it: CREATE SCHEMA %s", name, pgx.Identifier{name}.Sanitize())}
	}
	s.schemaName = name
	s.schema = pgx.Identifier{name}.Sanitize()
	return nil
}

// pending returns the migrations that the database lacks.
func (s *Store) pending(
	ctx context.Context, c *conn, all []sqlstore.Migration,
) ([]sqlstore.Migration, error) {
	var meta, tasks bool
	a := &args{}
	a.Text(s.schemaName)
	err := c.call(ctx, findTables, a, func(r *row) { meta, tasks = r.Bool(), r.Bool() })
	switch {
	case err != nil:
		return nil, err
	case !meta && tasks:
		return nil, fmt.Errorf("%w: %s has a table ax_tasks but no ax_meta; use another schema",
			store.ErrDamaged, s.schema)
	case !meta:
		return all, nil
	}
	var product, version string
	err = c.call(ctx, readMeta, &args{}, func(r *row) { product, version = r.Text(), r.Text() })
	if err != nil {
		if code(err) == codeNoRights {
			return nil, fmt.Errorf("read schema version: %w (grant SELECT, INSERT, UPDATE, DELETE "+
				"on the tables of schema %s, and USAGE on its sequences)", err, s.schema)
		}
		return nil, fmt.Errorf("%w: read schema version: %w", store.ErrDamaged, err)
	}
	installed, err := strconv.Atoi(version)
	if err != nil || product != "ax" || !tasks {
		return nil, fmt.Errorf("%w: ax_meta in %s says product %q, schema version %q",
			store.ErrDamaged, s.schema, product, version)
	}
	return sqlstore.Plan(all, installed)
}

// migrate runs what is still missing, in one transaction. Of several programs that start at
// once the first does it, and the others wait and find it done.
func (s *Store) migrate(ctx context.Context, c *conn, all []sqlstore.Migration) error {
	return c.inTx(ctx, 0, func() error { // 0: wait for the other program as long as it takes
		a := &args{}
		a.Text("ax migration " + s.schema)
		if err := c.call(ctx, lockName, a, nil); err != nil {
			return err
		}
		todo, err := s.pending(ctx, c, all)
		if err != nil {
			return err
		}
		for _, m := range todo {
			if _, err := c.pc.Conn().PgConn().Exec(ctx, s.render(m.SQL)).ReadAll(); err != nil {
				if code(err) == codeNoRights {
					return fmt.Errorf("create tables: %w (run once as a role that may, or: "+
						"GRANT CREATE ON SCHEMA %s TO the role of the connection)", err, s.schema)
				}
				return fmt.Errorf("migration %04d_%s: %w", m.Version, m.Name, err)
			}
			a := &args{}
			a.Text(strconv.Itoa(m.Version))
			if err := c.call(ctx, writeVersion, a, nil); err != nil {
				return fmt.Errorf("migration %04d_%s: %w", m.Version, m.Name, err)
			}
		}
		return nil
	})
}
