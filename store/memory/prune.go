package memory

import (
	"context"
	"fmt"

	"github.com/ax-sched/ax/store"
)

// Prune implements store.Pruner.
func (s *Store) Prune(ctx context.Context, f store.Fence, p store.Prune) (store.Pruned, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return store.Pruned{}, err
	}
	defer s.mu.Unlock()
	if err := s.check(f); err != nil {
		return store.Pruned{}, fmt.Errorf("prune: %w", err)
	}
	var out store.Pruned
	var over []*row
	seen, limit := 0, page(p.Limit, 500, 1000)
	s.ids.ascend(store.Mark{ID: p.After}, func(m store.Mark) bool {
		if !p.Until.IsZero() && (store.Mark{ID: p.Until}).Less(m) {
			return false
		}
		r := s.rows[m.ID]
		if p.Keep.Over(r.State, r.Kind, r.Job, r.UpdatedAt, now) {
			over = append(over, r)
		}
		if seen++; seen == limit {
			out.Next = m.ID
		}
		return seen < limit
	})
	for _, r := range over {
		s.drop(r)
	}
	out.Deleted, out.Keys = len(over), s.kept.prune(now, limit)
	return out, nil
}

// drop forgets a final row; it holds no keys.
func (s *Store) drop(r *row) {
	s.unlink(r)
	s.ids.remove(store.Mark{ID: r.ID})
	delete(s.rows, r.ID)
}
