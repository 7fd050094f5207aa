package memory

import (
	"context"
	"math"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Due implements store.Watcher. A limit of 0 is 1,000.
func (s *Store) Due(
	ctx context.Context, cs []store.Cursor,
) ([][]store.Due, task.Time, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer s.mu.Unlock()
	out := make([][]store.Due, len(cs))
	for i, c := range cs {
		x := s.due[queue{c.Group, c.Bucket}]
		if x == nil {
			continue
		}
		limit := page(c.Limit, 1000, math.MaxInt)
		x.ascend(c.After, func(m store.Mark) bool {
			if m.RunAt > c.Until {
				return false
			}
			out[i] = append(out[i], store.Due{Mark: m, Kind: s.rows[m.ID].Kind})
			return len(out[i]) < limit
		})
	}
	return out, now, nil
}

// Live implements store.Watcher.
func (s *Store) Live(ctx context.Context, q store.LiveQuery) ([]task.Task, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	limit := page(q.Limit, 1000, math.MaxInt)
	out := []task.Task{}
	s.live.ascend(store.Mark{ID: q.After}, func(m store.Mark) bool {
		r := s.rows[m.ID]
		if (q.Epoch == 0 || q.Epoch == r.Epoch) && (!q.Asked || r.CancelAsked != 0) {
			out = append(out, light(&r.Task))
		}
		return len(out) < limit
	})
	return out, nil
}

// Expired implements store.Expirer.
func (s *Store) Expired(ctx context.Context, limit int) ([]task.Task, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	out := []task.Task{}
	s.expires.ascend(store.Mark{}, func(m store.Mark) bool {
		if m.RunAt >= now || len(out) == limit {
			return false
		}
		out = append(out, light(&s.rows[m.ID].Task))
		return true
	})
	return out, nil
}
