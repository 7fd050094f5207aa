package aside

import (
	"context"
	"time"

	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
)

// Members is the registry.Registry of a store. Keep is a line that work never uses.
type Members struct{ Keep, Read Line }

// Register implements registry.Registry. A retired instance gets a new epoch.
func (m Members) Register(
	ctx context.Context, e registry.Member, ttl time.Duration,
) (epoch int64, err error) {
	for _, f := range [...]struct{ name, text string }{
		{"name", e.Name}, {"instance", e.Instance}, {"group", e.Group},
	} {
		if err := wire.Fits(f.name, f.text, wire.LongText); err != nil {
			return 0, err
		}
	}
	err = m.Keep.Tx(ctx, "register executor", func(c *wire.Conn) (err error) {
		epoch, err = register(ctx, c, &e, ttl)
		return err
	})
	return epoch, err
}

func register(
	ctx context.Context, c *wire.Conn, e *registry.Member, ttl time.Duration,
) (epoch int64, err error) {
	if err := c.Each(ctx, lockNames, &wire.Args{}, func(*wire.Row) {}); err != nil {
		return 0, err
	}
	a := &wire.Args{}
	a.Time(c.Now)
	a.Text(e.Name)
	a.Text(e.Instance)
	if _, err := c.Exec(ctx, retireNamesakes, a); err != nil {
		return 0, err
	}
	a = &wire.Args{}
	a.Text(e.Instance)
	if err := c.Each(ctx, findInstance, a, func(r *wire.Row) { epoch = r.Int() }); err != nil {
		return 0, err
	}
	a = &wire.Args{}
	a.Text(e.Name)
	if epoch != 0 {
		a.Text(e.Group)
		a.Int(int64(e.Slots))
		a.Time(c.Now.Add(ttl))
		a.Int(epoch)
		_, err = c.Exec(ctx, changeMember, a)
		return epoch, err
	}
	a.Text(e.Instance)
	a.Text(e.Group)
	a.Int(int64(e.Slots))
	a.Time(c.Now.Add(ttl))
	a.Time(c.Now)
	return c.Number(ctx, insertMember, a)
}

// Renew implements registry.Registry.
func (m Members) Renew(ctx context.Context, epoch int64, ttl time.Duration) error {
	a := &wire.Args{}
	a.Int(ttl.Microseconds())
	a.Int(epoch)
	n, err := m.Keep.exec(ctx, "renew executor", renewMember, a)
	if err == nil && n == 0 {
		err = registry.ErrRetired
	}
	return err
}

// Retire implements registry.Registry.
func (m Members) Retire(ctx context.Context, epoch int64) error {
	a := &wire.Args{}
	a.Int(epoch)
	n, err := m.Keep.exec(ctx, "retire executor", retireMember, a)
	if err != nil || n > 0 {
		return err
	}
	alive := false
	err = m.Keep.each(ctx, "retire executor", isMember, a, func(*wire.Row) { alive = true })
	if err == nil && alive {
		err = registry.ErrAlive
	}
	return err
}

// Leave implements registry.Registry.
func (m Members) Leave(ctx context.Context, epoch int64) error {
	a := &wire.Args{}
	a.Int(epoch)
	_, err := m.Keep.exec(ctx, "retire own executor", endMember, a)
	return err
}

// Members implements registry.Registry; they come in the order of their epochs.
func (m Members) Members(ctx context.Context) ([]registry.Member, error) {
	out := []registry.Member{}
	err := m.Read.each(ctx, "read executors", readMembers, &wire.Args{}, func(r *wire.Row) {
		out = append(out, registry.Member{Name: r.Text(), Instance: r.Text(), Group: r.Text(),
			Slots: int(r.Int()), Epoch: r.Int(), Until: r.Time(), Renewals: r.Int()})
	})
	return out, err
}
