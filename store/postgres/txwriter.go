package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/postgres/internal/wire"
	"github.com/ax-sched/ax/task"
)

var _ store.TxWriter = (*Store)(nil)

// InsertTx implements store.TxWriter in a *sql.Tx or pgx.Tx on the store's database: one statement
// for up to 1,000 tasks.
func (s *Store) InsertTx(
	ctx context.Context, tx store.Tx, tasks []task.Task,
) ([]store.Inserted, error) {
	for i := range tasks {
		if err := errors.Join(store.CheckInsertTx(&tasks[i]), insertable(&tasks[i])); err != nil {
			return nil, fmt.Errorf("insert task %d of %d: %w", i+1, len(tasks), err)
		}
	}
	q := wire.Inserts{Insert: s.statement(insertTx).text, Existing: s.statement(existingTx).text,
		Keep: s.statement(keepKeysTx).text, Drop: s.statement(dropKeysTx).text,
		Keepers: s.statement(keepersTx).text, Channel: s.hintChannel()}
	out := make([]store.Inserted, len(tasks))
	c, err := s.callerOf(ctx, tx)
	for _, part := range cut(gather([]*insertCall{{tasks: tasks, out: out}}), (*newRow).Size) {
		if err == nil {
			err = c.Insert(ctx, q, part)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("insert: %w", s.explainTx(err))
	}
	return out, nil
}

// CompleteTx implements store.TxWriter in a *sql.Tx or pgx.Tx on the store's database.
func (s *Store) CompleteTx(
	ctx context.Context, tx store.Tx, id, execution task.ID,
) (res store.Result, err error) {
	c, err := s.callerOf(ctx, tx)
	if err == nil {
		res, err = c.Complete(ctx, s.statement(completeTx).text, id, execution)
	}
	if err != nil {
		return store.Result{}, fmt.Errorf("complete: %w", s.explainTx(err))
	}
	return res, nil
}

func (s *Store) callerOf(ctx context.Context, tx store.Tx) (wire.Caller, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return wire.Caller{}, err
	}
	leave() // the connection is not the store's: a close need not wait for it
	c, ok := wire.CallerOf(tx)
	if !ok {
		err = store.WrongTx(tx, "store/postgres takes an open *sql.Tx or pgx.Tx on its database")
	}
	return c, err
}

// explainTx is explain for a transaction that may be on another database.
func (s *Store) explainTx(err error) error {
	if code(err) == codeNoTable {
		return &task.InputError{Field: "tx", Err: err, Reason: fmt.Sprintf("its database has no "+
			"tables of ax in the schema %s; begin it on the database of the store", s.schema)}
	}
	return explain(err)
}
