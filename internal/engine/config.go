// Package engine holds the parts of a scheduler that runs, and starts and stops them in order.
// What lives from the start of Run to its end is in Engine, what lives with a term of leadership in
// term.
package engine

import (
	"context"

	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/observe"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Kinds are the handlers of this process, as far as scheduling is concerned.
type Kinds interface {
	// Has reports whether a handler is registered for the kind.
	Has(kind string) bool
	// Limit is how many of a kind may run here at the same time; 0 is no limit of its own.
	Limit(kind string) int
	// Policy merges a task's own options over those of its kind.
	Policy(t *task.Task) complete.Policy
	// Stored returns the options as the store keeps them.
	Stored() ([]task.Kind, error)
	// Learn takes the stored options of all kinds, for those without a handler here.
	Learn(ks []task.Kind)
}

// Config says how an Engine works; all fields are required.
type Config struct {
	Settings
	Store    store.Store
	Leases   lease.Backend
	Registry registry.Registry
	Kinds    Kinds
	// Call runs the handler of a claimed task; it may panic.
	Call  func(ctx context.Context, t *task.Task) task.Report
	Clock *clock.Clock
	NewID func() task.ID
	Token func() string  // random, for names
	Rand  func() float64 // for jitter
	// Observer has its panics contained, see Guard.
	Observer observe.Observer
}

// now estimates the store's time.
func (c *Config) now() task.Time { return task.Time(c.Clock.Now()) }
