package postgres

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/ax-sched/ax/store/postgres/internal/wire"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// verb is the text of a statement as written in queries.go, with "schema." before each table.
type verb string

// statement is a verb made ready for one schema.
type statement struct{ name, text string }

// statement returns v for this store's schema. The name is that of the text, so two stores with
// different schemas may share a connection.
func (s *Store) statement(v verb) *statement {
	if st, ok := s.statements.Load(v); ok {
		return st.(*statement)
	}
	text := s.render(string(v))
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // a hash takes everything
	st, _ := s.statements.LoadOrStore(v,
		&statement{name: "ax_" + strconv.FormatUint(h.Sum64(), 36), text: text})
	return st.(*statement)
}

// render puts the quoted schema in the place of "schema.".
func (s *Store) render(text string) string {
	return strings.ReplaceAll(text, "schema.", s.schema+".")
}

// lane is the right to use connections of one role; its capacity is how many at a time.
type lane chan struct{}

func newLane(n int) lane { return make(lane, max(n, 1)) }

// line is where a call's connection comes from: a pool, and the lane that bounds its share.
type line struct {
	pool *pgxpool.Pool
	lane lane
}

// conn is a connection in the hands of one call.
type conn struct {
	s  *Store
	pc *pgxpool.Conn
	tx bool // between BEGIN and COMMIT
}

// with runs fn on a connection of the line and gives it back.
func (s *Store) with(ctx context.Context, l line, fn func(c *conn) error) error {
	select {
	case l.lane <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.lane }()
	pc, err := l.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer pc.Release()
	err = fn(&conn{s: s, pc: pc})
	switch {
	case code(err) == codeReadOnly:
		// A primary that became a standby: the next connection may find the new primary.
		s.drop(ctx, pc)
	case pc.Conn().IsClosed() && s.own && ctx.Err() == nil:
		// The server went away, so the idle connections are dead too.
		l.pool.Reset()
	}
	return err
}

// drop closes a connection; Release then forgets it.
func (s *Store) drop(ctx context.Context, pc *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = pc.Conn().Close(ctx) // it is of no use whatever this says
}

// one runs a single statement as a transaction of its own, with repeats, in one round trip.
func (s *Store) one(ctx context.Context, l line, v verb, a *args, each func(*row)) error {
	return retry(ctx, func() error {
		return s.with(ctx, l, func(c *conn) error { return c.call(ctx, v, a, each) })
	})
}

// call sends a statement and hands each row of its result to each, which may be nil.
func (c *conn) call(ctx context.Context, v verb, a *args, each func(*row)) error {
	st := c.s.statement(v)
	if c.s.prepare {
		if _, err := c.pc.Conn().Prepare(ctx, st.name, st.text); err != nil {
			return err
		}
	}
	if !c.s.session && !c.tx {
		return c.batch(ctx, settings(lockTimeout), st, a, each)
	}
	pg := c.pc.Conn().PgConn()
	if c.s.prepare {
		return read(pg.ExecPrepared(ctx, st.name, a.Vals, wire.Binary, wire.Binary), each)
	}
	return read(pg.ExecParams(ctx, st.text, a.Vals, a.OIDs, wire.Binary, wire.Binary), each)
}

// patient is call for a connection outside of a transaction, with another lock time-out.
func (c *conn) patient(
	ctx context.Context, wait time.Duration, v verb, a *args, each func(*row),
) error {
	st := c.s.statement(v)
	if c.s.prepare {
		if _, err := c.pc.Conn().Prepare(ctx, st.name, st.text); err != nil {
			return err
		}
	}
	return c.batch(ctx, settings(wait), st, a, each)
}

// batch sends first and a statement in one round trip; together they are one transaction.
func (c *conn) batch(
	ctx context.Context, first string, st *statement, a *args, each func(*row),
) error {
	b := &pgconn.Batch{}
	b.ExecParams(first, nil, nil, nil, nil)
	if c.s.prepare {
		b.ExecPrepared(st.name, a.Vals, wire.Binary, wire.Binary)
	} else {
		b.ExecParams(st.text, a.Vals, a.OIDs, wire.Binary, wire.Binary)
	}
	all := c.pc.Conn().PgConn().ExecBatch(ctx, b)
	var err error
	for n := 0; all.NextResult(); n++ {
		if n == 0 {
			_, err = all.ResultReader().Close()
			continue
		}
		err = errors.Join(err, read(all.ResultReader(), each))
	}
	if end := all.Close(); end != nil {
		return end
	}
	return err
}

// read hands the rows to each and returns the first error.
func read(rr *pgconn.ResultReader, each func(*row)) error {
	var bad error
	for rr.NextRow() {
		if each == nil || bad != nil {
			continue
		}
		r := row{wire.Row{Cols: rr.Values()}}
		each(&r)
		bad = r.Err
	}
	if _, err := rr.Close(); err != nil {
		return err
	}
	return bad
}

// lockTimeout is how long a writer waits for a foreign transaction.
const lockTimeout = 100 * time.Millisecond

// settings sets, for one transaction, what a session of Open's has.
func settings(wait time.Duration) string {
	return "SELECT set_config('lock_timeout', '" + millis(wait) + "', true), " +
		"set_config('idle_in_transaction_session_timeout', '2000', true), " +
		"set_config('plan_cache_mode', 'force_generic_plan', true)"
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// begin opens a transaction with its settings in one round trip.
func (c *conn) begin(ctx context.Context, wait time.Duration) error {
	sql := "BEGIN ISOLATION LEVEL READ COMMITTED; " + settings(wait)
	if c.s.session && wait == lockTimeout {
		sql = "BEGIN ISOLATION LEVEL READ COMMITTED"
	}
	_, err := c.pc.Conn().PgConn().Exec(ctx, sql).ReadAll()
	c.tx = err == nil
	return err
}

// inTx runs fn between BEGIN and COMMIT. After an error the transaction is rolled back; a
// connection on which even that fails is closed by the pool.
func (c *conn) inTx(ctx context.Context, wait time.Duration, fn func() error) error {
	if err := c.begin(ctx, wait); err != nil {
		return err
	}
	err := fn()
	c.tx = false
	pg := c.pc.Conn().PgConn()
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, _ = pg.Exec(ctx, "ROLLBACK").ReadAll() // the first error is the one to tell
		return err
	}
	_, err = pg.Exec(ctx, "COMMIT").ReadAll()
	return err
}

// try runs fn inside a transaction so that an error of it leaves the transaction usable.
func (c *conn) try(ctx context.Context, fn func() error) error {
	pg := c.pc.Conn().PgConn()
	if _, err := pg.Exec(ctx, "SAVEPOINT ax").ReadAll(); err != nil {
		return err
	}
	err := fn()
	end := "RELEASE SAVEPOINT ax"
	if err != nil {
		end = "ROLLBACK TO SAVEPOINT ax"
	}
	if _, back := pg.Exec(ctx, end).ReadAll(); back != nil && err == nil {
		return back
	}
	return err
}

// tx is inTx on a connection of the line, with repeats.
func (s *Store) tx(ctx context.Context, l line, fn func(c *conn) error) error {
	return retry(ctx, func() error {
		return s.with(ctx, l, func(c *conn) error {
			return c.inTx(ctx, lockTimeout, func() error { return fn(c) })
		})
	})
}
