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

// Marked returns the numbers of the sessions that are known by a fence.
func Marked(ctx context.Context, s *Store, f store.Fence) (ids []int64, err error) {
	err = s.with(ctx, s.readers, func(c *conn) (err error) {
		ids, err = c.marked(ctx, f)
		return err
	})
	return ids, err
}
