package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/ax-sched/ax/task"
)

// PutKinds implements store.KindStore.
func (s *Store) PutKinds(ctx context.Context, ks []task.Kind) error {
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	for _, k := range ks {
		k.UpdatedAt = now
		s.kinds[k.Name] = k
	}
	return nil
}

// Kinds implements store.KindStore; they come in the order of their names.
func (s *Store) Kinds(ctx context.Context) ([]task.Kind, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	out := make([]task.Kind, 0, len(s.kinds))
	for _, name := range slices.Sorted(maps.Keys(s.kinds)) {
		out = append(out, s.kinds[name])
	}
	return out, nil
}
