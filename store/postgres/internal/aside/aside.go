// Package aside is what a store keeps beside tasks and jobs: leases, the options of kinds, and what
// executions say while they run. Each call is one statement that needs nothing of the store but a
// connection.
package aside

import (
	"context"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/store/postgres/internal/wire"
)

// Call runs a statement as a transaction of its own and hands each row of its result to each,
// which may be nil. what names it in errors.
type Call func(ctx context.Context, what, verb string, a *wire.Args,
	each func(*wire.Row)) error

// Lease is the contract that [Leases] implements.
type Lease = lease.Backend
