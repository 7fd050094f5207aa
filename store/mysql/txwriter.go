package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
	"github.com/ax-sched/ax/task"
)

var _ store.TxWriter = (*Store)(nil)

// InsertTx implements store.TxWriter in a *sql.Tx on the store's database, of the driver
// github.com/go-sql-driver/mysql. Of a duplicate, the task that has the key is locked as a reader
// does until the transaction ends: it cannot start or end before.
func (s *Store) InsertTx(
	ctx context.Context, tx store.Tx, tasks []task.Task,
) ([]store.Inserted, error) {
	for i := range tasks {
		if err := errors.Join(store.CheckInsertTx(&tasks[i]), insertable(&tasks[i])); err != nil {
			return nil, fmt.Errorf("insert task %d of %d: %w", i+1, len(tasks), err)
		}
	}
	out := make([]store.Inserted, len(tasks))
	err := s.inTx(ctx, tx, func(c *conn) error {
		rows := gather([]*insertCall{{tasks: tasks, out: out}})
		for n := 1; ; n++ {
			// At first without a look: a look for what is not there locks the gap where it would be,
			// at the level of isolation that callers have by default.
			b := inserter{c: c, careful: n > 1}
			err := b.insertAll(ctx, rows)
			taken := wire.Number(err) == wire.NumDuplicate || errors.Is(err, wire.ErrAgain)
			if !taken || n == wire.MostRetries {
				return err
			}
			if _, err := c.Exec(ctx, rollbackTo, &args{}); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("insert: %w", err)
	}
	return out, nil
}

// CompleteTx implements store.TxWriter; see InsertTx.
func (s *Store) CompleteTx(
	ctx context.Context, tx store.Tx, id, execution task.ID,
) (res store.Result, err error) {
	err = s.inTx(ctx, tx, func(c *conn) error {
		res, err = c.complete(ctx, id, execution)
		return err
	})
	if err != nil {
		return store.Result{}, fmt.Errorf("complete: %w", err)
	}
	return res, nil
}

// inTx runs fn in the caller's transaction. If fn fails, what it wrote is taken back, and only
// that, unless the server has ended the transaction.
func (s *Store) inTx(ctx context.Context, tx store.Tx, fn func(*conn) error) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	leave() // the connection is not the store's: a close need not wait for it
	t, ok := tx.(*sql.Tx)
	if !ok || t == nil {
		return store.WrongTx(tx, "store/mysql takes an open *sql.Tx of the driver "+
			"github.com/go-sql-driver/mysql on its database")
	}
	c := s.connOf(t)
	if _, err := c.Exec(ctx, savepoint, &args{}); err != nil {
		return err
	}
	if err := c.Each(ctx, readClock, &args{}, func(r *row) { c.Now = r.Time() }); err != nil {
		return err
	}
	c.Shared = true
	err = fn(c)
	undo := context.WithoutCancel(ctx)
	if err != nil {
		// Where this fails too, the transaction is gone as a whole.
		_, _ = c.Exec(undo, rollbackTo, &args{})
	}
	if _, end := c.Exec(undo, release, &args{}); err == nil {
		err = end
	}
	return s.explainTx(err)
}

// explainTx is explain for a transaction that may be on another database.
func (s *Store) explainTx(err error) error {
	if wire.Number(err) == wire.NumNoTable {
		return &task.InputError{Field: "tx", Err: err, Reason: "its database has no tables of ax; " +
			"begin it on the database of the store"}
	}
	return wire.Explain(err)
}

func (c *conn) complete(ctx context.Context, id, execution task.ID) (store.Result, error) {
	res := store.Result{Status: store.Conflict, At: c.Now}
	a := &args{}
	a.Text(string(id[:]))
	a.Text(string(execution[:]))
	c.Shared = false // it locks more than that
	found := false
	var m task.Mutable
	var key, unique string
	if err := c.Each(ctx, lockRunning, a, func(r *row) {
		found = true
		res.Version, m.Attempt, m.Executor, m.Epoch, m.Token = r.Int()+1, int(r.Int()), r.Text(),
			r.Int(), r.Int()
		key, unique = r.Text(), r.Text()
	}); err != nil || !found {
		return res, err
	}
	m.ExecutionID = execution
	done := &args{}
	done.Time(c.Now)
	done.Time(c.Now)
	done.ID(id)
	done.Int(res.Version - 1)
	done.ID(execution)
	if n, err := c.Exec(ctx, complete, done); err != nil || n == 0 {
		return store.Result{Status: store.Conflict, At: c.Now}, err
	}
	said := &args{}
	said.Rows(1)
	said.Entry(id, res.Version, c.Now, &task.Move{Event: task.Succeed, From: task.Running,
		To: task.Succeeded}, &m)
	if _, err := c.Exec(ctx, insertHistory, said); err != nil {
		return res, err
	}
	if unique != "" {
		a := &args{}
		a.IDs([]task.ID{id})
		if _, err := c.Exec(ctx, freeUnique, a); err != nil {
			return res, err
		}
	}
	if key != "" {
		a := &args{}
		a.Rows(1)
		a.Text(key)
		a.ID(id)
		if _, err := c.Exec(ctx, freeKeys, a); err != nil {
			return res, err
		}
	}
	res.Status = store.Applied
	return res, nil
}
