package sqlite

import (
	"context"
	"fmt"
	"math"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
	"github.com/ax-sched/ax/task"
)

// Due implements store.Watcher. A limit of 0 is 1,000.
func (s *Store) Due(
	ctx context.Context, cs []store.Cursor,
) ([][]store.Due, task.Time, error) {
	out := make([][]store.Due, len(cs))
	now := s.opts.now()
	err := s.readers.do(ctx, func(c *lite.Conn) error {
		for i := range cs {
			err := each(c, selectDue, func(q *lite.Stmt) { bindCursor(q, &cs[i]) },
				func(q *lite.Stmt) error {
					d := store.Due{Kind: q.ColText(2)}
					d.RunAt, d.ID = task.Time(q.ColInt(0)), readID(q, 1)
					out[i] = append(out[i], d)
					return nil
				})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("read due tasks: %w", err)
	}
	return out, now, nil
}

func bindCursor(q *lite.Stmt, c *store.Cursor) {
	q.Text(1, c.Group)
	q.Int(2, int64(c.Bucket))
	q.Int(3, int64(c.After.RunAt))
	q.Blob(4, c.After.ID[:])
	q.Int(5, int64(c.Until))
	q.Int(6, int64(page(c.Limit, 1000, math.MaxInt)))
}

// Live implements store.Watcher.
func (s *Store) Live(ctx context.Context, q store.LiveQuery) ([]task.Task, error) {
	out := []task.Task{}
	asked := int64(0)
	if q.Asked {
		asked = 1
	}
	err := s.readers.do(ctx, func(c *lite.Conn) error {
		return each(c, selectLive, func(st *lite.Stmt) {
			st.Blob(1, q.After[:])
			st.Int(2, q.Epoch)
			st.Int(3, asked)
			st.Int(4, int64(page(q.Limit, 1000, math.MaxInt)))
		}, into(&out))
	})
	if err != nil {
		return nil, fmt.Errorf("read live tasks: %w", err)
	}
	return out, nil
}

// Expired implements store.Expirer.
func (s *Store) Expired(ctx context.Context, limit int) ([]task.Task, error) {
	out := []task.Task{}
	now := s.opts.now()
	err := s.readers.do(ctx, func(c *lite.Conn) error {
		return each(c, selectExpired, func(q *lite.Stmt) {
			q.Int(1, int64(now))
			q.Int(2, int64(limit))
		}, into(&out))
	})
	if err != nil {
		return nil, fmt.Errorf("read expired tasks: %w", err)
	}
	return out, nil
}
