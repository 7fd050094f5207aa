package mysql

import (
	"context"
	"fmt"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql/internal/aside"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
	"github.com/ax-sched/ax/task"
)

var _ store.Noter = (*Store)(nil)

// Leases returns leadership in the same database, on a connection that work never uses. It lives as
// long as the store.
func (s *Store) Leases() aside.Lease { return aside.Leases{Line: s.aside(s.keeper)} }

// Registry returns membership in the same database, on a connection that work never uses. It lives
// as long as the store.
func (s *Store) Registry() aside.Registry {
	return aside.Members{Keep: s.aside(s.keeper), Read: s.aside(s.readers)}
}

// aside gives connections of a line to what lies beside tasks and jobs.
func (s *Store) aside(l line) aside.Line {
	run := func(do func(ctx context.Context, fn func(*conn) error) error) aside.Run {
		return func(ctx context.Context, what string, fn func(*wire.Conn) error) error {
			leave, err := s.enter(ctx)
			if err != nil {
				return err
			}
			defer leave()
			if err := do(ctx, func(c *conn) error { return fn(&c.Conn) }); err != nil {
				return fmt.Errorf("%s: %w", what, wire.Explain(err))
			}
			return nil
		}
	}
	return aside.Line{
		One: run(func(ctx context.Context, fn func(*conn) error) error {
			return wire.Retry(ctx, func() error { return s.with(ctx, l, fn) })
		}),
		Tx: run(func(ctx context.Context, fn func(*conn) error) error {
			return s.tx(ctx, l, store.Fence{}, fn)
		}),
	}
}

// PutKinds implements store.KindStore. Of two with one name the last counts.
func (s *Store) PutKinds(ctx context.Context, ks []task.Kind) error {
	return s.aside(s.readers).PutKinds(ctx, ks)
}

// Kinds implements store.KindStore; they come in the order of their names.
func (s *Store) Kinds(ctx context.Context) ([]task.Kind, error) {
	return s.aside(s.readers).Kinds(ctx)
}

// Note implements store.Noter.
func (s *Store) Note(ctx context.Context, notes []store.Note) error {
	return s.aside(s.readers).Note(ctx, notes)
}

// Notes implements store.Noter.
func (s *Store) Notes(ctx context.Context, ids []task.ID) ([]task.Progress, error) {
	return s.aside(s.readers).Notes(ctx, ids)
}

// Logs implements store.Noter.
func (s *Store) Logs(ctx context.Context, q store.LogQuery) ([]task.LogLine, error) {
	return s.aside(s.readers).Logs(ctx, q)
}
