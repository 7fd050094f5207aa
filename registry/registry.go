// Package registry is the contract of executor membership: who may run work, under which epoch.
//
// Each start of an executor gets a new epoch, unique over the installation. An epoch is lost only
// when it is retired, which is one conditional update; the passing of time alone loses nothing.
package registry

import (
	"context"
	"errors"
	"time"

	"github.com/ax-sched/ax/task"
)

// Errors; match them with errors.Is.
var (
	// ErrRetired: this epoch was retired. Its executor must drop what it has queued, end what it
	// runs, and register again.
	ErrRetired = errors.New("executor epoch is retired")
	// ErrAlive: the lease of the epoch has not expired, so it cannot be declared lost.
	ErrAlive = errors.New("executor lease has not expired")
)

// Member is one executor.
type Member struct {
	Name     string // stable where the user gave one, else random
	Instance string // random for each start of a process
	Group    string
	Slots    int
	Epoch    int64     // given by Register
	Until    task.Time // end of its lease by the store's clock; task.MaxTime: with its process
	Renewals int64     // grows with each renewal: what a leader watches by its own clock
}

// Registry keeps the members.
type Registry interface {
	// Register makes m a member for ttl and returns its epoch. Registering the same instance again
	// returns the same epoch; a new instance of a name retires the older epochs of that name.
	Register(ctx context.Context, m Member, ttl time.Duration) (epoch int64, err error)
	// Renew extends the lease to ttl from now, also after it expired, or returns ErrRetired.
	Renew(ctx context.Context, epoch int64, ttl time.Duration) error
	// Retire declares an expired epoch lost, in one conditional update; ErrAlive if its lease
	// runs, nil if it is retired already.
	Retire(ctx context.Context, epoch int64) error
	// Leave retires the caller's own epoch at once.
	Leave(ctx context.Context, epoch int64) error
	// Members returns the unretired executors.
	Members(ctx context.Context) ([]Member, error)
}
