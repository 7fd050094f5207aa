package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/postgres/internal/wire"
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

// size is what the move adds to a statement beyond its fixed columns.
func (m *move) size() int {
	n := len(m.Set.Result) + len(m.Set.Error)
	for i := range m.Moves {
		n += len(m.Moves[i].Detail)
	}
	return n
}

// keyed reports whether keys change hands other than by becoming final.
func (m *move) keyed() bool {
	return m.TakeKey != "" || m.FreeKey != "" || revives(m.Transition)
}

// revives reports whether a final task comes back and needs its (kind, key) again.
func revives(tr *task.Transition) bool { return tr.From.Final() && !tr.Set.State.Final() }

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
		return nil, fmt.Errorf("apply: %w", explain(err))
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
		for _, text := range [...]string{tr.TakeKey, tr.FreeKey, tr.Set.Executor} {
			if !wire.Plain(text) {
				return &task.InputError{Field: "overlap key or executor",
					Reason: "has a NUL or is not valid UTF-8; PostgreSQL cannot hold it"}
			}
		}
	}
	return nil
}

// applyBatch applies the calls without a fence that waited together. Two of them may move one
// task: the version decides which.
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
	slices.SortFunc(moves, byID)
	for _, part := range cut(moves, (*move).size) {
		if err := s.applyPart(ctx, l, f, part); err != nil {
			return err
		}
	}
	return nil
}

// applyPart applies one transaction's worth. Moves that take and free no keys are one statement.
func (s *Store) applyPart(ctx context.Context, l line, f store.Fence, moves []*move) error {
	b := &applier{s: s, fence: f}
	var err error
	if slices.ContainsFunc(moves, (*move).keyed) {
		err = b.withKeys(ctx, l, moves)
	} else {
		err = retry(ctx, func() error {
			b.reset()
			return s.with(ctx, l, func(c *conn) error { return b.send(ctx, c, moves) })
		})
	}
	if code(err) == codeLocked {
		return s.applyFree(ctx, l, f, moves)
	}
	if err != nil {
		return err
	}
	return b.explain(ctx, moves)
}

// applier applies moves with one time, in a transaction or a single statement.
type applier struct {
	s     *Store
	fence store.Fence
	held  bool               // the fence was checked before in this transaction
	now   task.Time          // 0 until a statement has read the clock
	busy  map[*move]struct{} // another task holds the overlap key
	stuck map[*move]struct{} // a foreign transaction holds the row
}

// reset forgets an attempt that was rolled back.
func (b *applier) reset() { *b = applier{s: b.s, fence: b.fence} }

// send applies moves and answers those that were applied.
func (b *applier) send(ctx context.Context, c *conn, moves []*move) error {
	var token int64
	var count int
	var places []int
	err := c.call(ctx, applyMoves, b.args(moves), func(r *row) {
		b.now, token, count, places = r.Time(), r.Int8(), r.Int4(), r.Int4s()
	})
	switch {
	case err != nil:
		return err
	case b.fence != (store.Fence{}) && !b.held && token != b.fence.Token:
		return store.ErrFenced
	case count == len(moves):
		for _, m := range moves {
			b.applied(m)
		}
		return nil
	}
	for _, m := range moves {
		*m.out = store.Result{At: b.now}
	}
	for _, p := range places {
		b.applied(moves[p-1])
	}
	return nil
}

func (b *applier) applied(m *move) {
	*m.out = store.Result{Status: store.Applied, Version: m.Version + int64(len(m.Moves)), At: b.now}
}

// explain finds out why moves were not applied. It reads after the commit: whatever happened
// in between, the answer was true at a moment after the call began.
func (b *applier) explain(ctx context.Context, moves []*move) error {
	var rest []*move
	for _, m := range moves {
		if m.out.Status == 0 {
			rest = append(rest, m)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	a := &args{}
	a.Places(len(rest))
	a.IDs(len(rest), func(i int) task.ID { return rest[i].ID })
	for _, m := range rest {
		*m.out = store.Result{Status: store.Gone, At: b.now}
	}
	return b.s.one(ctx, b.s.readers, refused, a, func(r *row) {
		m := rest[r.Int4()-1]
		version, state, execution := r.Int8(), task.State(r.Int2()), r.ID()
		m.out.Status = b.why(m, version, state, execution, r.Time())
	})
}

// why compares a move with the row it did not change. What is wrong with the row comes first.
func (b *applier) why(
	m *move, version int64, state task.State, execution task.ID, runAt task.Time,
) store.Status {
	_, busy := b.busy[m]
	_, stuck := b.stuck[m]
	switch {
	case version != m.Version || state != m.From:
		return store.Conflict
	case !m.Execution.IsZero() && execution != m.Execution:
		return store.Conflict
	case m.WhenDue && runAt > b.now:
		return store.NotDue
	case busy:
		return store.KeyBusy
	case stuck:
		return store.Locked
	}
	return store.Conflict
}

// args writes the 48 parameters of applyMoves.
func (b *applier) args(moves []*move) *args {
	n, d := len(moves), &wire.Dictionary{}
	a := newArgs(48, n)
	a.Int4(b.fence.Partition)
	a.Int8(b.fence.Token)
	a.Bool(b.fence != store.Fence{} && !b.held)
	a.Int8(int64(b.now))
	a.Places(n)
	a.IDs(n, func(i int) task.ID { return moves[i].ID })
	a.Int8s(n, func(i int) int64 { return moves[i].Version })
	a.Int2s(n, func(i int) int { return int(moves[i].From) })
	a.IDs(n, func(i int) task.ID { return moves[i].Execution })
	a.Bools(n, func(i int) bool { return moves[i].WhenDue })
	a.Mutable(d, n, func(i int) *task.Mutable { return &moves[i].Set })
	last := func(i int) *task.Move { return &moves[i].Moves[len(moves[i].Moves)-1] }
	a.Int2s(n, func(i int) int { return len(moves[i].Moves) - 1 })
	a.Int2s(n, func(i int) int { return int(last(i).From) })
	a.Int2s(n, func(i int) int { return int(last(i).Event) })
	a.Int2s(n, func(i int) int { return int(last(i).Reason) })
	a.Words(d, n, func(i int) string { return wire.Storable(last(i).Actor) })
	a.Texts(n, func(i int) string { return wire.Storable(last(i).Detail) })
	a.earlier(moves)
	a.Dictionary(d)
	return a
}

// earlier writes the moves before the last of each transition, which few have.
func (a *args) earlier(moves []*move) {
	type step struct {
		*task.Move
		place, before int
	}
	var steps []step
	for i, m := range moves {
		for k := range len(m.Moves) - 1 {
			steps = append(steps, step{&m.Moves[k], i + 1, len(m.Moves) - 1 - k})
		}
	}
	n := len(steps)
	a.Int4s(n, func(i int) int { return steps[i].place })
	a.Int2s(n, func(i int) int { return steps[i].before })
	a.Int2s(n, func(i int) int { return int(steps[i].From) })
	a.Int2s(n, func(i int) int { return int(steps[i].To) })
	a.Int2s(n, func(i int) int { return int(steps[i].Event) })
	a.Int2s(n, func(i int) int { return int(steps[i].Reason) })
	a.Texts(n, func(i int) string { return wire.Storable(steps[i].Actor) })
	a.Texts(n, func(i int) string { return wire.Storable(steps[i].Detail) })
}
