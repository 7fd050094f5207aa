package mysql

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
	"github.com/ax-sched/ax/task"
)

// applyCall is one call of Apply on its way through the group.
type applyCall struct {
	trs []*task.Transition
	out []store.Result
}

// move is a transition and where its answer goes.
type move struct {
	*task.Transition
	out *store.Result
}

// size is about what the move adds to a statement.
func (m *move) size() int {
	n := 1000 + len(m.Set.Result) + len(m.Set.Error)
	for i := range m.Moves {
		n += 200 + len(m.Moves[i].Detail)
	}
	return n
}

// keyed reports whether keys change hands other than by becoming final.
func (m *move) keyed() bool {
	return m.TakeKey != "" || m.FreeKey != "" || revives(m.Transition)
}

// revives reports whether a final task comes back and needs its (kind, key) again.
func revives(tr *task.Transition) bool { return tr.From.Final() && !tr.Set.State.Final() }

func byID(a, b *move) int { return bytes.Compare(a.ID[:], b.ID[:]) }

// Apply implements store.Applier. Calls without a fence that wait at the same time share a commit.
func (s *Store) Apply(
	ctx context.Context, f store.Fence, trs []*task.Transition,
) ([]store.Result, error) {
	if err := applicable(trs); err != nil {
		return nil, fmt.Errorf("apply: %w", err)
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	c := &applyCall{trs: trs, out: make([]store.Result, len(trs))}
	switch {
	case f != (store.Fence{}):
		err = s.applyAll(ctx, s.claimer, f, []*applyCall{c})
	case slices.ContainsFunc(trs, revives):
		err = s.applyAll(ctx, s.completer, f, []*applyCall{c}) // nobody else waits for its keys
	default:
		err = s.outcomes.Do(ctx, c)
	}
	if err != nil {
		return nil, fmt.Errorf("apply: %w", wire.Explain(err))
	}
	return c.out, nil
}

// applicable refuses what breaks the rules before anything is written.
func applicable(trs []*task.Transition) error {
	seen := make(map[task.ID]struct{}, len(trs))
	for _, tr := range trs {
		if err := tr.Check(); err != nil {
			return err
		}
		if _, twice := seen[tr.ID]; twice {
			return fmt.Errorf("task %s: %w: two transitions in one call", tr.ID, task.ErrIllegal)
		}
		seen[tr.ID] = struct{}{}
		err := errors.Join(wire.Fits("overlap key", tr.TakeKey, longText),
			wire.Fits("executor", tr.Set.Executor, longText))
		if err != nil {
			return err
		}
	}
	return nil
}

// applyBatch applies the calls without a fence that waited together. Two of them may move one
// task: the version decides which, so they must not meet in one transaction.
func (s *Store) applyBatch(ctx context.Context, calls []*applyCall) error {
	return s.applyAll(ctx, s.completer, store.Fence{}, calls)
}

// applyAll sorts the transitions of all calls by id, which is the order of locks, and applies them
// part by part.
func (s *Store) applyAll(ctx context.Context, l line, f store.Fence, calls []*applyCall) error {
	var moves []*move
	for _, c := range calls {
		all := make([]move, len(c.trs))
		for i, tr := range c.trs {
			all[i] = move{tr, &c.out[i]}
			moves = append(moves, &all[i])
		}
	}
	slices.SortStableFunc(moves, byID)
	for len(moves) > 0 || f != (store.Fence{}) {
		first, twins := split(moves)
		for _, part := range cut(first, (*move).size) {
			if err := s.applyPart(ctx, l, f, part); err != nil {
				return err
			}
		}
		if moves = twins; len(moves) == 0 {
			return nil
		}
	}
	return nil
}

// split takes the first move of each task out of moves, and leaves those after it.
func split(moves []*move) (first, twins []*move) {
	for i, m := range moves {
		if i > 0 && m.ID == moves[i-1].ID {
			twins = append(twins, m)
		} else {
			first = append(first, m)
		}
	}
	return first, twins
}

// applyPart applies one transaction's worth. Moves that take and free no keys are tried in one
// statement without a look at the rows; where one of them is refused, it is taken back, and they
// are made with care.
func (s *Store) applyPart(ctx context.Context, l line, f store.Fence, moves []*move) error {
	if !slices.ContainsFunc(moves, (*move).keyed) {
		err := s.tx(ctx, l, f, func(c *conn) error { return c.applyBlindly(ctx, moves) })
		if !errors.Is(err, errRefused) && wire.Number(err) != wire.NumLockWait {
			return err
		}
	}
	err := s.tx(ctx, l, f, func(c *conn) error { return c.applyCarefully(ctx, moves, lockTasks) })
	if wire.Number(err) == wire.NumLockWait {
		return s.applyFree(ctx, l, f, moves)
	}
	return err
}

// errRefused: not all moves of a statement were applied.
var errRefused = errors.New("some rows were not as they should be")

// applyBlindly applies moves that must all succeed.
func (c *conn) applyBlindly(ctx context.Context, moves []*move) error {
	if len(moves) == 0 {
		return nil
	}
	if err := c.move(ctx, moves); err != nil {
		return err
	}
	for _, m := range moves {
		c.applied(m)
	}
	return nil
}

func (c *conn) applied(m *move) {
	*m.out = store.Result{Status: store.Applied, Version: m.Version + int64(len(m.Moves)),
		At: c.Now}
}

// move moves rows that all must be as their transitions expect, writes their history and gives
// unique keys back.
func (c *conn) move(ctx context.Context, moves []*move) error {
	rows, said := &args{}, &args{}
	rows.Rows(len(moves))
	entries := 0
	var free []task.ID
	for _, m := range moves {
		set := m.Set
		set.Resolve(c.Now)
		rows.ID(m.ID)
		rows.Int(m.Version)
		rows.Int(int64(m.From))
		rows.ID(m.Execution)
		due := int64(0)
		if m.WhenDue {
			due = 1
		}
		rows.Int(due)
		rows.Int(int64(len(m.Moves)))
		rows.Time(c.Now)
		rows.Mutable(&set)
		for i := range m.Moves {
			entries++
			said.Entry(m.ID, m.Version+int64(i)+1, c.Now, &m.Moves[i], &set)
		}
		if m.FreeUnique {
			free = append(free, m.ID)
		}
	}
	n, err := c.Exec(ctx, moveTasks, rows)
	if err != nil {
		return err
	}
	if n != len(moves) {
		return errRefused
	}
	said.Rows(entries)
	if _, err := c.Exec(ctx, insertHistory, said); err != nil || len(free) == 0 {
		return err
	}
	a := &args{}
	a.IDs(free)
	_, err = c.Exec(ctx, freeUnique, a)
	return err
}
