package demo

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	_ "modernc.org/sqlite" // the driver of the shop's own database
)

// orders is the shop's own database, apart from that of ax: what tasks work on.
type orders struct{ db *sql.DB }

const createOrders = `CREATE TABLE orders (
  id     INTEGER PRIMARY KEY,
  status TEXT NOT NULL CHECK (status IN ('placed', 'paid', 'closed'))
) STRICT`

// openOrders makes the table in a new file.
func openOrders(ctx context.Context, path string) (*orders, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, fmt.Errorf("orders: %w", err)
	}
	db.SetMaxOpenConns(1) // one writer is all that SQLite has
	if _, err := db.ExecContext(ctx, createOrders); err != nil {
		return nil, fmt.Errorf("orders: %w", err)
	}
	return &orders{db}, nil
}

func (o *orders) close() error { return o.db.Close() }

func (o *orders) place(ctx context.Context, id int) error {
	_, err := o.db.ExecContext(ctx, `INSERT INTO orders (id, status) VALUES (?, 'placed')`, id)
	return err
}

// pay reports whether the order could still be paid.
func (o *orders) pay(ctx context.Context, id int) (bool, error) {
	return o.change(ctx, `UPDATE orders SET status = 'paid' WHERE id = ? AND status = 'placed'`, id)
}

// closeUnpaid looks before it changes: a handler may run late, or twice, and must leave alone what
// was paid meanwhile. The condition is part of the statement, so nothing can come in between.
func (o *orders) closeUnpaid(ctx context.Context, key string) (bool, error) {
	id, err := strconv.Atoi(key)
	if err != nil {
		return false, fmt.Errorf("order %q: the key is not a number", key)
	}
	return o.change(ctx, `UPDATE orders SET status = 'closed' WHERE id = ? AND status = 'placed'`, id)
}

func (o *orders) change(ctx context.Context, statement string, id int) (bool, error) {
	res, err := o.db.ExecContext(ctx, statement, id)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// Orders are the orders by status.
type Orders struct {
	Placed int `json:"placed"` // all of them
	Paid   int `json:"paid"`
	Closed int `json:"closed"`
}

func (o *orders) count(ctx context.Context) (c Orders, err error) {
	row := o.db.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE status = 'paid'),
  count(*) FILTER (WHERE status = 'closed') FROM orders`)
	err = row.Scan(&c.Placed, &c.Paid, &c.Closed)
	return c, err
}
