package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ax-sched/ax/internal/batch"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/postgres/internal/schema"
	"github.com/ax-sched/ax/store/postgres/internal/wire"
	"github.com/ax-sched/ax/task"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// MinConns is the smallest pool that works: one connection each to insert, to claim, to apply
// outcomes and to read. Leases have one more of their own.
const MinConns = 4

// usualConns lets two claims be under way at a time and leaves two connections to readers. While
// one claim waits for its commit the other works: measured, a third less from due to start.
const usualConns = 6

// Store is ax in a PostgreSQL database. Make one with Open or New; it is safe for concurrent use.
type Store struct {
	pool   *pgxpool.Pool
	leases *pgxpool.Pool // one connection: never behind work
	own    bool          // pool is ours to close

	tables *schema.Schema
	schema string // quoted

	session bool // connections have our settings from their start
	prepare bool // named statements work: no PgBouncer in transaction mode
	hints   bool

	flusher, claimer, completer, readers, slow, keeper line

	statements sync.Map // verb to *statement
	inserts    batch.Group[*insertCall]
	outcomes   batch.Group[*applyCall]
	apart      batch.Apart

	gate   sync.RWMutex // held shared by calls under way
	closed bool
	ended  context.CancelFunc // ends Listen
	life   context.Context    // until Close: of Listen, which has no other end
}

var _ store.Store = (*Store)(nil)

// Option changes how Open and New work.
type Option func(*options)

type options struct {
	schema string
	quiet  bool
	keep   bool // the tables as they are
}

// Schema puts the tables into this schema, which must exist. The default is the first one of the
// connection's search_path that exists.
func Schema(name string) Option { return func(o *options) { o.schema = name } }

// Quiet sends no hints: see [store.Hinter]. It spares a little of each insert where one process
// does everything.
func Quiet() Option { return func(o *options) { o.quiet = true } }

// NoMigrate makes Open and New leave the tables as they are: where there are none, or those of an
// older version, they return store.ErrOlder. It is for programs that must not change the schema,
// because somebody else does that with `ax migrate up` or by hand.
func NoMigrate() Option { return func(o *options) { o.keep = true } }

// Open connects to the database of dsn, a URL or key=value text as pgx takes it, and creates or
// upgrades the tables. pool_max_conns in it is the size of the pool: MinConns or more; the default
// is 6 or the number of CPUs. It returns store.ErrReadOnly on a stand-by, store.ErrNewer if a newer
// program has upgraded the tables, and store.ErrDamaged if the tables are not those of ax.
func Open(ctx context.Context, dsn string, opts ...Option) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if !strings.Contains(dsn, "pool_max_conns") {
		cfg.MaxConns = max(cfg.MaxConns, usualConns)
	}
	s := &Store{own: true, prepare: prepares(cfg), session: prepares(cfg)}
	if s.session {
		sessionSettings(cfg.ConnConfig)
	}
	wire.Dialer(cfg.ConnConfig)
	if s.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	return s.start(ctx, cfg, opts)
}

// New uses a pool of the caller's, who closes it after the store. Of its connections the store
// takes as many as it needs, MinConns at least; a pool that is also used for something else should
// be larger.
func New(ctx context.Context, pool *pgxpool.Pool, opts ...Option) (*Store, error) {
	cfg := pool.Config()
	s := &Store{pool: pool, prepare: prepares(cfg)}
	return s.start(ctx, cfg, opts)
}

// prepares reports whether the pool keeps prepared statements by name.
func prepares(cfg *pgxpool.Config) bool {
	return cfg.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement
}

// sessionSettings makes the server apply them while it accepts the connection. What the DSN says
// wins.
func sessionSettings(cfg *pgx.ConnConfig) {
	for name, value := range map[string]string{
		"application_name":                    "ax",
		"lock_timeout":                        millis(lockTimeout),
		"idle_in_transaction_session_timeout": "2000",
		"tcp_user_timeout":                    "3000",
		"plan_cache_mode":                     "force_generic_plan",
		"jit":                                 "off",
	} {
		if _, ok := cfg.RuntimeParams[name]; !ok {
			cfg.RuntimeParams[name] = value
		}
	}
}

// start checks the pool and the database, and makes the tables.
func (s *Store) start(ctx context.Context, cfg *pgxpool.Config, opts []Option) (*Store, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	s.hints = !o.quiet
	s.life, s.ended = context.WithCancel(context.WithoutCancel(ctx))
	err := s.connect(ctx, cfg)
	if err == nil {
		err = s.prepareSchema(ctx, o)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open: %w", explain(err)), s.Close())
	}
	return s, nil
}

// connect divides the pool into roles and opens the connection of the leases.
func (s *Store) connect(ctx context.Context, cfg *pgxpool.Config) (err error) {
	n := int(cfg.MaxConns)
	if n < MinConns {
		return &task.InputError{Field: "pool_max_conns", Reason: fmt.Sprintf(
			"is %d; ax needs at least %d: to insert, claim, complete and read", n, MinConns)}
	}
	lc := cfg.Copy()
	lc.MinConns, lc.MinIdleConns, lc.MaxConns = 0, 0, 1
	if s.leases, err = pgxpool.NewWithConfig(ctx, lc); err != nil {
		return err
	}
	claims := 1
	if n > MinConns {
		claims = 2
	}
	readers := newLane(n - claims - 2)
	s.flusher = line{s.pool, newLane(1)}
	s.claimer = line{s.pool, newLane(claims)}
	s.completer = line{s.pool, newLane(1)}
	s.readers = line{s.pool, readers}
	s.slow = line{s.pool, readers}
	s.keeper = line{s.leases, newLane(1)}
	s.inserts = batch.Group[*insertCall]{Run: s.insertBatch, Limit: mostRows,
		Weight: func(c *insertCall) int { return len(c.tasks) }}
	s.outcomes = batch.Group[*applyCall]{Run: s.applyBatch, Limit: mostRows,
		Weight: func(c *applyCall) int { return len(c.trs) }}
	return nil
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

// Close waits for the calls under way, ends Listen and closes the connections that are the
// store's own.
func (s *Store) Close() error {
	s.ended()
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.leases != nil {
		s.leases.Close()
	}
	if s.own {
		s.pool.Close()
	}
	return nil
}
