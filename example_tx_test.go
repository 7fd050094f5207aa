package ax_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store/sqlite"

	_ "modernc.org/sqlite"
)

// An order row and its time-out in one transaction: there is never an order that nobody closes, nor
// a time-out of an order that does not exist. The time-out closes the order and ends itself in
// one transaction too.
func ExampleScheduler_SubmitTx() {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "shop.db")
	st, err := sqlite.Open(file, sqlite.Shared()) // the file is the shop's
	if err != nil {
		fmt.Println(err)
		return
	}
	defer st.Close()
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE orders (id TEXT PRIMARY KEY, state TEXT)"); err != nil {
		fmt.Println(err)
		return
	}
	a, err := ax.New(st, ax.Config{Logger: quiet})
	if err != nil {
		fmt.Println(err)
		return
	}
	closed := make(chan string)
	a.Handle("order.close", func(ctx context.Context, t *ax.Task) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		_, err = tx.ExecContext(ctx,
			"UPDATE orders SET state = 'closed' WHERE id = ? AND state = 'open'", t.Key)
		if err != nil {
			return err
		}
		if err := ax.CompleteTx(ctx, tx); err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		closed <- t.Key
		return nil
	})
	defer running(a)()

	ctx := context.Background()
	place := func(id string, check func() error) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?, 'open')", id); err != nil {
			return err
		}
		_, err = a.SubmitTx(ctx, tx, ax.NewTask{Kind: "order.close", Key: id,
			Delay: 50 * time.Millisecond})
		if err != nil {
			return err
		}
		if err := check(); err != nil {
			return err // neither the order nor its time-out has ever been there
		}
		return tx.Commit()
	}
	fmt.Println(place("1007", func() error { return nil }))
	fmt.Println(place("1008", func() error { return errors.New("out of stock") }))
	fmt.Println("closed:", <-closed)

	rows, err := db.Query("SELECT id, state FROM orders ORDER BY id")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		var id, state string
		if err := rows.Scan(&id, &state); err != nil {
			fmt.Println(err)
		}
		fmt.Println("order", id, "is", state)
	}
	tasks, err := a.List(ctx, ax.Filter{Kind: "order.close"})
	fmt.Println(len(tasks), "task:", tasks[0].Key, tasks[0].State, err)
	// Output:
	// <nil>
	// out of stock
	// closed: 1007
	// order 1007 is closed
	// 1 task: 1007 SUCCEEDED <nil>
}
