package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
	"github.com/ax-sched/ax/task"
)

// applyRows is the most transitions of one transaction.
const applyRows = 1000

// Apply implements store.Applier. The transitions are applied one after the other in the order of
// their ids: of several that take one key the first wins, and a key that one frees can be taken by
// a later one.
func (s *Store) Apply(
	ctx context.Context, f store.Fence, trs []*task.Transition,
) ([]store.Result, error) {
	order, err := applicable(trs)
	if err != nil {
		return nil, fmt.Errorf("apply: %w", err)
	}
	out := make([]store.Result, len(trs))
	for first := true; first || len(order) > 0; first = false {
		part := order[:min(applyRows, len(order))]
		order = order[len(part):]
		err := s.writer.do(ctx, false, len(part), func(t *tx) error {
			if err := t.check(f); err != nil {
				return err
			}
			for _, i := range part {
				var err error
				if out[i], err = t.apply(trs[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("apply: %w", err)
		}
	}
	return out, nil
}

// applicable checks all transitions and returns their places in the order of their ids.
func applicable(trs []*task.Transition) ([]int, error) {
	order := make([]int, len(trs))
	sorted := true
	for i, tr := range trs {
		if err := tr.Check(); err != nil {
			return nil, err
		}
		order[i] = i
		sorted = sorted && (i == 0 || bytes.Compare(trs[i-1].ID[:], tr.ID[:]) <= 0)
	}
	if !sorted {
		slices.SortFunc(order, func(a, b int) int {
			return bytes.Compare(trs[a].ID[:], trs[b].ID[:])
		})
	}
	for i := 1; i < len(order); i++ {
		if id := trs[order[i]].ID; id == trs[order[i-1]].ID {
			return nil, fmt.Errorf("task %s: %w: two transitions in one call", id, task.ErrIllegal)
		}
	}
	return order, nil
}

// found is what the condition of a transition is about. It has no pointers, so that a cache of it
// costs the garbage collector nothing.
type found struct {
	n, version, hist int64
	state            task.State
	runAt            task.Time
	execution        task.ID
}

// apply moves one row if every condition holds. The transaction holds the write lock, so what it
// reads first stays true; it reads, because a refusal must say which condition failed.
//
// A row that this process wrote last is known. Another process may have moved it since, but then
// its version has grown: a known row is only ever a guess that the update's condition confirms.
func (t *tx) apply(tr *task.Transition) (store.Result, error) {
	if r, ok := t.known[tr.ID]; ok && tr.TakeKey == "" && refuse(tr, &r, true, t.now) == 0 {
		res, err := t.move(tr, &r)
		if err != nil || res.Status == store.Applied {
			return res, err
		}
	}
	r, ok, err := t.find(tr.ID)
	if err != nil {
		return store.Result{}, err
	}
	status := refuse(tr, &r, ok, t.now)
	if status == 0 && (tr.TakeKey != "" || r.state.Final()) {
		if status, err = t.takeKeys(tr, &r); err != nil {
			return store.Result{}, err
		}
	}
	if status != 0 {
		return store.Result{Status: status, At: t.now}, nil
	}
	return t.move(tr, &r)
}

func (t *tx) find(id task.ID) (r found, ok bool, err error) {
	s, err := t.conn.Stmt(findTask)
	if err != nil {
		return r, false, err
	}
	defer s.Reset()
	s.Blob(1, id[:])
	if ok, err = s.Step(); !ok {
		return r, false, err
	}
	r = found{n: s.ColInt(0), state: task.State(s.ColInt(1)), version: s.ColInt(2),
		hist: s.ColInt(3), runAt: task.Time(s.ColInt(4)), execution: readID(s, 5)}
	return r, true, nil
}

// refuse says why tr cannot be applied to r, or 0. Keys come after what is wrong with the row.
func refuse(tr *task.Transition, r *found, ok bool, now task.Time) store.Status {
	switch {
	case !ok:
		return store.Gone
	case r.version != tr.Version || r.state != tr.From:
		return store.Conflict
	case !tr.Execution.IsZero() && r.execution != tr.Execution:
		return store.Conflict
	case tr.WhenDue && r.runAt > now:
		return store.NotDue
	}
	return 0
}

// takeKeys takes the overlap key, and the (kind, key) of a task that comes back from a final state.
// If one of them is busy it takes none.
func (t *tx) takeKeys(tr *task.Transition, r *found) (store.Status, error) {
	if tr.TakeKey != "" {
		free, err := t.takeOverlap(tr.TakeKey, tr.ID)
		if err != nil || !free {
			return store.KeyBusy, err
		}
	}
	if !r.state.Final() || tr.Set.State.Final() {
		return 0, nil
	}
	kind, key, err := t.keyOf(r.n)
	if err != nil || key == "" {
		return 0, err
	}
	got, err := t.run(takeUnique, func(s *lite.Stmt) {
		s.Text(1, kind)
		s.Text(2, key)
		s.Int(3, r.n)
	})
	if err != nil || got == 1 {
		return 0, err
	}
	if tr.TakeKey != "" {
		err = t.freeOverlap(tr.TakeKey, tr.ID)
	}
	return store.KeyBusy, err
}

// takeOverlap reports whether the key is the task's now.
func (t *tx) takeOverlap(key string, id task.ID) (bool, error) {
	got, err := t.run(takeKey, func(s *lite.Stmt) {
		s.Text(1, key)
		s.Blob(2, id[:])
	})
	if err != nil || got == 1 {
		return got == 1, err
	}
	var has task.ID
	_, err = one(t.conn, holder, func(s *lite.Stmt) { s.Text(1, key) },
		func(s *lite.Stmt) { has = readID(s, 0) })
	return has == id, err
}

func (t *tx) freeOverlap(key string, id task.ID) error {
	_, err := t.run(freeKey, func(s *lite.Stmt) {
		s.Text(1, key)
		s.Blob(2, id[:])
	})
	return err
}

// freeKeys gives back what the task no longer holds.
func (t *tx) freeKeys(tr *task.Transition, r *found) error {
	if tr.FreeKey != "" {
		if err := t.freeOverlap(tr.FreeKey, tr.ID); err != nil {
			return err
		}
	}
	if !tr.FreeUnique {
		return nil
	}
	_, err := t.run(freeUnique, func(s *lite.Stmt) { s.Int(1, r.n) })
	return err
}

func (t *tx) keyOf(n int64) (kind, key string, err error) {
	_, err = one(t.conn, keyOf, func(s *lite.Stmt) { s.Int(1, n) },
		func(s *lite.Stmt) { kind, key = s.ColText(0), s.ColText(1) })
	return kind, key, err
}

// move rewrites row r, gives keys back and adds the history rows; Conflict if r is not the row as
// it is.
func (t *tx) move(tr *task.Transition, r *found) (store.Result, error) {
	first, err := t.nextEntries(len(tr.Moves))
	if err != nil {
		return store.Result{}, err
	}
	m := tr.Set
	m.Resolve(t.now)
	moves := int64(len(tr.Moves))
	after := found{n: r.n, version: r.version + moves, hist: first + moves - 1, state: m.State,
		runAt: m.RunAt, execution: m.ExecutionID}
	s, err := t.conn.Stmt(moveTask)
	if err != nil {
		return store.Result{}, err
	}
	bindHot(s, &m, after.version, after.hist, t.now)
	s.Int(hotColumns+1, r.n)
	s.Int(hotColumns+2, r.version)
	s.Int(hotColumns+3, int64(r.state))
	s.Blob(hotColumns+4, tr.ID[:])
	if err := s.Run(); err != nil {
		return store.Result{}, err
	}
	if t.conn.Changes() == 0 {
		delete(t.known, tr.ID)
		return store.Result{Status: store.Conflict, At: t.now}, nil
	}
	if err := t.freeKeys(tr, r); err != nil {
		return store.Result{}, err
	}
	prev := r.hist
	for i := range tr.Moves {
		h := first + int64(i)
		if err := t.record(r.n, h, prev, r.version+int64(i)+1, &tr.Moves[i], &m); err != nil {
			return store.Result{}, err
		}
		prev = h
	}
	t.know(tr.ID, &after)
	return store.Result{Status: store.Applied, Version: after.version, At: t.now}, nil
}
