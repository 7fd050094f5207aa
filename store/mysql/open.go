package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ax-sched/ax/internal/batch"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql/internal/schema"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
	"github.com/go-sql-driver/mysql"
)

// usualConns is how many connections Open's pool has at most: one each to insert and to complete,
// two to claim, and the rest to read. Leases have one more of their own.
const usualConns = 8

// Store is ax in a database of MySQL or MariaDB. Make one with Open or New; it is safe for
// concurrent use.
type Store struct {
	db     *sql.DB
	leases *sql.DB // never behind work; db itself where the pool is the caller's
	own    bool    // the pools are ours: their connections have our settings from the start

	tables *schema.Schema
	texts  sync.Map // verb to its text with the prefix
	prefix string

	flusher, claimer, completer, readers, slow, keeper line

	inserts  batch.Group[*insertCall]
	outcomes batch.Group[*applyCall]
	apart    batch.Apart

	gate   sync.RWMutex // held shared by calls under way
	closed bool
}

var _ store.Store = (*Store)(nil)

// Option changes how Open and New work.
type Option func(*options)

type options struct {
	prefix string
	keep   bool // the tables as they are
}

// TablePrefix puts this before the name of each table, so that several services share a database:
// with "billing_" tasks lie in billing_ax_tasks. It has at most 20 letters, digits and underscores.
func TablePrefix(prefix string) Option { return func(o *options) { o.prefix = prefix } }

// NoMigrate makes Open and New leave the tables as they are: where there are none, or those of an
// older version, they return store.ErrOlder. It is for programs that must not change the schema,
// because somebody else does that with `ax migrate up` or by hand.
func NoMigrate() Option { return func(o *options) { o.keep = true } }

// Open connects to the database of dsn and creates or upgrades the tables. dsn is a URL,
// mysql://USER:PASSWORD@HOST:3306/DATABASE, with the parameters of the driver after a question mark
// and socket=PATH for one on this machine; or what the driver takes,
// USER:PASSWORD@tcp(HOST:3306)/DATABASE. It returns store.ErrReadOnly on a replica, store.ErrNewer
// if a newer program has upgraded the tables, and store.ErrDamaged if they are not those of ax.
func Open(ctx context.Context, dsn string, opts ...Option) (*Store, error) {
	cfg, err := wire.Parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	s := &Store{own: true, db: sql.OpenDB(connector{c}), leases: sql.OpenDB(connector{c})}
	s.db.SetMaxOpenConns(usualConns)
	s.db.SetMaxIdleConns(usualConns)
	s.leases.SetMaxOpenConns(1)
	for _, db := range [...]*sql.DB{s.db, s.leases} {
		db.SetConnMaxIdleTime(time.Minute) // before the server, or what is in between, does
	}
	return s.start(ctx, usualConns, opts)
}

// New uses a handle of the caller's, made with the driver github.com/go-sql-driver/mysql, who
// closes it after the store. It takes up to 9 connections of it at a time, and four round trips
// more for each call than Open's: a connection gets the settings of a session that ax needs, and
// its own ones back.
func New(ctx context.Context, db *sql.DB, opts ...Option) (*Store, error) {
	s := &Store{db: db, leases: db}
	n := usualConns
	if most := db.Stats().MaxOpenConnections; most > 0 {
		if most < minConns {
			return nil, fmt.Errorf("open: the handle has %d connections at most; ax needs %d: to "+
				"insert, claim, complete, read and renew leases", most, minConns)
		}
		n = min(n, most-1)
	}
	return s.start(ctx, n, opts)
}

// minConns is the smallest pool that works.
const minConns = 5

// connector makes connections with our settings.
type connector struct{ driver.Connector }

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	dc, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, text := range [...]string{settings, isolation} {
		if _, err := dc.(driver.ExecerContext).ExecContext(ctx, text, nil); err != nil {
			return nil, errors.Join(err, dc.Close())
		}
	}
	full, ok := dc.(driverConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T is no connection of the driver", dc), dc.Close())
	}
	return &session{driverConn: full}, nil
}

// start divides the pool into roles and makes the tables.
func (s *Store) start(ctx context.Context, n int, opts []Option) (*Store, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	claims := 1
	if n > minConns {
		claims = 2
	}
	readers := newLane(n - claims - 2)
	s.flusher = line{s.db, newLane(1)}
	s.claimer = line{s.db, newLane(claims)}
	s.completer = line{s.db, newLane(1)}
	s.readers = line{s.db, readers}
	s.slow = line{s.db, readers}
	s.keeper = line{s.leases, newLane(1)}
	s.inserts = batch.Group[*insertCall]{Run: s.insertBatch, Limit: mostRows,
		Weight: func(c *insertCall) int { return len(c.tasks) }}
	s.outcomes = batch.Group[*applyCall]{Run: s.applyBatch, Limit: mostRows,
		Weight: func(c *applyCall) int { return len(c.trs) }}
	if err := s.prepareSchema(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("open: %w", wire.Explain(err)), s.Close())
	}
	return s, nil
}

// enter lets a call in, or refuses it after Close. The caller must call leave.
func (s *Store) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.gate.RLock()
	if s.closed {
		s.gate.RUnlock()
		return nil, store.ErrClosed
	}
	return s.gate.RUnlock, nil
}

// Close waits for the calls under way and closes the connections that are the store's own.
func (s *Store) Close() error {
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if !s.own {
		return nil
	}
	return errors.Join(s.db.Close(), s.leases.Close())
}
