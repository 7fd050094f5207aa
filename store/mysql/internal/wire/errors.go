package wire

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/go-sql-driver/mysql"
)

// The error numbers that the store acts on. Those of MySQL and MariaDB are the same up to 1999.
const (
	NumUnknownSession = 1094
	NumDiskFull       = 1021
	NumTableFull      = 1114
	NumDuplicate      = 1062
	NumNoTable        = 1146
	NumLockWait       = 1205
	NumDeadlock       = 1213
	NumChangedRow     = 1020 // MariaDB with innodb_snapshot_isolation
	NumReadOnly       = 1290
	NumReadOnlyTx     = 1792
	NumReadOnlyIDB    = 1874
)

// Number returns the error number of the server, or 0.
func Number(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// Explain adds the sentinel that a caller of the store can match.
func Explain(err error) error {
	switch Number(err) {
	case NumReadOnly, NumReadOnlyTx, NumReadOnlyIDB:
		return fmt.Errorf("%w: %w", store.ErrReadOnly, err)
	case NumDiskFull, NumTableFull:
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case NumLockWait:
		return fmt.Errorf("%w: %w", store.ErrBusy, err)
	case NumNoTable:
		return fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	return err
}

// ErrAgain: what a transaction had read was no longer so when it wrote.
var ErrAgain = errors.New("rows changed meanwhile, again and again")

// again reports whether the same transaction may be made once more: the server undid it, or it was
// rolled back because somebody else was faster.
func again(err error) bool {
	switch Number(err) {
	case NumDeadlock, NumChangedRow, NumDuplicate:
		return true
	}
	return errors.Is(err, ErrAgain)
}

// MostRetries bounds the repeats of one call. A deadlock has one victim at a time, so with n
// writers a call loses n-1 times in a row at worst.
const MostRetries = 30

// Retry repeats fn while its error says so, after a short random Pause: writers that met once
// should not meet again.
func Retry(ctx context.Context, fn func() error) error {
	for n := 1; ; n++ {
		err := fn()
		if !again(err) || n == MostRetries {
			return err
		}
		if Pause(ctx, time.Duration(rand.Int64N(int64(n)*int64(2*time.Millisecond)))) != nil {
			return err
		}
	}
}

// Pause waits for d or the end of ctx, whose error it returns.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
