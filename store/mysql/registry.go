package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
)

// members is the registry.Registry of a store, on a connection that work never uses.
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
		if err := fits(f.name, f.text, longText); err != nil {
			return 0, err
		}
	}
	leave, err := m.s.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	err = m.s.tx(ctx, m.s.keeper, store.Fence{}, func(c *conn) (err error) {
		epoch, err = c.register(ctx, &e, ttl)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("register executor: %w", wire.Explain(err))
	}
	return epoch, nil
}

func (c *conn) register(
	ctx context.Context, e *registry.Member, ttl time.Duration,
) (epoch int64, err error) {
	if err := c.each(ctx, lockNames, &args{}, func(*row) {}); err != nil {
		return 0, err
	}
	a := &args{}
	a.Time(c.now)
	a.Text(e.Name)
	a.Text(e.Instance)
	if _, err := c.exec(ctx, retireNamesakes, a); err != nil {
		return 0, err
	}
	a = &args{}
	a.Text(e.Instance)
	if err := c.each(ctx, findInstance, a, func(r *row) { epoch = r.Int() }); err != nil {
		return 0, err
	}
	a = &args{}
	a.Text(e.Name)
	if epoch != 0 {
		a.Text(e.Group)
		a.Int(int64(e.Slots))
		a.Time(c.now.Add(ttl))
		a.Int(epoch)
		_, err = c.exec(ctx, changeMember, a)
		return epoch, err
	}
	a.Text(e.Instance)
	a.Text(e.Group)
	a.Int(int64(e.Slots))
	a.Time(c.now.Add(ttl))
	a.Time(c.now)
	var res sql.Result
	if res, err = c.q.ExecContext(ctx, c.s.text(insertMember, a)); err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// Renew implements registry.Registry.
func (m members) Renew(ctx context.Context, epoch int64, ttl time.Duration) error {
	a := &args{}
	a.Int(ttl.Microseconds())
	a.Int(epoch)
	n, err := m.s.keep(ctx, "renew executor", renewMember, a)
	if err == nil && n == 0 {
		err = registry.ErrRetired
	}
	return err
}

// Retire implements registry.Registry.
func (m members) Retire(ctx context.Context, epoch int64) error {
	a := &args{}
	a.Int(epoch)
	n, err := m.s.keep(ctx, "retire executor", retireMember, a)
	if err != nil || n > 0 {
		return err
	}
	alive := false
	err = m.s.keeping(ctx, "retire executor", func(c *conn) error {
		return c.each(ctx, isMember, a, func(*row) { alive = true })
	})
	if err == nil && alive {
		err = registry.ErrAlive
	}
	return err
}

// Leave implements registry.Registry.
func (m members) Leave(ctx context.Context, epoch int64) error {
	a := &args{}
	a.Int(epoch)
	_, err := m.s.keep(ctx, "retire own executor", endMember, a)
	return err
}

// Members implements registry.Registry; they come in the order of their epochs.
func (m members) Members(ctx context.Context) ([]registry.Member, error) {
	out := []registry.Member{}
	err := m.s.read(ctx, "read executors", readMembers, &args{}, func(r *row) {
		out = append(out, registry.Member{Name: r.Text(), Instance: r.Text(), Group: r.Text(),
			Slots: int(r.Int()), Epoch: r.Int(), Until: r.Time(), Renewals: r.Int()})
	})
	return out, err
}
