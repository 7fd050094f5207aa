package mysql

import (
	"context"
	"slices"
	"time"

	"github.com/ax-sched/ax/store/mysql/internal/wire"
	"github.com/ax-sched/ax/task"
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
		err := s.insertOn(ctx, s.slow, []*insertCall{c})
		if wire.Number(err) != wire.NumLockWait {
			return err
		}
		if err := wire.Pause(ctx, slowPause); err != nil {
			return err
		}
	}
}

// withoutOpen sends calls that want a key which another transaction holds to the slow lane, and
// returns the others; if it finds none, both halves.
func (s *Store) withoutOpen(ctx context.Context, calls []*insertCall) [][]*insertCall {
	var keys []uniqueKey
	for _, r := range gather(calls) {
		if r.Key != "" {
			keys = append(keys, r.key())
		}
	}
	open, err := s.openKeys(ctx, keys)
	if err == nil && len(open) > 0 {
		var rest []*insertCall
		for _, c := range calls {
			if c.slow = slices.ContainsFunc(c.tasks, func(t task.Task) bool {
				return open[uniqueKey{t.Kind, t.Key}]
			}); !c.slow {
				rest = append(rest, c)
			}
		}
		if len(rest) == 0 {
			return nil
		}
		return [][]*insertCall{rest}
	}
	half := len(calls) / 2 // the next attempt has the error, if it stays
	return [][]*insertCall{calls[:half], calls[half:]}
}

// openKeys returns those of the keys that others hold: what they have not committed yet is seen,
// but cannot be locked.
func (s *Store) openKeys(ctx context.Context, keys []uniqueKey) (map[uniqueKey]bool, error) {
	open := make(map[uniqueKey]bool)
	if len(keys) == 0 {
		return open, nil
	}
	a := keyArgs(keys)
	return open, s.with(ctx, s.flusher, func(c *conn) error {
		for _, v := range [...]struct{ see, lock verb }{{seeUnique, lockFreeUnique},
			{seeKept, lockFreeKept}} {
			err := c.dirty(ctx, func() error {
				err := c.Each(ctx, v.see, a, func(r *row) {
					open[uniqueKey{r.Text(), r.Text()}] = true
				})
				if err != nil {
					return err
				}
				return c.Each(ctx, v.lock, a, func(r *row) {
					delete(open, uniqueKey{r.Text(), r.Text()})
				})
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
