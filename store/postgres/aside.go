package postgres

import (
	"context"
	"fmt"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/postgres/internal/aside"
	"github.com/ax-sched/ax/store/postgres/internal/wire"
	"github.com/ax-sched/ax/task"
)

var _ store.Noter = (*Store)(nil)

// Leases returns leadership in the same database, on the connection that work never uses. It lives
// as long as the store.
func (s *Store) Leases() aside.Lease { return aside.Leases{Call: s.aside(s.keeper)} }

// aside returns a function that runs single statements on connections of the line.
func (s *Store) aside(l line) aside.Call {
	return func(ctx context.Context, what, v string, a *wire.Args, each func(*wire.Row)) error {
		return s.on(ctx, l, what, verb(v), &args{*a}, func(r *row) {
			if each != nil {
				each(&r.Row)
			}
		})
	}
}

// on runs one statement on a connection of the line.
func (s *Store) on(
	ctx context.Context, l line, what string, v verb, a *args, each func(*row),
) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.one(ctx, l, v, a, each); err != nil {
		return fmt.Errorf("%s: %w", what, explain(err))
	}
	return nil
}

// keep runs one statement on the connection for leases and heartbeats.
func (s *Store) keep(ctx context.Context, what string, v verb, a *args, each func(*row)) error {
	return s.on(ctx, s.keeper, what, v, a, each)
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
