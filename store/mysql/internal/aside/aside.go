// Package aside is what a store keeps beside tasks and jobs: leases, members, the options of kinds,
// and what executions say while they run. It needs nothing of the store but connections.
package aside

import (
	"context"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
)

// Run runs fn on a connection. what names it in errors.
type Run func(ctx context.Context, what string, fn func(c *wire.Conn) error) error

// Line is where connections come from: One for single statements, Tx for transactions, which may
// be made more than once.
type Line struct{ One, Tx Run }

// exec runs one statement and says how many rows it changed.
func (l Line) exec(ctx context.Context, what string, v wire.Verb, a *wire.Args) (n int, err error) {
	err = l.One(ctx, what, func(c *wire.Conn) (err error) {
		n, err = c.Exec(ctx, v, a)
		return err
	})
	return n, err
}

// each runs one query.
func (l Line) each(
	ctx context.Context, what string, v wire.Verb, a *wire.Args, read func(*wire.Row),
) error {
	return l.One(ctx, what, func(c *wire.Conn) error { return c.Each(ctx, v, a, read) })
}

// Lease is the contract that [Leases] implements.
type Lease = lease.Backend

// Registry is the contract that [Members] implements.
type Registry = registry.Registry
