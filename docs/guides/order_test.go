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

// Shop sells things.
type Shop struct {
	db *sql.DB // the orders
	ax *ax.Scheduler
}

// NewShop registers the handlers: a task whose kind has no handler waits for ever.
func NewShop(db *sql.DB, a *ax.Scheduler) (*Shop, error) {
	s := &Shop{db: db, ax: a}
	return s, errors.Join(ax.HandleFunc(a, s.closeOrder), ax.HandleFunc(a, s.refund))
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

// serve opens one file for orders and tasks, and runs the shop until ctx ends.
func serve(ctx context.Context, file string, sell func(context.Context, *Shop)) error {
	st, err := sqlite.Open(file, sqlite.Shared()) // adds the tables of ax to those of the shop
	if err != nil {
		return err
	}
	defer st.Close()
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	defer db.Close()
	a, err := ax.New(st, ax.Config{})
	if err != nil {
		return err
	}
	shop, err := NewShop(db, a)
	if err != nil {
		return err
	}
	go sell(ctx, shop) // the HTTP server, say
	return a.Run(ctx)
}

// Refund is the work of giving money back.
type Refund struct {
	OrderID string `json:"order_id"`
}

func (Refund) Kind() string { return "order.refund" }

func (s *Shop) refund(ctx context.Context, t *ax.TaskOf[Refund]) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx,
		`INSERT INTO refunds (order_id) VALUES (?)`, t.Args.OrderID); err != nil {
		return err
	}
	if err := ax.CompleteTx(ctx, tx); err != nil { // last before the commit
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
	_, err = db.Exec(`CREATE TABLE orders (id TEXT PRIMARY KEY, state TEXT NOT NULL);
		CREATE TABLE refunds (order_id TEXT NOT NULL)`)
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

// TestServe: the shop of the guide, as it is opened there, places an order and books a
// refund once.
func TestServe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	db := ordersDB(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan struct{})
	err := serve(ctx, path, func(ctx context.Context, s *Shop) {
		defer close(done)
		defer cancel()
		if err := s.PlaceTx(ctx, "1007"); err != nil {
			t.Error(err)
		}
		res, err := s.ax.Submit(ctx, ax.NewTask{Args: Refund{OrderID: "1007"}, Key: "1007"})
		if err != nil {
			t.Error(err)
			return
		}
		for {
			switch row, err := s.ax.Get(ctx, res.ID); {
			case err != nil || row.State.Final() && row.State != task.Succeeded:
				t.Errorf("the refund is %s, %v", row.State, err)
				return
			case row.State == task.Succeeded:
				return
			}
			<-time.After(5 * time.Millisecond)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	<-done
	var orders, refunds int
	err = db.QueryRow(`SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM refunds)`).
		Scan(&orders, &refunds)
	if err != nil || orders != 1 || refunds != 1 {
		t.Errorf("%d orders, %d refunds, %v", orders, refunds, err)
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
