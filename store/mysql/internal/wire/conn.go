package wire

import (
	"context"
	"database/sql"

	"github.com/ax-sched/ax/task"
)

// Querier is a connection, of the store's or in a transaction of a caller's.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Conn is a connection in the hands of one call.
type Conn struct {
	Q    Querier
	Text func(v Verb, a *Args) string // puts values and the names of tables into a statement
	Now  task.Time                    // the one time of the transaction; 0 outside of one
	// Shared is set where each query locks what it reads: in a transaction of a caller's a plain one
	// may see what was true when the transaction began.
	Shared bool
}

// Exec runs a statement and returns how many rows it changed.
func (c *Conn) Exec(ctx context.Context, v Verb, a *Args) (int, error) {
	res, err := c.Q.ExecContext(ctx, c.Text(v, a))
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// Number inserts a row and returns the number that it got.
func (c *Conn) Number(ctx context.Context, v Verb, a *Args) (int64, error) {
	res, err := c.Q.ExecContext(ctx, c.Text(v, a))
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// Each runs a query and hands each row to read.
func (c *Conn) Each(ctx context.Context, v Verb, a *Args, read func(*Row)) error {
	text := c.Text(v, a)
	if c.Shared {
		text += " LOCK IN SHARE MODE"
	}
	rows, err := c.Q.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	r := Row{cols: make([]sql.RawBytes, len(names))}
	to := make([]any, len(names))
	for i := range to {
		to[i] = &r.cols[i]
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		r.next = 0
		if read(&r); r.err != nil {
			return r.err
		}
	}
	return rows.Err()
}
