package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/postgres/internal/schema"
	"github.com/jackc/pgx/v5"
)

//go:embed migrations/*.sql
var migrations embed.FS

// prepareSchema finds the schema and, unless it is to be kept, brings its tables to the version of
// this program.
func (s *Store) prepareSchema(ctx context.Context, o options) error {
	sc, err := schema.Load(migrations)
	if err != nil {
		return err
	}
	sc.Keep = o.keep
	err = retry(ctx, func() error {
		return s.with(ctx, s.claimer, func(c *conn) error {
			if err := sc.Find(ctx, c.pc.Conn(), o.schema); err != nil {
				return err
			}
			return sc.Bring(ctx, c.pc.Conn())
		})
	})
	s.tables, s.schema = sc, sc.Quoted()
	return err
}

// Inspect implements store.Inspector.
func (s *Store) Inspect(ctx context.Context) (in store.Inspection, err error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return in, err
	}
	defer leave()
	err = retry(ctx, func() error {
		return s.with(ctx, s.readers, func(c *conn) (err error) {
			in, err = s.tables.Inspect(ctx, c.pc.Conn())
			return err
		})
	})
	if err != nil {
		return in, fmt.Errorf("inspect: %w", explain(err))
	}
	return in, nil
}

// Status compares the tables in the database of dsn with what this program knows, and changes
// nothing. Of the options only Schema counts. The errors are those of Open, but for the version.
func Status(ctx context.Context, dsn string, opts ...Option) (v store.SchemaVersion, err error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	sc, err := schema.Load(migrations)
	if err != nil {
		return v, err
	}
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return v, fmt.Errorf("schema: %w", err)
	}
	if err = sc.Find(ctx, c, o.schema); err == nil {
		v, err = sc.Version(ctx, c)
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err = errors.Join(err, c.Close(end)); err != nil {
		return v, fmt.Errorf("schema: %w", explain(err))
	}
	return v, nil
}

// Dump returns a script for psql that makes the tables in a schema by hand: the steps after version
// from, 0 for all of them. Without a name the first schema of the search_path is meant. Open then
// finds nothing to do.
func Dump(name string, from int) (string, error) {
	sc, err := schema.Load(migrations)
	if err != nil {
		return "", err
	}
	sc.Name = name
	return sc.Script(from)
}
