package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/store/postgres/internal/wire"
)

// leases is the lease.Backend of a store, on the connection that work never uses.
type leases struct{ s *Store }

// Leases returns leadership in the same database. It lives as long as the store.
func (s *Store) Leases() lease.Backend { return leases{s} }

// keep runs one statement of the connection for leases and heartbeats.
func (s *Store) keep(ctx context.Context, what string, v verb, a *args, each func(*row)) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.one(ctx, s.keeper, v, a, each); err != nil {
		return fmt.Errorf("%s: %w", what, explain(err))
	}
	return nil
}

func leaseArgs(partition int, holder string) *args {
	a := &args{}
	a.Int4(partition)
	a.Text(wire.Storable(holder))
	return a
}

// Acquire implements lease.Backend.
func (l leases) Acquire(
	ctx context.Context, partition int, holder string, ttl time.Duration,
) error {
	for {
		taken := false
		a := leaseArgs(partition, holder)
		a.Int8(ttl.Microseconds())
		err := l.s.keep(ctx, "acquire lease", acquireLease, a, func(*row) { taken = true })
		if err != nil || taken {
			return err
		}
		h, err := l.Look(ctx, partition)
		if err != nil {
			return err
		}
		if h.Holder != "" { // else it was released in between
			return &lease.HeldError{Holder: h.Holder, Left: max(0, h.Left)}
		}
	}
}

// Look implements lease.Looker.
func (l leases) Look(ctx context.Context, partition int) (h lease.Holding, err error) {
	a := &args{}
	a.Int4(partition)
	err = l.s.keep(ctx, "read lease", readLease, a, func(r *row) {
		h.Holder = r.Text()
		h.Left = time.Duration(r.Int8()) * time.Microsecond
	})
	return h, err
}

// Renew implements lease.Backend. An expired lease that nobody took is still its holder's.
func (l leases) Renew(
	ctx context.Context, partition int, holder string, ttl time.Duration,
) error {
	mine := false
	a := leaseArgs(partition, holder)
	a.Int8(ttl.Microseconds())
	err := l.s.keep(ctx, "renew lease", renewLease, a, func(*row) { mine = true })
	if err == nil && !mine {
		err = lease.ErrLost
	}
	return err
}

// Release implements lease.Backend.
func (l leases) Release(ctx context.Context, partition int, holder string) error {
	return l.s.keep(ctx, "release lease", releaseLease, leaseArgs(partition, holder), nil)
}
