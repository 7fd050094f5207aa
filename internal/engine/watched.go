package engine

import (
	"context"
	"time"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/observe"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Backend is a store with its leases and its registry.
type Backend interface {
	store.Store
	Leases() lease.Backend
	Registry() registry.Registry
}

// Watch returns a store that tells of each call how long it took, also those of its optional
// abilities, which are those of st: see [store.As].
func Watch(st Backend, tell func(observe.StoreCall)) Backend {
	return &watched{watchAbilities(st, tell), tell}
}

// watch is told of calls.
type watch func(observe.StoreCall)

// done tells that a call ends that began at start.
func (w watch) done(verb string, start time.Time, err *error) {
	w(observe.StoreCall{Verb: verb, Took: time.Since(start), Err: *err})
}

type watched struct {
	Backend
	watch
}

// Unwrap gives the store below, for its optional abilities.
func (s *watched) Unwrap() store.Store { return s.Backend }

func (s *watched) Leases() lease.Backend {
	return &watchedLeases{s.Backend.Leases(), s.watch}
}

func (s *watched) Registry() registry.Registry {
	return &watchedRegistry{s.Backend.Registry(), s.watch}
}

func (s *watched) Now(ctx context.Context) (at task.Time, err error) {
	defer s.done("now", time.Now(), &err)
	return s.Backend.Now(ctx)
}

func (s *watched) Token(ctx context.Context, partition int) (token int64, err error) {
	defer s.done("token", time.Now(), &err)
	return s.Backend.Token(ctx, partition)
}

func (s *watched) Install(ctx context.Context, partition int, seen int64, holder string) (
	token int64, err error) {
	defer s.done("install", time.Now(), &err)
	return s.Backend.Install(ctx, partition, seen, holder)
}

func (s *watched) Insert(ctx context.Context, f store.Fence, ts []task.Task) (
	ins []store.Inserted, err error) {
	defer s.done("insert", time.Now(), &err)
	return s.Backend.Insert(ctx, f, ts)
}

func (s *watched) Apply(ctx context.Context, f store.Fence, trs []*task.Transition) (
	res []store.Result, err error) {
	defer s.done("apply", time.Now(), &err)
	return s.Backend.Apply(ctx, f, trs)
}

func (s *watched) Tasks(ctx context.Context, ids []task.ID) (ts []task.Task, err error) {
	defer s.done("tasks", time.Now(), &err)
	return s.Backend.Tasks(ctx, ids)
}

func (s *watched) ByKey(ctx context.Context, kind, key string) (t task.Task, err error) {
	defer s.done("by_key", time.Now(), &err)
	return s.Backend.ByKey(ctx, kind, key)
}

func (s *watched) List(ctx context.Context, q store.Query) (ts []task.Task, err error) {
	defer s.done("list", time.Now(), &err)
	return s.Backend.List(ctx, q)
}

func (s *watched) History(ctx context.Context, id task.ID) (h []task.Entry, err error) {
	defer s.done("history", time.Now(), &err)
	return s.Backend.History(ctx, id)
}

func (s *watched) Count(ctx context.Context, limit int64) (n map[task.State]int64,
	err error) {
	defer s.done("count", time.Now(), &err)
	return s.Backend.Count(ctx, limit)
}

func (s *watched) Due(ctx context.Context, cs []store.Cursor) (pages [][]store.Due, at task.Time,
	err error) {
	defer s.done("due", time.Now(), &err)
	return s.Backend.Due(ctx, cs)
}

func (s *watched) Live(ctx context.Context, q store.LiveQuery) (ts []task.Task, err error) {
	defer s.done("live", time.Now(), &err)
	return s.Backend.Live(ctx, q)
}

func (s *watched) PutJob(ctx context.Context, j task.Job) (row task.Job, err error) {
	defer s.done("put_job", time.Now(), &err)
	return s.Backend.PutJob(ctx, j)
}

func (s *watched) DeleteJob(ctx context.Context, name string) (err error) {
	defer s.done("delete_job", time.Now(), &err)
	return s.Backend.DeleteJob(ctx, name)
}

func (s *watched) Jobs(ctx context.Context, since task.Time) (js []task.Job, err error) {
	defer s.done("jobs", time.Now(), &err)
	return s.Backend.Jobs(ctx, since)
}

func (s *watched) Fire(ctx context.Context, f store.Fence, fires []store.Fire) (
	res []store.FireResult, err error) {
	defer s.done("fire", time.Now(), &err)
	return s.Backend.Fire(ctx, f, fires)
}

func (s *watched) PutKinds(ctx context.Context, ks []task.Kind) (err error) {
	defer s.done("put_kinds", time.Now(), &err)
	return s.Backend.PutKinds(ctx, ks)
}

func (s *watched) Kinds(ctx context.Context) (ks []task.Kind, err error) {
	defer s.done("kinds", time.Now(), &err)
	return s.Backend.Kinds(ctx)
}

func (s *watched) Prune(ctx context.Context, f store.Fence, p store.Prune) (n store.Pruned,
	err error) {
	defer s.done("prune", time.Now(), &err)
	return s.Backend.Prune(ctx, f, p)
}
