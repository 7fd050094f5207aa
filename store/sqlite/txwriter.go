package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
	"github.com/ax-sched/ax/task"
)

var _ store.TxWriter = (*Store)(nil)

// caller is the caller's transaction, with the one time of a call.
type caller struct {
	tx  *sql.Tx
	now task.Time
}

// InsertTx implements store.TxWriter in a *sql.Tx on the store's file, of a handle of the caller's;
// see the package's comment for how to open that. It waits for the write lock of the file as long
// as the caller's handle does, and holds it until the caller's transaction ends.
func (s *Store) InsertTx(
	ctx context.Context, tx store.Tx, tasks []task.Task,
) ([]store.Inserted, error) {
	for i := range tasks {
		if err := errors.Join(store.CheckInsertTx(&tasks[i]), insertable(&tasks[i])); err != nil {
			return nil, fmt.Errorf("insert task %d of %d: %w", i+1, len(tasks), err)
		}
	}
	out := make([]store.Inserted, len(tasks))
	err := s.inTx(ctx, tx, func(c *caller) error {
		for i := range tasks {
			var err error
			if out[i], err = c.insert(ctx, &tasks[i]); err != nil {
				return err
			}
		}
		return nil
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
	err = s.inTx(ctx, tx, func(c *caller) error {
		res, err = c.complete(ctx, id, execution)
		return err
	})
	if err != nil {
		return store.Result{}, fmt.Errorf("complete: %w", err)
	}
	return res, nil
}

// inTx runs f in the caller's transaction after it has the write lock. If f fails, what it wrote is
// taken back, and only that: the caller may go on with a transaction of SQLite after an error.
func (s *Store) inTx(ctx context.Context, tx store.Tx, f func(*caller) error) error {
	t, ok := tx.(*sql.Tx)
	if !ok || t == nil {
		return store.WrongTx(tx, "store/sqlite takes an open *sql.Tx of the driver "+
			"modernc.org/sqlite on the file of the store")
	}
	if s.readers.isClosed() {
		return store.ErrClosed
	}
	if _, err := t.ExecContext(ctx, lockTx); err != nil {
		return namedTx(err)
	}
	if _, err := t.ExecContext(ctx, savepoint); err != nil {
		return namedTx(err)
	}
	err := f(&caller{tx: t, now: s.opts.now()})
	undo := context.WithoutCancel(ctx)
	if err != nil {
		// Where this fails too, the transaction is gone as a whole.
		_, _ = t.ExecContext(undo, rollbackTo)
	}
	if _, end := t.ExecContext(undo, release); err == nil {
		err = end
	}
	return namedTx(err)
}

// exec runs a statement and returns the number of rows it changed.
func (c *caller) exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := c.tx.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// insert is tx.insert through database/sql.
func (c *caller) insert(ctx context.Context, t *task.Task) (store.Inserted, error) {
	m := t.Mutable
	m.Resolve(c.now)
	res, err := c.tx.ExecContext(ctx, insertTaskTx, t.ID[:], t.Group, int64(t.Bucket), t.Kind,
		int64(m.RunAt), int64(c.now), int64(m.Run), int64(t.ExpiresAt))
	if err != nil {
		return store.Inserted{}, err
	}
	if made, err := res.RowsAffected(); err != nil || made == 0 {
		return c.found(ctx, false, err, findTaskTx, t.ID[:])
	}
	n, err := res.LastInsertId()
	if err != nil {
		return store.Inserted{}, err
	}
	if t.Key != "" {
		got, err := c.exec(ctx, takeUniqueTx, t.Kind, t.Key, n)
		if err == nil && got == 0 {
			_, err = c.exec(ctx, dropTaskTx, n)
			return c.found(ctx, true, err, findUniqueTx, t.Kind, t.Key)
		}
		if err != nil {
			return store.Inserted{}, err
		}
		if t.Unique != task.UniqueLive {
			if in, taken, err := c.keepKey(ctx, t, n); taken || err != nil {
				return in, err
			}
		}
	}
	err = c.spec(ctx, n, t, m.RunAt)
	return store.Inserted{ID: t.ID, State: m.State, Version: 1, RunAt: m.RunAt, At: c.now}, err
}

// spec writes what belongs to row n.
func (c *caller) spec(ctx context.Context, n int64, t *task.Task, runAt task.Time) error {
	labels, err := store.FormatLabels(t.Labels)
	if err != nil {
		return err
	}
	fire := t.FireTime
	if fire == task.StoreNow {
		fire = runAt
	}
	if _, err := c.exec(ctx, insertSpecTx, n, t.Key, int64(fire), int64(t.Overlap), t.OverlapKey,
		int64(t.MaxRetries), int64(t.Timeout), t.RetryPolicy, t.OwnerService, labels, int64(c.now),
		t.Payload, int64(t.OnUnknown), int64(t.MaxLateness), int64(t.MaxLifetime)); err != nil {
		return err
	}
	_, err = c.exec(ctx, insertHistoryTx, n, int64(c.now))
	return err
}

// found answers an insert whose id or key exists.
func (c *caller) found(ctx context.Context, duplicate bool, err error, query string, args ...any) (
	store.Inserted, error) {
	in := store.Inserted{Duplicate: duplicate, At: c.now}
	if err != nil {
		return in, err
	}
	var id []byte
	var state, runAt int64
	err = c.tx.QueryRowContext(ctx, query, args...).Scan(&id, &state, &in.Version, &runAt)
	copy(in.ID[:], id)
	in.State, in.RunAt = task.State(state), task.Time(runAt)
	return in, err
}

func (c *caller) complete(ctx context.Context, id, execution task.ID) (store.Result, error) {
	res := store.Result{Status: store.Conflict, At: c.now}
	done, err := c.exec(ctx, recordDoneTx, id[:], execution[:], int64(c.now))
	if err != nil || done == 0 {
		return res, err
	}
	var n int64
	err = c.tx.QueryRowContext(ctx, doneTx, id[:], execution[:], int64(c.now)).Scan(&n, &res.Version)
	if err != nil {
		return res, err
	}
	for _, free := range []string{freeUniqueTx, freeKeyTx} {
		if _, err := c.exec(ctx, free, n); err != nil {
			return res, err
		}
	}
	res.Status = store.Applied
	return res, nil
}

// busySnapshot: somebody else has written since the transaction first read.
const busySnapshot = 517

// namedTx adds the sentinel that an error of the caller's driver stands for, and the way out.
func namedTx(err error) error {
	var e interface{ Code() int }
	if !errors.As(err, &e) {
		return err
	}
	switch sentinel := sentinels[e.Code()&0xff]; {
	case e.Code() == busySnapshot:
		return fmt.Errorf("%w: the transaction has read before another one wrote; "+
			"begin it as a writer, with _txlock=immediate in the data source: %w", sentinel, err)
	case e.Code()&0xff == lite.Busy:
		return fmt.Errorf("%w: another transaction writes; set a busy time-out, "+
			"with _pragma=busy_timeout(10000) in the data source: %w", sentinel, err)
	case sentinel != nil:
		return fmt.Errorf("%w: %w", sentinel, err)
	case e.Code()&0xff == 1: // SQLITE_ERROR, which is also what a missing table gives
		return fmt.Errorf("%w; the transaction must be on the file of the store", err)
	}
	return err
}

var _ store.BlockReporter = (*Store)(nil)

// OnBlocked implements store.BlockReporter.
func (s *Store) OnBlocked(tell func(waited time.Duration)) (remove func()) {
	w, seat := s.writer, &tell
	w.seats.Lock()
	defer w.seats.Unlock()
	w.blocked = append(w.blocked, seat)
	return func() {
		w.seats.Lock()
		defer w.seats.Unlock()
		w.blocked = slices.DeleteFunc(w.blocked,
			func(x *func(time.Duration)) bool { return x == seat })
	}
}
