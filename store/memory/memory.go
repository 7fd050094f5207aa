// Package memory is a store that lives in the process: for tests, examples and the simulation.
//
// It implements store.Store, and by [Store.Leases] and [Store.Registry] also leadership and
// membership. One mutex guards everything, no call blocks on anything else, and equal calls give
// equal answers whatever the order of Go's maps. It is the oracle that the SQL stores are compared
// with, so it prefers the plain way to the fast one, but every query of a leader is answered from
// an index. Nothing survives the process.
package memory

import (
	"context"
	"sync"
	"time"

	"github.com/ax-sched/ax/internal/plant"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Options configure a store; the zero value is usable.
type Options struct {
	// Now is the store's clock; nil is the host's wall clock. It may step, also backwards. It is
	// called while the store is locked, so it must not call the store.
	Now func() task.Time
}

// Store is an in-memory store. It is safe for concurrent use.
type Store struct {
	clock func() task.Time

	mu     sync.Mutex
	closed bool

	rows    map[task.ID]*row
	ids     index            // of all rows
	due     map[queue]*index // of SCHEDULED rows, by (RunAt, ID)
	live    index            // of DISPATCHING and RUNNING rows
	expires index            // of waiting rows that may expire, by (ExpiresAt, ID)
	count   map[task.State]int64
	unique  map[unique]task.ID // the live task of each (kind, key)
	overlap map[string]task.ID // the holder of each overlap key
	kept    keptKeys

	jobs     map[task.ID]*task.Job
	jobNames map[string]task.ID // of definitions that are not deleted
	kinds    map[string]task.Kind

	tokens  map[int]int64
	leases  map[int]held
	epoch   int64
	members map[int64]member
}

// row is a task with its history and what its executions have said.
type row struct {
	task.Task
	log   []task.Entry
	notes *notes // nil: nothing was said
}

// queue is what a due scan walks.
type queue struct {
	group  string
	bucket task.Bucket
}

// unique is the idempotency key of a task.
type unique struct{ kind, key string }

var (
	_ store.Store   = (*Store)(nil)
	_ store.Expirer = (*Store)(nil)
	_ store.Noter   = (*Store)(nil)
)

// New makes an empty store.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = func() task.Time { return task.FromGo(time.Now()) }
	}
	return &Store{
		clock:    o.Now,
		rows:     make(map[task.ID]*row),
		due:      make(map[queue]*index),
		count:    make(map[task.State]int64),
		unique:   make(map[unique]task.ID),
		overlap:  make(map[string]task.ID),
		jobs:     make(map[task.ID]*task.Job),
		jobNames: make(map[string]task.ID),
		kinds:    make(map[string]task.Kind),
		tokens:   make(map[int]int64),
		leases:   make(map[int]held),
		members:  make(map[int64]member),
	}
}

// begin locks the store and gives the one time of the call. After an error it is not locked.
func (s *Store) begin(ctx context.Context) (task.Time, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return 0, store.ErrClosed
	}
	return s.clock(), nil
}

// check refuses a stale fence. The zero fence asks for no check.
func (s *Store) check(f store.Fence) error {
	if f != (store.Fence{}) && s.tokens[f.Partition] != f.Token && !plant.On(plant.StoreIgnoresToken) {
		return store.ErrFenced
	}
	return nil
}

// Now implements store.Clock.
func (s *Store) Now(ctx context.Context) (task.Time, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return now, nil
}

// Token implements store.Fencer.
func (s *Store) Token(ctx context.Context, partition int) (int64, error) {
	if _, err := s.begin(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return s.tokens[partition], nil
}

// Install implements store.Fencer.
func (s *Store) Install(ctx context.Context, partition int, seen int64, _ string) (int64, error) {
	if _, err := s.begin(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	if s.tokens[partition] != seen {
		return 0, store.ErrFenced
	}
	s.tokens[partition] = seen + 1
	return seen + 1, nil
}

// Close implements store.Store. The rows are dropped.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.rows, s.due, s.jobs = nil, nil, nil
		s.ids, s.live, s.expires = index{}, index{}, index{}
	}
	return nil
}
