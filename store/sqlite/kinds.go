package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/ax-sched/ax/store/sqlite/internal/lite"
	"github.com/ax-sched/ax/task"
)

// PutKinds implements store.KindStore.
func (s *Store) PutKinds(ctx context.Context, ks []task.Kind) error {
	err := s.writer.do(ctx, false, len(ks), func(t *tx) error {
		for i := range ks {
			_, err := t.run(putKind, func(q *lite.Stmt) {
				q.Text(1, ks[i].Name)
				q.Int(2, int64(ks[i].Timeout))
				q.Int(3, int64(ks[i].MaxRetries))
				q.Text(4, ks[i].RetryPolicy)
				q.Int(5, int64(t.now))
				q.Int(6, int64(ks[i].OnUnknown))
				q.Int(7, int64(ks[i].MaxLifetime))
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("put kinds: %w", err)
	}
	return nil
}

// Kinds implements store.KindStore; they come in the order of their names.
func (s *Store) Kinds(ctx context.Context) ([]task.Kind, error) {
	out := []task.Kind{}
	err := s.readers.do(ctx, func(c *lite.Conn) error {
		return each(c, selectKinds, nothing, func(q *lite.Stmt) error {
			out = append(out, task.Kind{Name: q.ColText(0), Timeout: time.Duration(q.ColInt(1)),
				MaxRetries: int(q.ColInt(2)), RetryPolicy: q.ColText(3),
				UpdatedAt: task.Time(q.ColInt(4)), OnUnknown: task.Unknown(q.ColInt(5)),
				MaxLifetime: time.Duration(q.ColInt(6))})
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read kinds: %w", err)
	}
	return out, nil
}
