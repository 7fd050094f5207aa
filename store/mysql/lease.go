package mysql

import (
	"context"
	"fmt"
	"time"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
)

// leases is the lease.Backend of a store, on a connection that work never uses.
type leases struct{ s *Store }

// Leases returns leadership in the same database. It lives as long as the store.
func (s *Store) Leases() lease.Backend { return leases{s} }

// keep runs one statement of the connection for leases and heartbeats and says how many rows it
// changed.
func (s *Store) keep(ctx context.Context, what string, v verb, a *args) (n int, err error) {
	err = s.keeping(ctx, what, func(c *conn) (err error) {
		n, err = c.exec(ctx, v, a)
		return err
	})
	return n, err
}

func (s *Store) keeping(ctx context.Context, what string, fn func(c *conn) error) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	err = wire.Retry(ctx, func() error { return s.with(ctx, s.keeper, fn) })
	if err != nil {
		return fmt.Errorf("%s: %w", what, wire.Explain(err))
	}
	return nil
}

// Acquire implements lease.Backend.
func (l leases) Acquire(
	ctx context.Context, partition int, holder string, ttl time.Duration,
) error {
	leave, err := l.s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	var held *lease.HeldError
	err = l.s.tx(ctx, l.s.keeper, store.Fence{}, func(c *conn) (err error) {
		held, err = c.acquire(ctx, partition, holder, ttl)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("acquire lease: %w", wire.Explain(err))
	case held != nil:
		return held
	}
	return nil
}

func (c *conn) acquire(
	ctx context.Context, partition int, holder string, ttl time.Duration,
) (*lease.HeldError, error) {
	a := &args{}
	a.Int(int64(partition))
	found, by, left := false, "", time.Duration(0)
	err := c.each(ctx, lockLease, a, func(r *row) {
		found, by, left = true, r.Text(), r.Time().Sub(c.now)
	})
	if err != nil {
		return nil, err
	}
	if found && by != holder && left > 0 {
		return &lease.HeldError{Holder: by, Left: left}, nil
	}
	a = &args{}
	v := takeLease
	if !found {
		v = insertLease
		a.Int(int64(partition))
	}
	a.Text(holder)
	a.Time(c.now.Add(ttl))
	if found {
		a.Int(int64(partition))
	}
	_, err = c.exec(ctx, v, a)
	return nil, err
}

// Look implements lease.Looker.
func (l leases) Look(ctx context.Context, partition int) (h lease.Holding, err error) {
	a := &args{}
	a.Int(int64(partition))
	err = l.s.keeping(ctx, "read lease", func(c *conn) error {
		return c.each(ctx, readLease, a, func(r *row) {
			if h.Holder = r.Text(); h.Holder != "" {
				h.Left = time.Duration(r.Int()) * time.Microsecond
			}
		})
	})
	return h, err
}

// Renew implements lease.Backend. An expired lease that nobody took is still its holder's.
func (l leases) Renew(
	ctx context.Context, partition int, holder string, ttl time.Duration,
) error {
	a := &args{}
	a.Int(ttl.Microseconds())
	a.Int(int64(partition))
	a.Text(holder)
	n, err := l.s.keep(ctx, "renew lease", renewLease, a)
	if err == nil && n == 0 {
		err = lease.ErrLost
	}
	return err
}

// Release implements lease.Backend.
func (l leases) Release(ctx context.Context, partition int, holder string) error {
	a := &args{}
	a.Int(int64(partition))
	a.Text(holder)
	_, err := l.s.keep(ctx, "release lease", releaseLease, a)
	return err
}
