package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ax-sched/ax/registry"
)

// member is an unretired executor; a retired one has no entry.
type member = registry.Member

// members is the registry.Registry of a store. Leases run by the store's clock.
type members struct{ s *Store }

// Registry returns the store as a registry.Registry.
func (s *Store) Registry() registry.Registry { return members{s} }

// Register implements registry.Registry. A retired instance gets a new epoch.
func (r members) Register(
	ctx context.Context, m registry.Member, ttl time.Duration,
) (int64, error) {
	now, err := r.s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer r.s.mu.Unlock()
	m.Epoch, m.Renewals = 0, 0
	for epoch, old := range r.s.members {
		switch {
		case old.Instance == m.Instance:
			m.Epoch, m.Renewals = epoch, old.Renewals+1
		case old.Name == m.Name:
			delete(r.s.members, epoch)
		}
	}
	if m.Epoch == 0 {
		r.s.epoch++
		m.Epoch = r.s.epoch
	}
	m.Until = now.Add(ttl)
	r.s.members[m.Epoch] = m
	return m.Epoch, nil
}

// Renew implements registry.Registry.
func (r members) Renew(ctx context.Context, epoch int64, ttl time.Duration) error {
	now, err := r.s.begin(ctx)
	if err != nil {
		return err
	}
	defer r.s.mu.Unlock()
	m, ok := r.s.members[epoch]
	if !ok {
		return registry.ErrRetired
	}
	m.Until = now.Add(ttl)
	m.Renewals++
	r.s.members[epoch] = m
	return nil
}

// Retire implements registry.Registry.
func (r members) Retire(ctx context.Context, epoch int64) error {
	now, err := r.s.begin(ctx)
	if err != nil {
		return err
	}
	defer r.s.mu.Unlock()
	if m, ok := r.s.members[epoch]; ok && now <= m.Until {
		return registry.ErrAlive
	}
	delete(r.s.members, epoch)
	return nil
}

// Leave implements registry.Registry.
func (r members) Leave(ctx context.Context, epoch int64) error {
	if _, err := r.s.begin(ctx); err != nil {
		return err
	}
	defer r.s.mu.Unlock()
	delete(r.s.members, epoch)
	return nil
}

// Members implements registry.Registry; they come in the order of their epochs.
func (r members) Members(ctx context.Context) ([]registry.Member, error) {
	if _, err := r.s.begin(ctx); err != nil {
		return nil, err
	}
	defer r.s.mu.Unlock()
	out := make([]registry.Member, 0, len(r.s.members))
	for _, epoch := range slices.Sorted(maps.Keys(r.s.members)) {
		out = append(out, r.s.members[epoch])
	}
	return out, nil
}
