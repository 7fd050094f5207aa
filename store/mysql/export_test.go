package mysql

import (
	"context"

	"github.com/ax-sched/ax/store"
)

// HoldFence runs fn in the middle of a transaction that holds a fence.
func HoldFence(ctx context.Context, s *Store, f store.Fence, fn func()) error {
	return s.with(ctx, s.claimer, func(c *conn) error {
		return c.inTx(ctx, f, func() error { fn(); return nil })
	})
}
