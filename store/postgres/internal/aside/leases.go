package aside

import (
	"context"
	"time"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/store/postgres/internal/wire"
)

// Leases is a lease.Backend.
type Leases struct{ Call Call }

func leaseArgs(partition int, holder string) *wire.Args {
	a := &wire.Args{}
	a.Int4(partition)
	a.Text(wire.Storable(holder))
	return a
}

// Acquire implements lease.Backend.
func (l Leases) Acquire(
	ctx context.Context, partition int, holder string, ttl time.Duration,
) error {
	for {
		taken := false
		a := leaseArgs(partition, holder)
		a.Int8(ttl.Microseconds())
		err := l.Call(ctx, "acquire lease", acquireLease, a, func(*wire.Row) { taken = true })
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
func (l Leases) Look(ctx context.Context, partition int) (h lease.Holding, err error) {
	a := &wire.Args{}
	a.Int4(partition)
	err = l.Call(ctx, "read lease", readLease, a, func(r *wire.Row) {
		h.Holder = r.Text()
		h.Left = time.Duration(r.Int8()) * time.Microsecond
	})
	return h, err
}

// Renew implements lease.Backend. An expired lease that nobody took is still its holder's.
func (l Leases) Renew(
	ctx context.Context, partition int, holder string, ttl time.Duration,
) error {
	mine := false
	a := leaseArgs(partition, holder)
	a.Int8(ttl.Microseconds())
	err := l.Call(ctx, "renew lease", renewLease, a, func(*wire.Row) { mine = true })
	if err == nil && !mine {
		err = lease.ErrLost
	}
	return err
}

// Release implements lease.Backend.
func (l Leases) Release(ctx context.Context, partition int, holder string) error {
	return l.Call(ctx, "release lease", releaseLease, leaseArgs(partition, holder), nil)
}
