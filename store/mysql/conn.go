package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
)

// conn is a connection in the hands of one call.
type conn struct {
	wire.Conn
	s     *Store
	marks []store.Fence // on a connection of the caller's pool: what to take back
}

func (s *Store) connOf(q wire.Querier) *conn {
	return &conn{Conn: wire.Conn{Q: q, Text: s.text}, s: s}
}

// text is a statement with its values and the prefix of this store's tables.
func (s *Store) text(v verb, a *args) string {
	t, ok := s.texts.Load(v)
	if !ok {
		t, _ = s.texts.LoadOrStore(v, s.tables.Render(string(v)))
	}
	return wire.Fill(t.(string), a)
}

// lane is the right to use connections of one role; its capacity is how many at a time.
type lane chan struct{}

func newLane(n int) lane { return make(lane, max(n, 1)) }

// line is where a call's connection comes from: a pool, and the lane that bounds its share.
type line struct {
	db   *sql.DB
	lane lane
}

// with runs fn on a connection of the line and gives it back.
func (s *Store) with(ctx context.Context, l line, fn func(c *conn) error) (err error) {
	select {
	case l.lane <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.lane }()
	sc, err := l.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	c := s.connOf(sc)
	if err = s.borrow(ctx, sc); err == nil {
		err = fn(c)
	}
	if wire.Number(err) == wire.NumReadOnly {
		drop(sc) // a primary that became a replica: the next connection may find the new primary
	}
	return errors.Join(err, s.giveBack(ctx, sc, c.marks))
}

// drop makes the pool forget a connection, which ends its session.
func drop(sc *sql.Conn) { _ = sc.Raw(func(any) error { return driver.ErrBadConn }) }

// The settings of a session. Those of Open's connections have them from their start; one of a pool
// of the caller's has them while the store uses it.
const (
	// settings: what is written is what was meant, or an error; nothing waits for a lock for longer
	// than a second; and MariaDB ends a session that stops in the middle of a transaction.
	settings = `
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO',
  innodb_lock_wait_timeout = 1 /*M! , idle_transaction_timeout = 3 */`

	keepSettings = `
SET @ax_mode = @@sql_mode, @ax_wait = @@innodb_lock_wait_timeout
  /*M! , @ax_idle = @@idle_transaction_timeout */`

	restoreSettings = `
SET SESSION sql_mode = @ax_mode, innodb_lock_wait_timeout = @ax_wait
  /*M! , idle_transaction_timeout = @ax_idle */`

	isolation = `SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED`
)

// borrow gives a connection of the caller's pool our settings.
func (s *Store) borrow(ctx context.Context, sc *sql.Conn) error {
	if s.own {
		return nil
	}
	for _, text := range [...]string{keepSettings, settings} {
		if _, err := sc.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// giveBack returns a connection to its pool as it was.
func (s *Store) giveBack(ctx context.Context, sc *sql.Conn, marks []store.Fence) error {
	if !s.own {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, err := sc.ExecContext(ctx, restoreSettings)
		for _, f := range marks {
			if err == nil {
				_, err = sc.ExecContext(ctx, s.text(dropMarks, s.markArgs(f, false)))
			}
		}
		if err != nil {
			drop(sc)
		}
	}
	if err := sc.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
		return err
	}
	return nil
}

// begin opens a transaction, checks the fence, which it holds shared until its end, and reads the
// clock.
func (c *conn) begin(ctx context.Context, f store.Fence) error {
	if !c.s.own {
		// The level of the next transaction alone.
		const once = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"
		if _, err := c.Q.ExecContext(ctx, once); err != nil {
			return err
		}
	}
	if _, err := c.Q.ExecContext(ctx, "START TRANSACTION"); err != nil {
		return err
	}
	if f == (store.Fence{}) {
		return c.Each(ctx, readClock, &args{}, func(r *row) { c.Now = r.Time() })
	}
	if err := c.mark(ctx, f); err != nil {
		return err
	}
	a := &args{}
	a.Int(int64(f.Partition))
	token := int64(0)
	err := c.Each(ctx, holdFence, a, func(r *row) { c.Now, token = r.Time(), r.Int() })
	switch {
	case err != nil:
		return err
	case token != f.Token:
		return store.ErrFenced
	case c.Now != 0:
		return nil
	}
	return c.Each(ctx, readClock, &args{}, func(r *row) { c.Now = r.Time() })
}

// inTx runs fn between START TRANSACTION and COMMIT. After an error the transaction is rolled back;
// a connection on which even that fails is dropped.
func (c *conn) inTx(ctx context.Context, f store.Fence, fn func() error) error {
	err := c.begin(ctx, f)
	if err == nil {
		err = fn()
	}
	if err == nil {
		_, err = c.Q.ExecContext(ctx, "COMMIT")
	}
	if err == nil {
		return nil
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if _, back := c.Q.ExecContext(end, "ROLLBACK"); back != nil {
		if sc, ok := c.Q.(*sql.Conn); ok {
			drop(sc)
		}
	}
	return err
}

// dirty runs fn in a transaction that sees what others have not committed, and takes it back.
func (c *conn) dirty(ctx context.Context, fn func() error) error {
	for _, text := range [...]string{"SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
		"START TRANSACTION"} {
		if _, err := c.Q.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	err := fn()
	_, back := c.Q.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	return errors.Join(err, back)
}

// tx is inTx on a connection of the line, with repeats.
func (s *Store) tx(ctx context.Context, l line, f store.Fence, fn func(c *conn) error) error {
	return wire.Retry(ctx, func() error {
		return s.with(ctx, l, func(c *conn) error {
			return c.inTx(ctx, f, func() error { return fn(c) })
		})
	})
}

// read runs a query on a connection for readers.
func (s *Store) read(ctx context.Context, what string, v verb, a *args, each func(*row)) error {
	return s.reading(ctx, what, func(c *conn) error { return c.Each(ctx, v, a, each) })
}

// reading runs fn on a connection for readers.
func (s *Store) reading(ctx context.Context, what string, fn func(c *conn) error) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.with(ctx, s.readers, fn); err != nil {
		return fmt.Errorf("%s: %w", what, wire.Explain(err))
	}
	return nil
}
