package guides

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/axtest"
	"github.com/ax-sched/ax/store/sqlite"
	"github.com/ax-sched/ax/task"
)

// CloseOrder closes an order that nobody has paid.
type CloseOrder struct {
	OrderID string `json:"order_id"`
}

func (CloseOrder) Kind() string { return "order.close" }

type Shop struct {
	db *sql.DB
	ax *ax.Scheduler
}

func NewShop(db *sql.DB, a *ax.Scheduler) (*Shop, error) {
	s := &Shop{db: db, ax: a}
	return s, ax.HandleFunc(a, s.closeOrder)
}

func (s *Shop) closeOrder(ctx context.Context, t *ax.TaskOf[CloseOrder]) error {
	// No row means that it was paid, or closed by an earlier attempt: both are fine.
	_, err := s.db.ExecContext(ctx,
		`UPDATE orders SET state = 'closed' WHERE id = ? AND state = 'new'`, t.Args.OrderID)
	return err
}

func (s *Shop) Place(ctx context.Context, id string) error {
	// The time-out first: for an order that does not exist it does nothing.
	_, err := s.ax.Submit(ctx, ax.NewTask{
		Args:  CloseOrder{OrderID: id},
		Key:   id,
		Delay: 30 * time.Minute,
	})
	if err != nil {
		return err
	}
	_, err = s.db.ExecContext(ctx, `INSERT INTO orders (id, state) VALUES (?, 'new')`, id)
	return err
}

func (s *Shop) PlaceTx(ctx context.Context, id string) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx,
		`INSERT INTO orders (id, state) VALUES (?, 'new')`, id); err != nil {
		return err
	}
	if _, err := s.ax.SubmitTx(ctx, tx, ax.NewTask{
		Args:  CloseOrder{OrderID: id},
		Key:   id,
		Delay: 30 * time.Minute,
	}); err != nil {
		return err
	}
	return tx.Commit()
}

func (s *Shop) Pay(ctx context.Context, id string) error {
	res, err := s.db.ExecContext(ctx,
		`UPDATE orders SET state = 'paid' WHERE id = ? AND state = 'new'`, id)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, errors.New("the order is closed"))
	}
	// Only tidy: without it the handler comes, looks, and does nothing.
	_ = s.ax.CancelKey(ctx, "order.close", id, ax.By{Actor: "shop", Reason: "paid"})
	return nil
}

// ordersDB makes an empty table of orders in a file.
func ordersDB(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	_, err = db.Exec(`CREATE TABLE orders (id TEXT PRIMARY KEY, state TEXT NOT NULL)`)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func openShop(tt *axtest.T) *Shop {
	tt.Helper()
	shop, err := NewShop(ordersDB(tt.T, filepath.Join(tt.TempDir(), "shop.db")), tt.Scheduler)
	if err != nil {
		tt.Fatal(err)
	}
	return shop
}

func (s *Shop) state(t *testing.T, id string) (state string) {
	t.Helper()
	err := s.db.QueryRow(`SELECT state FROM orders WHERE id = ?`, id).Scan(&state)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// TestPlaceTx: order and time-out exist together, or neither does.
func TestPlaceTx(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	db := ordersDB(t, path)
	st, err := sqlite.Open(path, sqlite.Shared())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	a, err := ax.New(st, ax.Config{})
	if err != nil {
		t.Fatal(err)
	}
	shop, err := NewShop(db, a)
	if err != nil {
		t.Fatal(err)
	}
	if err := shop.PlaceTx(t.Context(), "1007"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`INSERT INTO orders (id, state) VALUES ('taken', 'new')`); err != nil {
		t.Fatal(err)
	}
	if err := shop.PlaceTx(t.Context(), "taken"); err == nil {
		t.Error("an order was placed twice")
	}
	rows, err := a.List(t.Context(), ax.Filter{Kind: "order.close"})
	if err != nil || len(rows) != 1 || rows[0].Key != "1007" || rows[0].State != task.Scheduled {
		t.Errorf("time-outs: %+v, %v", rows, err)
	}
}

// TestLatePay: an order that was closed cannot be paid, and the other way round.
func TestLatePay(t *testing.T) {
	axtest.Run(t, ax.Config{}, func(tt *axtest.T) {
		shop := openShop(tt)
		for _, id := range []string{"late", "paid"} {
			if err := shop.Place(tt.Context(), id); err != nil {
				tt.Fatal(err)
			}
		}
		if err := shop.Pay(tt.Context(), "paid"); err != nil {
			tt.Fatal(err)
		}
		tt.Advance(time.Hour)
		if err := shop.Pay(tt.Context(), "late"); err == nil {
			tt.Error("a closed order was paid")
		}
		tt.WantState(tt.Submitted("order.close", "paid").ID, task.Canceled)
	})
}
