package memory

import (
	"context"

	"github.com/ax-sched/ax/store"
)

// Inspect implements store.Inspector. There is no schema and nothing to clean up.
func (s *Store) Inspect(ctx context.Context) (store.Inspection, error) {
	if _, err := s.begin(ctx); err != nil {
		return store.Inspection{}, err
	}
	defer s.mu.Unlock()
	return store.Inspection{}, nil
}
