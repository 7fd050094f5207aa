package bench

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// countingStore counts the calls that a scheduler at rest makes; each is one statement or one
// small transaction.
type countingStore struct {
	ax.Store
	n atomic.Int64
}

// Unwrap is for store.As: other abilities of the store stay, and are not counted.
func (s *countingStore) Unwrap() store.Store { return s.Store }

func (s *countingStore) Due(ctx context.Context, cs []store.Cursor) ([][]store.Due, task.Time,
	error) {
	s.n.Add(1)
	return s.Store.Due(ctx, cs)
}

func (s *countingStore) Live(ctx context.Context, q store.LiveQuery) ([]task.Task, error) {
	s.n.Add(1)
	return s.Store.Live(ctx, q)
}

func (s *countingStore) Jobs(ctx context.Context, since task.Time) ([]task.Job, error) {
	s.n.Add(1)
	return s.Store.Jobs(ctx, since)
}

func (s *countingStore) Kinds(ctx context.Context) ([]task.Kind, error) {
	s.n.Add(1)
	return s.Store.Kinds(ctx)
}

func (s *countingStore) Now(ctx context.Context) (task.Time, error) {
	s.n.Add(1)
	return s.Store.Now(ctx)
}

func (s *countingStore) Token(ctx context.Context, partition int) (int64, error) {
	s.n.Add(1)
	return s.Store.Token(ctx, partition)
}

func (s *countingStore) Prune(ctx context.Context, f store.Fence, p store.Prune) (
	store.Pruned, error) {
	s.n.Add(1)
	return s.Store.Prune(ctx, f, p)
}

// Expired counts an ability of the store; all stores that the benchmark opens have it.
func (s *countingStore) Expired(ctx context.Context, limit int) ([]task.Task, error) {
	s.n.Add(1)
	e, ok := store.As[store.Expirer](s.Store)
	if !ok {
		return nil, nil
	}
	return e.Expired(ctx, limit)
}

func (s *countingStore) Leases() lease.Backend {
	return &countingLeases{Backend: s.Store.Leases(), n: &s.n}
}

func (s *countingStore) Registry() registry.Registry {
	return &countingRegistry{Registry: s.Store.Registry(), n: &s.n}
}

// countingLeases counts what keeps a leader in office.
type countingLeases struct {
	lease.Backend
	n *atomic.Int64
}

func (l *countingLeases) Acquire(ctx context.Context, partition int, holder string,
	ttl time.Duration) error {
	l.n.Add(1)
	return l.Backend.Acquire(ctx, partition, holder, ttl)
}

func (l *countingLeases) Renew(ctx context.Context, partition int, holder string,
	ttl time.Duration) error {
	l.n.Add(1)
	return l.Backend.Renew(ctx, partition, holder, ttl)
}

// countingRegistry counts heartbeats and what a leader reads of the executors.
type countingRegistry struct {
	registry.Registry
	n *atomic.Int64
}

func (r *countingRegistry) Renew(ctx context.Context, epoch int64, ttl time.Duration) error {
	r.n.Add(1)
	return r.Registry.Renew(ctx, epoch, ttl)
}

func (r *countingRegistry) Members(ctx context.Context) ([]registry.Member, error) {
	r.n.Add(1)
	return r.Registry.Members(ctx)
}
