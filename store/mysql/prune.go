package mysql

import (
	"context"
	"fmt"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
	"github.com/ax-sched/ax/task"
)

// Prune implements store.Pruner. The page is read first; what is still as it was read is then
// deleted, in transactions of 200 tasks.
func (s *Store) Prune(ctx context.Context, f store.Fence, p store.Prune) (store.Pruned, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.Pruned{}, err
	}
	defer leave()
	out, err := s.prune(ctx, f, &p)
	if err != nil {
		return store.Pruned{}, fmt.Errorf("prune: %w", wire.Explain(err))
	}
	return out, nil
}

func (s *Store) prune(ctx context.Context, f store.Fence, p *store.Prune) (
	out store.Pruned, err error,
) {
	over, next, err := s.readEnded(ctx, f, p)
	if err != nil {
		return out, err
	}
	out.Next = next
	for part := range slices.Chunk(over, mostRows) {
		n, err := s.deleteEnded(ctx, f, part)
		if err != nil {
			return out, err
		}
		out.Deleted += n
	}
	out.Keys, err = s.pruneKept(ctx, f, page(p.Limit, 500, 1000))
	return out, err
}

// readEnded reads a page and returns what of it has stayed long enough.
func (s *Store) readEnded(
	ctx context.Context, f store.Fence, p *store.Prune,
) (over []task.Task, next task.ID, err error) {
	limit, seen := page(p.Limit, 500, 1000), 0
	a := &args{}
	a.Text(string(p.After[:]))
	if p.Until.IsZero() {
		a.Text(afterAll)
	} else {
		a.ID(p.Until)
	}
	a.Int(int64(limit))
	err = s.tx(ctx, s.slow, f, func(c *conn) error {
		over, next, seen = nil, task.ID{}, 0
		return c.Each(ctx, pageTasks, a, func(r *row) {
			t := task.Task{ID: r.ID(), Mutable: task.Mutable{State: task.State(r.Int())},
				Version: r.Int(), UpdatedAt: r.Time(), Kind: r.Text(), Job: r.Text()}
			if p.Keep.Over(t.State, t.Kind, t.Job, t.UpdatedAt, c.Now) {
				over = append(over, t)
			}
			if seen++; seen == limit {
				next = t.ID
			}
		})
	})
	return over, next, err
}

// deleteEnded deletes what is still as it was read and returns how many those were.
func (s *Store) deleteEnded(
	ctx context.Context, f store.Fence, over []task.Task,
) (n int, err error) {
	was := make(map[task.ID]int64, len(over))
	ids := make([]task.ID, len(over))
	for i := range over {
		ids[i], was[over[i].ID] = over[i].ID, over[i].Version
	}
	err = s.tx(ctx, s.slow, f, func(c *conn) error {
		var gone []task.ID
		a := &args{}
		a.IDs(ids)
		err := c.Each(ctx, lockEnded, a, func(r *row) {
			if id, version := r.ID(), r.Int(); was[id] == version {
				gone = append(gone, id)
			}
		})
		if n = len(gone); err != nil || n == 0 {
			return err
		}
		a = &args{}
		a.IDs(gone)
		for _, v := range [...]verb{pruneTasks, pruneSpecs, pruneHistory, pruneNotes,
			pruneLogs} {
			if _, err := c.Exec(ctx, v, a); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// pruneKept removes kept keys whose end has passed, at most limit of them, and says how many. What
// another transaction holds is left for the next time.
func (s *Store) pruneKept(ctx context.Context, f store.Fence, limit int) (n int, err error) {
	err = s.tx(ctx, s.slow, f, func(c *conn) error {
		n = 0
		a := &args{}
		a.Time(c.Now)
		a.Int(int64(limit))
		var over []uniqueKey
		err := c.Each(ctx, lockOver, a, func(r *row) {
			over = append(over, uniqueKey{r.Text(), r.Text()})
		})
		if err != nil || len(over) == 0 {
			return err
		}
		n, err = c.Exec(ctx, pruneKept, keyArgs(over))
		return err
	})
	return n, err
}
