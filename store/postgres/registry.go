package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store/postgres/internal/wire"
	"github.com/ax-sched/ax/task"
)

// members is the registry.Registry of a store, on the connection that work never uses.
type members struct{ s *Store }

// Registry returns membership in the same database. It lives as long as the store.
func (s *Store) Registry() registry.Registry { return members{s} }

// Register implements registry.Registry. A retired instance gets a new epoch.
func (m members) Register(
	ctx context.Context, e registry.Member, ttl time.Duration,
) (epoch int64, err error) {
	for _, f := range [...]struct{ name, text string }{
		{"name", e.Name}, {"instance", e.Instance}, {"group", e.Group},
	} {
		if !wire.Plain(f.text) {
			return 0, &task.InputError{Field: f.name, Reason: "has a NUL or is not valid UTF-8"}
		}
	}
	leave, err := m.s.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	err = m.s.tx(ctx, m.s.keeper, func(c *conn) error {
		// Two instances of one name that register at once must not overlook each other.
		a := &args{}
		a.Text("ax executor " + m.s.schema + " " + e.Name)
		if err := c.call(ctx, lockName, a, nil); err != nil {
			return err
		}
		a = &args{}
		a.Text(e.Name)
		a.Text(e.Instance)
		a.Text(e.Group)
		a.Int4(e.Slots)
		a.Int8(ttl.Microseconds())
		if err := c.call(ctx, registerMember, a, func(r *row) { epoch = r.Int8() }); err != nil {
			return err
		}
		a = &args{}
		a.Text(e.Name)
		a.Int8(epoch)
		return c.call(ctx, retireNamesakes, a, nil)
	})
	if err != nil {
		return 0, fmt.Errorf("register executor: %w", explain(err))
	}
	return epoch, nil
}

// Renew implements registry.Registry.
func (m members) Renew(ctx context.Context, epoch int64, ttl time.Duration) error {
	alive := false
	a := &args{}
	a.Int8(epoch)
	a.Int8(ttl.Microseconds())
	err := m.s.keep(ctx, "renew executor", renewMember, a, func(*row) { alive = true })
	if err == nil && !alive {
		err = registry.ErrRetired
	}
	return err
}

// Retire implements registry.Registry.
func (m members) Retire(ctx context.Context, epoch int64) error {
	retired, alive := false, false
	a := &args{}
	a.Int8(epoch)
	a.Bool(false)
	err := m.s.keep(ctx, "retire executor", retireMember, a, func(*row) { retired = true })
	if err != nil || retired {
		return err
	}
	a = &args{}
	a.Int8(epoch)
	err = m.s.keep(ctx, "retire executor", isMember, a, func(r *row) { alive = r.Bool() })
	if err == nil && alive {
		err = registry.ErrAlive
	}
	return err
}

// Leave implements registry.Registry.
func (m members) Leave(ctx context.Context, epoch int64) error {
	a := &args{}
	a.Int8(epoch)
	a.Bool(true)
	return m.s.keep(ctx, "retire own executor", retireMember, a, nil)
}

// Members implements registry.Registry; they come in the order of their epochs.
func (m members) Members(ctx context.Context) ([]registry.Member, error) {
	out := []registry.Member{}
	err := m.s.read(ctx, "read executors", readMembers, &args{}, func(r *row) {
		out = append(out, registry.Member{Name: r.Text(), Instance: r.Text(), Group: r.Text(),
			Slots: r.Int4(), Epoch: r.Int8(), Until: r.Time(), Renewals: r.Int8()})
	})
	return out, err
}
