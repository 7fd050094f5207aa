package sqlite

import (
	"context"
	"fmt"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
	"github.com/ax-sched/ax/task"
)

// pruneRows is the most tasks one transaction deletes: while it lasts, nobody else writes.
const pruneRows = 200

// ended is a task that has stayed long enough, as it was read.
type ended struct {
	id               task.ID
	n, version, hist int64
	state            task.State
}

// Prune implements store.Pruner. The page is read beside the writer; the writer then deletes what
// is still as it was read.
func (s *Store) Prune(ctx context.Context, f store.Fence, p store.Prune) (store.Pruned, error) {
	over, next, err := s.readEnded(ctx, f, &p)
	out := store.Pruned{Next: next}
	for len(over) > 0 && err == nil {
		part := over[:min(pruneRows, len(over))]
		over = over[len(part):]
		var n int
		n, err = s.deleteEnded(ctx, f, part)
		out.Deleted += n
	}
	if err == nil {
		out.Keys, err = s.pruneKept(ctx, f, page(p.Limit, 500, 1000))
	}
	if err != nil {
		return store.Pruned{}, fmt.Errorf("prune: %w", err)
	}
	return out, nil
}

// deleteEnded deletes what is still as it was read and returns how many those were.
func (s *Store) deleteEnded(ctx context.Context, f store.Fence, over []ended) (n int, err error) {
	err = s.writer.do(ctx, false, len(over), func(t *tx) error {
		n = 0 // a second time after a rollback
		if err := t.check(f); err != nil {
			return err
		}
		for i := range over {
			gone, err := t.prune(&over[i])
			if err != nil {
				return err
			}
			if gone {
				n++
			}
		}
		return nil
	})
	return n, err
}

// readEnded reads a page and returns what of it has stayed long enough.
func (s *Store) readEnded(
	ctx context.Context, f store.Fence, p *store.Prune,
) (over []ended, next task.ID, err error) {
	until, seen, limit := afterAll, 0, page(p.Limit, 500, 1000)
	if !p.Until.IsZero() {
		until = p.Until[:]
	}
	err = s.readers.do(ctx, func(c *lite.Conn) error {
		if err := (&tx{conn: c}).check(f); err != nil {
			return err
		}
		now := s.opts.now()
		return each(c, pageTasks, func(q *lite.Stmt) {
			q.Blob(1, p.After[:])
			q.Blob(2, until)
			q.Int(3, int64(limit))
		}, func(q *lite.Stmt) error {
			e := ended{n: q.ColInt(0), id: readID(q, 1), state: task.State(q.ColInt(2)),
				version: q.ColInt(3), hist: q.ColInt(5)}
			since := task.Time(q.ColInt(4))
			if p.Keep.Over(e.state, q.ColText(6), q.ColText(7), since, now) {
				over = append(over, e)
			}
			if seen++; seen == limit {
				next = e.id
			}
			return nil
		})
	})
	return over, next, err
}

// prune deletes one task with what belongs to it, unless it is no longer as it was read.
func (t *tx) prune(e *ended) (bool, error) {
	got, err := t.run(pruneTask, func(s *lite.Stmt) {
		s.Int(1, e.n)
		s.Blob(2, e.id[:])
		s.Int(3, e.version)
		s.Int(4, int64(e.state))
	})
	if err != nil || got == 0 {
		return false, err
	}
	for _, q := range [...]string{pruneSpec, pruneProgress, pruneLog} {
		if _, err := t.run(q, func(s *lite.Stmt) { s.Int(1, e.n) }); err != nil {
			return false, err
		}
	}
	for h := e.hist; h != 0; {
		var prev int64
		_, err := one(t.conn, previous, func(s *lite.Stmt) { s.Int(1, h) },
			func(s *lite.Stmt) { prev = s.ColInt(0) })
		if err == nil {
			_, err = t.run(pruneEntry, func(s *lite.Stmt) { s.Int(1, h) })
		}
		if err != nil {
			return false, err
		}
		h = prev
	}
	delete(t.known, e.id)
	return true, nil
}
