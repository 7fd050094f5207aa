package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// applyFree applies the moves whose rows no foreign transaction holds, and answers Locked for
// the others. It runs after a statement waited too long, so it may be slow.
func (s *Store) applyFree(ctx context.Context, l line, f store.Fence, moves []*move) error {
	b := &applier{s: s, fence: f}
	fenceBusy := false
	err := s.tx(ctx, l, func(c *conn) error {
		b.reset()
		if err := b.begin(ctx, c); err != nil {
			fenceBusy = code(err) == codeLocked
			return err
		}
		free, err := b.lock(ctx, c, moves)
		if err != nil {
			return err
		}
		return b.steps(ctx, c, free)
	})
	switch {
	case fenceBusy:
		return fmt.Errorf("partition %d: %w", f.Partition, err)
	case code(err) == codeLocked && len(moves) == 1:
		// A key of it is open in a foreign transaction.
		*moves[0].out = store.Result{Status: store.Locked, At: b.now}
		return nil
	case code(err) == codeLocked:
		half := len(moves) / 2
		if err := s.applyFree(ctx, l, f, moves[:half]); err != nil {
			return err
		}
		return s.applyFree(ctx, l, f, moves[half:])
	case err != nil:
		return err
	}
	return b.explain(ctx, moves)
}

// lock locks what is free and returns it in the order of moves. A row that does not exist
// is left out too; explain tells it from a locked one.
func (b *applier) lock(ctx context.Context, c *conn, moves []*move) ([]*move, error) {
	a := &args{}
	a.Places(len(moves))
	a.IDs(len(moves), func(i int) task.ID { return moves[i].ID })
	var places []int
	if err := c.call(ctx, lockFree, a, func(r *row) { places = r.Int4s() }); err != nil {
		return nil, err
	}
	slices.Sort(places)
	b.stuck = make(map[*move]struct{}, len(moves))
	for _, m := range moves {
		b.stuck[m] = struct{}{}
		*m.out = store.Result{At: b.now}
	}
	free := make([]*move, len(places))
	for i, p := range places {
		free[i] = moves[p-1]
		delete(b.stuck, free[i])
	}
	return free, nil
}
