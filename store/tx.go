package store

import (
	"context"
	"fmt"
	"time"

	"github.com/ax-sched/ax/task"
)

// Tx is a transaction that the caller has open in the database of the store, on a connection of the
// caller's own: a *sql.Tx, or for the PostgreSQL store also a pgx.Tx. Anything else is refused with
// an error that names what the store takes.
type Tx any

// TxWriter is an extra of stores whose tables can lie beside those of the caller. What it writes
// belongs to the caller's transaction: rolled back, it never was; before the commit nobody else
// sees it, and no hint of it is certain to reach a scheduler.
//
// Nothing is set on the transaction, and nothing waits for the store's own connections. A call has
// its whole effect or none. After an error of PostgreSQL the transaction can only be rolled back.
type TxWriter interface {
	// InsertTx is Insert without a fence, for plain tasks: SCHEDULED, of no job, never moved. A
	// (kind, key) that is open in another transaction makes it wait for the end of that one, as
	// long as ctx and the time-outs of the caller's connection let it: then it gives ErrBusy or
	// the error of ctx.
	InsertTx(ctx context.Context, tx Tx, tasks []task.Task) ([]Inserted, error)
	// CompleteTx is Apply of one transition, a RUNNING task to SUCCEEDED, which gives its keys back.
	// It matches the id, the state and the execution; the version need not be known, because a
	// state and an execution never come back. The status is Applied, or Conflict where no row
	// matched: the execution is not that of the row any more, or has ended.
	CompleteTx(ctx context.Context, tx Tx, id, execution task.ID) (Result, error)
}

// BlockReporter is an extra of stores in which one open transaction of anybody stops all writers.
type BlockReporter interface {
	// OnBlocked adds what is told of each write that has waited for a second for somebody else's
	// transaction, until remove is called; tell must not block.
	OnBlocked(tell func(waited time.Duration)) (remove func())
}

// CheckInsertTx refuses a row that InsertTx does not take.
func CheckInsertTx(t *task.Task) error {
	if err := CheckInsert(t); err != nil {
		return err
	}
	if t.State != task.Scheduled || !t.JobID.IsZero() || t.Attempt != 0 {
		return fmt.Errorf("%w: only a new SCHEDULED task is inserted in a caller's transaction",
			task.ErrIllegal)
	}
	return nil
}

// WrongTx says that tx is not a transaction that the store can use, and which ones are.
func WrongTx(tx Tx, takes string) error {
	return &task.InputError{Field: "tx", Reason: fmt.Sprintf("is a %T; %s", tx, takes)}
}

// Writer returns the TxWriter that s is or wraps; where there is none, one that refuses every
// transaction.
func Writer(s Store) TxWriter {
	if w, ok := As[TxWriter](s); ok {
		return w
	}
	return noWriter{}
}

// noWriter stands for a store that knows no transactions of callers, as that in memory.
type noWriter struct{}

const noTx = "the memory store (axtest) takes no transactions of callers; use store/sqlite, " +
	"store/postgres or store/mysql"

func (noWriter) InsertTx(_ context.Context, tx Tx, _ []task.Task) ([]Inserted, error) {
	return nil, WrongTx(tx, noTx)
}

func (noWriter) CompleteTx(_ context.Context, tx Tx, _, _ task.ID) (Result, error) {
	return Result{}, WrongTx(tx, noTx)
}
