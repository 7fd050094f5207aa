package sqlite

import (
	"context"
	"fmt"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
	"github.com/ax-sched/ax/task"
)

// Now implements store.Clock: the host's wall clock.
func (s *Store) Now(ctx context.Context) (task.Time, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s.readers.isClosed() {
		return 0, store.ErrClosed
	}
	return s.opts.now(), nil
}

// Token implements store.Fencer.
func (s *Store) Token(ctx context.Context, partition int) (token int64, err error) {
	err = s.readers.do(ctx, func(c *lite.Conn) error {
		token, err = installed(c, partition)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read token: %w", err)
	}
	return token, nil
}

// Install implements store.Fencer. Where this store holds the lock of the owner, every process
// that had members before is dead, and so the same transaction retires all epochs but its own.
func (s *Store) Install(
	ctx context.Context, partition int, seen int64, holder string,
) (int64, error) {
	err := s.writer.do(ctx, true, 1, func(t *tx) error {
		token, err := installed(t.conn, partition)
		if err != nil {
			return err
		}
		if token != seen {
			return store.ErrFenced
		}
		_, err = t.run(installToken, func(q *lite.Stmt) {
			q.Int(1, int64(partition))
			q.Int(2, seen+1)
			q.Text(3, holder)
			q.Int(4, int64(t.now))
		})
		if err != nil || !s.owner.Held() {
			return err
		}
		return s.members.retireOthers(t)
	})
	if err != nil {
		return 0, fmt.Errorf("install token: %w", err)
	}
	return seen + 1, nil
}
