// Package ax makes work run when it is due: once after a delay, or on a cron, inside any Go
// service. State lives in the database the caller names; replicas of the service share it.
//
//	st, err := sqlite.Open("ax.db")
//	a, err := ax.New(st, ax.Config{})
//	a.Handle("order.close", closeOrder)
//	go a.Run(ctx)
//	a.Delay(ctx, "order.close", orderID, 30*time.Minute, nil)
//
// Every task is a row, every change of its state is one conditional update with its history row in
// one transaction, and a leader that was replaced cannot write. A handler runs at least once;
// it may repeat after a crash, so make its effect idempotent by task id and run.
package ax

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/internal/engine"
	"github.com/ax-sched/ax/internal/kinds"
	"github.com/ax-sched/ax/internal/random"
	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Store is a database as New takes it: it keeps the tasks, grants leadership and registers
// executors. The packages store/sqlite, store/postgres and store/memory open one.
type Store interface {
	store.Store
	// Leases grants leadership.
	Leases() lease.Backend
	// Registry keeps the executors.
	Registry() registry.Registry
}

// Names of package task that callers of this package need.
type (
	// ID identifies a task, a job or an execution; it prints with String.
	ID = task.ID
	// State is where a task stands.
	State = task.State
	// Priority is the bucket of a task; the zero value means NORMAL.
	Priority = task.Bucket
	// InputError names the field of a caller's input that cannot be taken, and the fix.
	InputError = task.InputError
)

// The priorities.
const (
	Critical = task.Critical
	High     = task.High
	Normal   = task.Normal
	Low      = task.Low
)

// Scheduler submits tasks and, while Run runs, executes them. All methods are safe for concurrent
// use.
type Scheduler struct {
	store    Store
	cfg      Config
	settings engine.Settings // of the parts that run, complete
	clock    *clock.Clock
	rand     *random.Source // of ids and names
	// jitter has a source of its own: how many ids were made must not move a retry.
	jitter *random.Source
	kinds  *kinds.Set[Handler]

	running atomic.Bool
	// engine is that of the last Run: its handlers may outlive it. It takes nothing in unless Run
	// runs.
	engine atomic.Pointer[engine.Engine]
}

// New returns a Scheduler over st. The zero Config works; a wrong one gives an error that names
// every wrong field. New does no I/O and starts nothing.
func New(st Store, cfg Config) (*Scheduler, error) {
	if st == nil {
		return nil, errors.New("ax.New: store is nil; open one with sqlite.Open or postgres.Open")
	}
	settings, err := cfg.complete()
	if err != nil {
		return nil, fmt.Errorf("ax.New: %w", err)
	}
	s := &Scheduler{store: st, cfg: cfg, settings: settings, clock: clock.New(cfg.Clock),
		rand: random.New(cfg.Seed), jitter: random.New(cfg.Seed)}
	s.kinds = kinds.New[Handler](complete.Policy{MaxRetries: DefaultMaxRetries,
		Retry: retry.Default(), Timeout: DefaultTimeout})
	if cfg.NodeID == "" {
		s.settings.NodeID = "node-" + s.rand.Token()
	}
	s.watch()
	return s, nil
}

// now estimates the store's time.
func (s *Scheduler) now() task.Time { return task.Time(s.clock.Now()) }

// newID makes an id; its time part is only for order, so the estimate is good enough.
func (s *Scheduler) newID() task.ID { return s.rand.ID(s.clock.Now() / 1000) }
