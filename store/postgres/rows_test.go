package postgres

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestCut(t *testing.T) {
	rows := make([]int, 2500)
	for i := range rows {
		rows[i] = i
	}
	var sizes []int
	for _, p := range cut(rows, func(i int) int {
		if i == 10 {
			return 2 * mostBytes
		}
		return 0
	}) {
		sizes = append(sizes, len(p))
	}
	if diff := cmp.Diff([]int{10, 1, 1000, 1000, 489}, sizes); diff != "" {
		t.Error(diff)
	}
	if parts := cut([]int{}, func(int) int { return 0 }); len(parts) != 1 || len(parts[0]) != 0 {
		t.Errorf("nothing was cut into %d parts", len(parts))
	}
}

func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tests := []struct {
			code  string
			fails int // how often
			calls int
			ok    bool
		}{
			{codeDeadlock, 3, 4, true},
			{codeSerialisation, mostRetries - 1, mostRetries, true},
			{codeDeadlock, mostRetries, mostRetries, false},
			{codeUnique, 1, 1, false},
			{codeLocked, 1, 1, false},
		}
		for _, tt := range tests {
			calls := 0
			err := retry(t.Context(), func() error {
				if calls++; calls <= tt.fails {
					return &pgconn.PgError{Code: tt.code}
				}
				return nil
			})
			if calls != tt.calls || (err == nil) != tt.ok {
				t.Errorf("%s %d times: %d calls, %v", tt.code, tt.fails, calls, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		err := retry(ctx, func() error {
			calls++
			cancel()
			return &pgconn.PgError{Code: codeDeadlock}
		})
		if calls != 1 || errors.Is(err, context.Canceled) {
			t.Errorf("after the end of the context: %d calls, %v", calls, err)
		}
	})
}
