package postgres

import (
	"context"
	"fmt"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// ended is a task that has stayed long enough, as it was read.
type ended struct {
	id      task.ID
	version int64
}

// Prune implements store.Pruner. The page is read first; one statement then deletes what is still
// as it was read.
func (s *Store) Prune(ctx context.Context, f store.Fence, p store.Prune) (store.Pruned, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.Pruned{}, err
	}
	defer leave()
	var out store.Pruned
	over, next, err := s.readEnded(ctx, f, &p)
	if err == nil && len(over) > 0 {
		out.Deleted, err = s.deleteEnded(ctx, f, over)
	}
	if err == nil {
		out.Keys, err = s.pruneKept(ctx, f, pruneLimit(&p))
	}
	if err != nil {
		return store.Pruned{}, fmt.Errorf("prune: %w", explain(err))
	}
	out.Next = next
	return out, nil
}

func pruneLimit(p *store.Prune) int {
	if p.Limit <= 0 {
		return 500
	}
	return min(p.Limit, mostRows)
}

// readEnded reads a page and returns what of it has stayed long enough.
func (s *Store) readEnded(
	ctx context.Context, f store.Fence, p *store.Prune,
) (over []ended, next task.ID, err error) {
	limit, until := pruneLimit(p), p.Until
	if until.IsZero() {
		until = lastID
	}
	a := &args{}
	a.IDOrFirst(p.After)
	a.ID(until)
	a.Int8(int64(limit))
	a.Int4(f.Partition)
	var page []task.Task // only what decides
	var now task.Time
	var token int64
	err = retry(ctx, func() error {
		page = page[:0]
		return s.with(ctx, s.readers, func(c *conn) error {
			return c.call(ctx, pageTasks, a, func(r *row) {
				t := task.Task{ID: r.ID(), Mutable: task.Mutable{State: task.State(r.Int2())},
					Version: r.Int8(), UpdatedAt: r.Time(), Kind: r.Text(), Job: r.Text()}
				if t.State == task.None {
					token, now = t.Version, t.UpdatedAt
					return
				}
				page = append(page, t)
			})
		})
	})
	if err == nil && f != (store.Fence{}) && token != f.Token {
		err = store.ErrFenced
	}
	for i := range page {
		t := &page[i]
		if p.Keep.Over(t.State, t.Kind, t.Job, t.UpdatedAt, now) {
			over = append(over, ended{t.ID, t.Version})
		}
	}
	if len(page) == limit {
		next = page[limit-1].ID
	}
	return over, next, err
}

// deleteEnded deletes what is still as it was read and returns how many those were.
func (s *Store) deleteEnded(ctx context.Context, f store.Fence, over []ended) (int, error) {
	a := &args{}
	a.Int4(f.Partition)
	a.Int8(f.Token)
	a.Bool(f != store.Fence{})
	a.Places(len(over))
	a.IDs(len(over), func(i int) task.ID { return over[i].id })
	a.Int8s(len(over), func(i int) int64 { return over[i].version })
	return s.pruneBy(ctx, f, pruneTasks, a)
}

// pruneKept removes kept keys whose end has passed and returns how many.
func (s *Store) pruneKept(ctx context.Context, f store.Fence, limit int) (int, error) {
	a := &args{}
	a.Int4(f.Partition)
	a.Int8(f.Token)
	a.Bool(f != store.Fence{})
	a.Int4(limit)
	return s.pruneBy(ctx, f, pruneKept, a)
}

// pruneBy runs a statement that answers with the installed token and how much it deleted.
func (s *Store) pruneBy(ctx context.Context, f store.Fence, v verb, a *args) (n int, err error) {
	var token int64
	err = s.one(ctx, s.slow, v, a, func(r *row) { token, n = r.Int8(), r.Int4() })
	if err == nil && f != (store.Fence{}) && token != f.Token {
		err = store.ErrFenced
	}
	return n, err
}
