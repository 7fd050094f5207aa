package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/ax-sched/ax/internal/plant"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

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
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := s.check(f); err != nil {
		return nil, err
	}
	out := make([]store.Result, len(trs))
	for _, i := range order {
		out[i] = s.apply(now, trs[i])
	}
	return out, nil
}

// applicable checks all transitions and returns their places in the order of their ids.
func applicable(trs []*task.Transition) ([]int, error) {
	order := make([]int, len(trs))
	for i, tr := range trs {
		if err := tr.Check(); err != nil {
			return nil, err
		}
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return bytes.Compare(trs[a].ID[:], trs[b].ID[:])
	})
	for i := 1; i < len(order); i++ {
		if id := trs[order[i]].ID; id == trs[order[i-1]].ID {
			return nil, fmt.Errorf("task %s: %w: two transitions in one call", id, task.ErrIllegal)
		}
	}
	return order, nil
}

// apply moves one row if every condition holds.
func (s *Store) apply(now task.Time, tr *task.Transition) store.Result {
	r := s.rows[tr.ID]
	if plant.On(plant.KeyFreedEarly) {
		delete(s.overlap, tr.FreeKey)
	}
	if refused := s.refuse(now, r, tr); refused != 0 {
		return store.Result{Status: refused, At: now}
	}
	s.unlink(r)
	if tr.TakeKey != "" {
		s.overlap[tr.TakeKey] = r.ID
	}
	if tr.FreeKey != "" && s.overlap[tr.FreeKey] == r.ID {
		delete(s.overlap, tr.FreeKey)
	}
	r.Mutable = tr.Set
	r.Result = bytes.Clone(tr.Set.Result)
	r.Resolve(now)
	for _, m := range tr.Moves {
		s.record(now, r, m)
	}
	s.link(r)
	return store.Result{Status: store.Applied, Version: r.Version, At: now}
}

// refuse says why tr cannot be applied to r, or 0. What is wrong with the row itself comes first.
func (s *Store) refuse(now task.Time, r *row, tr *task.Transition) store.Status {
	switch {
	case r == nil:
		return store.Gone
	case plant.On(plant.StoreIgnoresVersion) && tr.Execution.IsZero():
	case r.Version != tr.Version || r.State != tr.From:
		return store.Conflict
	case !tr.Execution.IsZero() && r.ExecutionID != tr.Execution:
		return store.Conflict
	case tr.WhenDue && r.RunAt > now && !plant.On(plant.StoreIgnoresDue):
		return store.NotDue
	}
	if holder, busy := s.overlap[tr.TakeKey]; busy && holder != r.ID {
		return store.KeyBusy
	}
	// A task that comes back from a final state needs its (kind, key) again.
	if r.Key != "" && r.State.Final() && !tr.Set.State.Final() {
		if _, busy := s.unique[unique{r.Kind, r.Key}]; busy {
			return store.KeyBusy
		}
	}
	return 0
}
