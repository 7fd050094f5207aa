package aside

import (
	"context"
	"time"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
)

// Leases is the lease.Backend of a store.
type Leases struct{ Line }

// Acquire implements lease.Backend.
func (l Leases) Acquire(
	ctx context.Context, partition int, holder string, ttl time.Duration,
) error {
	var held *lease.HeldError
	err := l.Tx(ctx, "acquire lease", func(c *wire.Conn) (err error) {
		held, err = acquire(ctx, c, partition, holder, ttl)
		return err
	})
	switch {
	case err != nil:
		return err
	case held != nil:
		return held
	}
	return nil
}

func acquire(
	ctx context.Context, c *wire.Conn, partition int, holder string, ttl time.Duration,
) (*lease.HeldError, error) {
	a := &wire.Args{}
	a.Int(int64(partition))
	found, by, left := false, "", time.Duration(0)
	err := c.Each(ctx, lockLease, a, func(r *wire.Row) {
		found, by, left = true, r.Text(), r.Time().Sub(c.Now)
	})
	if err != nil {
		return nil, err
	}
	if found && by != holder && left > 0 {
		return &lease.HeldError{Holder: by, Left: left}, nil
	}
	a = &wire.Args{}
	v := takeLease
	if !found {
		v = insertLease
		a.Int(int64(partition))
	}
	a.Text(holder)
	a.Time(c.Now.Add(ttl))
	if found {
		a.Int(int64(partition))
	}
	_, err = c.Exec(ctx, v, a)
	return nil, err
}

// Look implements lease.Looker.
func (l Leases) Look(ctx context.Context, partition int) (h lease.Holding, err error) {
	a := &wire.Args{}
	a.Int(int64(partition))
	err = l.each(ctx, "read lease", readLease, a, func(r *wire.Row) {
		if h.Holder = r.Text(); h.Holder != "" {
			h.Left = time.Duration(r.Int()) * time.Microsecond
		}
	})
	return h, err
}

// Renew implements lease.Backend. An expired lease that nobody took is still its holder's.
func (l Leases) Renew(
	ctx context.Context, partition int, holder string, ttl time.Duration,
) error {
	a := &wire.Args{}
	a.Int(ttl.Microseconds())
	a.Int(int64(partition))
	a.Text(holder)
	n, err := l.exec(ctx, "renew lease", renewLease, a)
	if err == nil && n == 0 {
		err = lease.ErrLost
	}
	return err
}

// Release implements lease.Backend.
func (l Leases) Release(ctx context.Context, partition int, holder string) error {
	a := &wire.Args{}
	a.Int(int64(partition))
	a.Text(holder)
	_, err := l.exec(ctx, "release lease", releaseLease, a)
	return err
}
