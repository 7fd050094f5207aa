package postgres

import (
	"context"
	"time"
)

// slowPause is how long a caller in the slow lane leaves the connection to others.
const slowPause = 50 * time.Millisecond

// insertSlow inserts for a caller whose key is open in a foreign transaction: again and again, with
// a short wait each time, until that transaction ends or the caller's context does. It takes a
// reader's connection, so neither other inserts nor claims wait for it.
func (s *Store) insertSlow(ctx context.Context, c *insertCall) error {
	s.apart.Add(c.tasks)
	defer s.apart.Remove(c.tasks)
	for {
		err := retry(ctx, func() error {
			return s.with(ctx, s.slow, func(k *conn) error {
				return s.insertOn(ctx, k, []*insertCall{c})
			})
		})
		if code(err) != codeLocked {
			return err
		}
		if err := pause(ctx, slowPause); err != nil {
			return err
		}
	}
}
