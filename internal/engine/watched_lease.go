package engine

import (
	"context"
	"time"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/registry"
)

// watchedLeases tells of what keeps a leader in office.
type watchedLeases struct {
	lease.Backend
	watch
}

func (l *watchedLeases) Acquire(ctx context.Context, partition int, holder string,
	ttl time.Duration) (err error) {
	defer l.done("lease_acquire", time.Now(), &err)
	return l.Backend.Acquire(ctx, partition, holder, ttl)
}

func (l *watchedLeases) Renew(ctx context.Context, partition int, holder string,
	ttl time.Duration) (err error) {
	defer l.done("lease_renew", time.Now(), &err)
	return l.Backend.Renew(ctx, partition, holder, ttl)
}

func (l *watchedLeases) Release(ctx context.Context, partition int, holder string) (err error) {
	defer l.done("lease_release", time.Now(), &err)
	return l.Backend.Release(ctx, partition, holder)
}

// watchedRegistry tells of heartbeats and of what a leader reads of the executors.
type watchedRegistry struct {
	registry.Registry
	watch
}

func (r *watchedRegistry) Register(ctx context.Context, m registry.Member, ttl time.Duration) (
	epoch int64, err error) {
	defer r.done("executor_register", time.Now(), &err)
	return r.Registry.Register(ctx, m, ttl)
}

func (r *watchedRegistry) Renew(ctx context.Context, epoch int64, ttl time.Duration) (err error) {
	defer r.done("executor_renew", time.Now(), &err)
	return r.Registry.Renew(ctx, epoch, ttl)
}

func (r *watchedRegistry) Retire(ctx context.Context, epoch int64) (err error) {
	defer r.done("executor_retire", time.Now(), &err)
	return r.Registry.Retire(ctx, epoch)
}

func (r *watchedRegistry) Leave(ctx context.Context, epoch int64) (err error) {
	defer r.done("executor_leave", time.Now(), &err)
	return r.Registry.Leave(ctx, epoch)
}

func (r *watchedRegistry) Members(ctx context.Context) (ms []registry.Member, err error) {
	defer r.done("executor_members", time.Now(), &err)
	return r.Registry.Members(ctx)
}
