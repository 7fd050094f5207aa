// Package lease is the contract of leadership.
//
// A lease makes two leaders rare; it does not make them impossible: a holder may be paused past
// its end. What makes them harmless is the fencing token in the store (store.Fencer), installed
// after each election and checked with each write.
package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrLost: the lease is no longer this holder's. Belief must end at once.
var ErrLost = errors.New("lease lost")

// ErrLocked: another process holds the lock of the database, for as long as it lives.
var ErrLocked = errors.New("database is locked by another process")

// HeldError: somebody else holds the lease.
type HeldError struct {
	Holder string
	// Left is how long the lease still runs as seen by the backend; 0 if it cannot say. A
	// stand-by tries again then.
	Left time.Duration
	// Exclusive: the lease does not run out while its holder lives (an operating system's lock),
	// so waiting for its end is of no use.
	Exclusive bool
}

func (e *HeldError) Error() string {
	if e.Exclusive {
		return fmt.Sprintf("lease is held by %s until it ends", e.Holder)
	}
	return fmt.Sprintf("lease is held by %s for another %s", e.Holder, e.Left)
}

// Backend grants the lease of a partition to one holder at a time. Holders are random for each
// start of a process: two processes of one host and configuration never share a name.
type Backend interface {
	// Acquire takes the lease for ttl if it is free, expired, or already this holder's, else it
	// returns a *HeldError.
	Acquire(ctx context.Context, partition int, holder string, ttl time.Duration) error
	// Renew extends the lease to ttl from now, or returns ErrLost if it is not this holder's any
	// more. The caller's belief ends ttl after it sent the renewal, by its own monotonic clock.
	Renew(ctx context.Context, partition int, holder string, ttl time.Duration) error
	// Release gives the lease up at once; releasing one that is not held is harmless.
	Release(ctx context.Context, partition int, holder string) error
}

// Holding says who has the lease of a partition.
type Holding struct {
	Holder string // "": nobody; it is free, or was released
	// Left is how long the lease still runs by the backend's clock. It is negative when the lease has
	// run out and nobody took it since: its holder died, or cannot reach the backend.
	Left time.Duration
	// Exclusive: as in [HeldError]; Left says nothing then.
	Exclusive bool
}

// Held reports whether somebody has the right to lead now.
func (h Holding) Held() bool { return h.Holder != "" && (h.Exclusive || h.Left > 0) }

// Looker is an extra of backends that can say who holds a lease without trying to take it.
type Looker interface {
	// Look returns who holds the lease of a partition.
	Look(ctx context.Context, partition int) (Holding, error)
}
