package mysql

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql/internal/schema"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
	"github.com/go-sql-driver/mysql"
)

//go:embed migrations/*.sql
var migrations embed.FS

func load(o options) (*schema.Schema, error) {
	if err := wire.CheckPrefix(o.prefix); err != nil {
		return nil, err
	}
	sc, err := schema.Load(migrations, o.prefix)
	if err == nil {
		sc.Keep = o.keep
	}
	return sc, err
}

// prepareSchema brings the tables to the version of this program unless they are to be kept.
func (s *Store) prepareSchema(ctx context.Context, o options) (err error) {
	if s.tables, err = load(o); err != nil {
		return err
	}
	s.prefix = o.prefix
	return s.with(ctx, s.claimer, func(c *conn) error {
		sc := c.Q.(*sql.Conn)
		if err := writable(ctx, sc); err != nil {
			return err
		}
		return s.tables.Bring(ctx, sc)
	})
}

// writable refuses a server that says of itself that it is not.
func writable(ctx context.Context, sc *sql.Conn) error {
	var is string // a number, or a word where there are more than two
	if err := sc.QueryRowContext(ctx, "SELECT @@global.read_only").Scan(&is); err != nil {
		return err
	}
	if is != "0" && is != "OFF" {
		return fmt.Errorf("%w: connect to the primary", store.ErrReadOnly)
	}
	return nil
}

// Inspect implements store.Inspector. Transactions of other accounts are seen with the privilege
// PROCESS only.
func (s *Store) Inspect(ctx context.Context) (in store.Inspection, err error) {
	err = s.reading(ctx, "inspect", func(c *conn) (err error) {
		in, err = s.tables.Inspect(ctx, c.Q.(*sql.Conn))
		return err
	})
	return in, err
}

// Status compares the tables in the database of dsn with what this program knows, and changes
// nothing. Of the options only TablePrefix counts. The errors are those of Open, but for the
// version.
func Status(ctx context.Context, dsn string, opts ...Option) (v store.SchemaVersion, err error) {
	v, err = status(ctx, dsn, opts)
	if err != nil {
		return v, fmt.Errorf("schema: %w", wire.Explain(err))
	}
	return v, nil
}

func status(ctx context.Context, dsn string, opts []Option) (v store.SchemaVersion, err error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	sc, err := load(o)
	if err != nil {
		return v, err
	}
	cfg, err := wire.Parse(dsn)
	if err != nil {
		return v, err
	}
	to, err := mysql.NewConnector(cfg)
	if err != nil {
		return v, err
	}
	db := sql.OpenDB(to)
	c, err := db.Conn(ctx)
	if err == nil {
		v, err = sc.Version(ctx, c)
		err = errors.Join(err, c.Close())
	}
	return v, errors.Join(err, db.Close())
}

// Dump returns a script for the client of the server that makes the tables by hand: the steps after
// version from, 0 for all of them. Of the options only TablePrefix counts. Open then finds nothing
// to do.
func Dump(from int, opts ...Option) (string, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	sc, err := load(o)
	if err != nil {
		return "", err
	}
	return sc.Script(from)
}
