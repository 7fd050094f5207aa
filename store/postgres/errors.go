package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/jackc/pgx/v5/pgconn"
)

// The SQLSTATE codes that the store acts on.
const (
	codeReadOnly      = "25006"
	codeUnique        = "23505"
	codeSerialisation = "40001"
	codeDeadlock      = "40P01"
	codeNoRights      = "42501"
	codeNoTable       = "42P01"
	codeDiskFull      = "53100"
	codeLocked        = "55P03"
)

// code returns the SQLSTATE of err, or "".
func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// explain adds the sentinel that a caller of the store can match.
func explain(err error) error {
	switch code(err) {
	case codeReadOnly:
		return fmt.Errorf("%w: %w", store.ErrReadOnly, err)
	case codeDiskFull:
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case codeLocked:
		return fmt.Errorf("%w: %w", store.ErrBusy, err)
	case codeNoTable:
		return fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	return err
}

// again reports whether the same call may be sent once more: the server undid it, or it
// surely never arrived.
func again(err error) bool {
	switch code(err) {
	case codeSerialisation, codeDeadlock:
		return true
	case "":
		return err != nil && pgconn.SafeToRetry(err)
	}
	return false
}

// mostRetries bounds the repeats of one call. A deadlock has one victim at a time, so with n
// writers a call loses n-1 times in a row at worst.
const mostRetries = 20

// retry repeats fn while its error says so, after a short random pause: writers that met once
// should not meet again.
func retry(ctx context.Context, fn func() error) error {
	for n := 1; ; n++ {
		err := fn()
		if !again(err) || n == mostRetries {
			return err
		}
		if pause(ctx, time.Duration(rand.Int64N(int64(n)*int64(2*time.Millisecond)))) != nil {
			return err
		}
	}
}

// pause waits for d or the end of ctx, whose error it returns.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
