package ax

import (
	"context"
	"errors"
	"fmt"

	"github.com/ax-sched/ax/executor"
	"github.com/ax-sched/ax/store"
)

// Tx is a transaction that you have open in the database of the scheduler's store: a *sql.Tx, or,
// with the PostgreSQL store, a pgx.Tx. Anything else gives an [InputError]. The packages of the
// stores say how to open your handle and what a long transaction delays: on PostgreSQL itself, on
// SQLite all writers.
type Tx = store.Tx

// SubmitTx is [Scheduler.Submit] in a transaction of yours: the task exists when that commits, and
// never existed when it rolls back. A delay counts from this call. After an error roll back.
//
// The answer is what your transaction sees. If another open transaction has submitted the same kind
// and key, the call waits for its end, as long as ctx and the time-outs of your connection let it.
func (s *Scheduler) SubmitTx(ctx context.Context, tx Tx, n NewTask) (Result, error) {
	res, err := s.SubmitManyTx(ctx, tx, []NewTask{n})
	if err != nil {
		return Result{}, err
	}
	return res[0], nil
}

// SubmitManyTx is SubmitTx for many tasks; it answers in the same order.
func (s *Scheduler) SubmitManyTx(ctx context.Context, tx Tx, ns []NewTask) ([]Result, error) {
	rows, err := s.rows(ctx, ns)
	if err != nil {
		return nil, err
	}
	ins, err := store.Writer(s.store).InsertTx(ctx, tx, rows)
	if err != nil {
		return nil, fmt.Errorf("submit: %w", err)
	}
	s.engine.Load().MadeTx(ins)
	return results(ins), nil
}

// CompleteTx ends the running task as SUCCEEDED in a transaction of yours, so that its effect and
// its end are one commit: however often the handler runs, one effect is committed. Call it in the
// handler with the handler's context, last before you commit, and return the error of the commit.
//
//	if err := ax.CompleteTx(ctx, tx); err != nil {
//		return err
//	}
//	return tx.Commit()
//
// Once it is committed nothing that the handler returns changes the task. If the handler returns
// nil and the row still says that it runs, the attempt has failed with "CompleteTx rolled back" and
// is retried. CompleteTx returns [ErrFenced] if this attempt is not the one that runs any more:
// roll back then. That is so also for an attempt that still runs but whose task is HELD because of
// its [MaxLifetime]; an error that its handler returns then counts as its failure, and is retried.
func CompleteTx(ctx context.Context, tx Tx) error {
	r := at(ctx)
	if r == nil {
		return errors.New("CompleteTx: the context is not that of a handler; pass on the one it got")
	}
	res, err := store.Writer(r.store).CompleteTx(ctx, tx, r.row.ID, r.row.ExecutionID)
	if err == nil && res.Status != store.Applied {
		err = ErrFenced
	}
	if err != nil {
		return fmt.Errorf("complete task %s: %w", r.row.ID, err)
	}
	executor.InTx(ctx)
	return nil
}
