package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
	"github.com/ax-sched/ax/task"
)

// Now implements store.Clock: the server's time.
func (s *Store) Now(ctx context.Context) (now task.Time, err error) {
	err = s.read(ctx, "read clock", readClock, &args{}, func(r *row) { now = r.Time() })
	return now, err
}

// Token implements store.Fencer.
func (s *Store) Token(ctx context.Context, partition int) (token int64, err error) {
	a := &args{}
	a.Int(int64(partition))
	err = s.read(ctx, "read token", readToken, a, func(r *row) { token = r.Int() })
	return token, err
}

// Install implements store.Fencer. Writes of the leader before hold the row shared; if they do not
// end within a second, the process is stopped in the middle of one, and its sessions are ended.
func (s *Store) Install(
	ctx context.Context, partition int, seen int64, holder string,
) (token int64, err error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	for range 5 {
		err = s.install(ctx, partition, seen, holder)
		if wire.Number(err) != wire.NumLockWait {
			break
		}
		if end := s.endHolders(ctx, store.Fence{Partition: partition, Token: seen}); end != nil {
			err = errors.Join(err, end)
			break
		}
	}
	if err != nil {
		return 0, fmt.Errorf("install token %d of partition %d: %w", seen+1, partition, wire.Explain(err))
	}
	return seen + 1, nil
}

func (s *Store) install(ctx context.Context, partition int, seen int64, holder string) error {
	return wire.Retry(ctx, func() error {
		return s.with(ctx, s.keeper, func(c *conn) error {
			a := &args{}
			v := replaceToken
			if seen == 0 {
				v = installToken
				a.Int(int64(partition))
			}
			a.Int(seen + 1)
			a.Text(holder)
			if seen != 0 {
				a.Int(int64(partition))
				a.Int(seen)
			}
			n, err := c.Exec(ctx, v, a)
			if wire.Number(err) == wire.NumDuplicate || err == nil && n == 0 {
				return store.ErrFenced
			}
			return err
		})
	})
}

// session is a connection of Open's: it remembers under which fence it is known to others.
type session struct {
	driverConn
	fence store.Fence
}

// driverConn is what database/sql looks for in a connection of the driver.
type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// mostMarks is how many sessions of one fence can be known.
const mostMarks = 16

// mark lets an installer find this session: it takes a named lock of the server, which the server
// gives back when the session ends, and which says by which number to end it. A number that is
// written into a table may be another session's by the time that it is read.
func (c *conn) mark(ctx context.Context, f store.Fence) error {
	sc, ok := c.Q.(*sql.Conn)
	if !ok {
		return nil
	}
	var own *session
	if err := sc.Raw(func(dc any) error { own, _ = dc.(*session); return nil }); err != nil {
		return err
	}
	if own != nil && own.fence == f {
		return nil
	}
	if own != nil && own.fence != (store.Fence{}) {
		if err := c.Each(ctx, releaseMarks, &args{}, func(*row) {}); err != nil {
			return err
		}
	}
	if own == nil {
		c.marks = append(c.marks, f)
	}
	err := c.Each(ctx, takeMark, c.s.markArgs(f, true), func(*row) {})
	if err == nil && own != nil {
		own.fence = f
	}
	return err
}

// markArgs names the locks of a fence.
func (s *Store) markArgs(f store.Fence, numbered bool) *args {
	a := &args{}
	a.Rows(mostMarks)
	for i := range mostMarks {
		a.Text(s.prefix)
		a.Text("." + strconv.Itoa(f.Partition) + "." + strconv.FormatInt(f.Token, 10) + "." +
			strconv.Itoa(i))
		if numbered {
			a.Int(int64(i))
		}
	}
	return a
}

// endHolders ends the sessions that may hold the fence. It takes no right but that of ending
// sessions of the same account. It has a connection of its own, because the installer's may be
// anybody's by now.
func (s *Store) endHolders(ctx context.Context, f store.Fence) error {
	err := s.with(ctx, s.readers, func(c *conn) error {
		ids, err := c.marked(ctx, f)
		if err != nil {
			return err
		}
		for _, id := range ids {
			a := &args{}
			a.Int(id)
			_, err := c.Exec(ctx, endSession, a)
			if err != nil && wire.Number(err) != wire.NumUnknownSession { // it has ended by itself
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("end the sessions that hold the token: %w", err)
	}
	return nil
}

// marked returns the numbers of the sessions that are known by a fence.
func (c *conn) marked(ctx context.Context, f store.Fence) (ids []int64, err error) {
	err = c.Each(ctx, findMarks, c.s.markArgs(f, false), func(r *row) {
		if id := r.Int(); id != 0 {
			ids = append(ids, id)
		}
	})
	return ids, err
}
