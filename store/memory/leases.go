package memory

import (
	"context"
	"time"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/task"
)

// held is the lease of one partition.
type held struct {
	holder string
	until  task.Time
}

// leases is the lease.Backend of a store. Leases run by the store's clock.
type leases struct{ s *Store }

// Leases returns the store as a lease.Backend.
func (s *Store) Leases() lease.Backend { return leases{s} }

// Acquire implements lease.Backend.
func (l leases) Acquire(
	ctx context.Context, partition int, holder string, ttl time.Duration,
) error {
	now, err := l.s.begin(ctx)
	if err != nil {
		return err
	}
	defer l.s.mu.Unlock()
	if h, ok := l.s.leases[partition]; ok && h.holder != holder && now < h.until {
		return &lease.HeldError{Holder: h.holder, Left: h.until.Sub(now)}
	}
	l.s.leases[partition] = held{holder: holder, until: now.Add(ttl)}
	return nil
}

// Renew implements lease.Backend. An expired lease that nobody took is still its holder's.
func (l leases) Renew(
	ctx context.Context, partition int, holder string, ttl time.Duration,
) error {
	now, err := l.s.begin(ctx)
	if err != nil {
		return err
	}
	defer l.s.mu.Unlock()
	if h, ok := l.s.leases[partition]; !ok || h.holder != holder {
		return lease.ErrLost
	}
	l.s.leases[partition] = held{holder: holder, until: now.Add(ttl)}
	return nil
}

// Release implements lease.Backend.
func (l leases) Release(ctx context.Context, partition int, holder string) error {
	if _, err := l.s.begin(ctx); err != nil {
		return err
	}
	defer l.s.mu.Unlock()
	if l.s.leases[partition].holder == holder {
		delete(l.s.leases, partition)
	}
	return nil
}

// Look implements lease.Looker.
func (l leases) Look(ctx context.Context, partition int) (lease.Holding, error) {
	now, err := l.s.begin(ctx)
	if err != nil {
		return lease.Holding{}, err
	}
	defer l.s.mu.Unlock()
	h, ok := l.s.leases[partition]
	if !ok {
		return lease.Holding{}, nil
	}
	return lease.Holding{Holder: h.holder, Left: h.until.Sub(now)}, nil
}
