package mysql

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
	"github.com/ax-sched/ax/task"
)

// found is what the condition of a transition is about.
type found struct {
	version   int64
	state     task.State
	execution task.ID
	runAt     task.Time
	kind      string
}

// applyCarefully locks rows, then the keys that are wanted, decides move by move in the order of
// ids, and writes what is applied. The order of locks is the fence, the rows by id, the keys.
func (c *conn) applyCarefully(ctx context.Context, moves []*move, lock verb) error {
	if len(moves) == 0 {
		return nil
	}
	rows, err := c.find(ctx, lock, moves)
	if err != nil {
		return err
	}
	for _, m := range moves {
		*m.out = store.Result{At: c.Now}
		r, ok := rows[m.ID]
		m.out.Status = refuse(m.Transition, &r, ok, c.Now)
	}
	k, err := c.lockKeys(ctx, moves, rows)
	if err != nil {
		return err
	}
	var todo []*move
	for _, m := range moves {
		if m.out.Status != 0 {
			continue
		}
		if !k.take(m) {
			m.out.Status = store.KeyBusy
			continue
		}
		c.applied(m)
		todo = append(todo, m)
	}
	if len(todo) == 0 {
		return nil
	}
	if err := c.move(ctx, todo); err != nil {
		if errors.Is(err, errRefused) {
			return fmt.Errorf("locked rows have changed: %w", store.ErrDamaged)
		}
		return err
	}
	return k.write(ctx, c)
}

// find reads rows by a statement that may lock them.
func (c *conn) find(ctx context.Context, v verb, moves []*move) (map[task.ID]found, error) {
	ids := make([]task.ID, len(moves))
	for i, m := range moves {
		ids[i] = m.ID
	}
	a := &args{}
	a.IDs(ids)
	rows := make(map[task.ID]found, len(moves))
	err := c.Each(ctx, v, a, func(r *row) {
		rows[r.ID()] = found{version: r.Int(), state: task.State(r.Int()), execution: r.ID(),
			runAt: r.Time(), kind: r.Text()}
	})
	return rows, err
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

// keys is who has the keys that moves take and free: at the start, and as the moves change it.
type keys struct {
	had, has map[string]task.ID
	own      map[task.ID]uniqueKey // of tasks that come back or become final
	unique   map[uniqueKey]task.ID
	back     []*move // those that took their unique key again
}

// lockKeys locks the keys that moves want. Moves that were refused want none. A key that nobody has
// cannot be locked; where somebody else takes it meanwhile, the transaction fails and is made
// again.
func (c *conn) lockKeys(
	ctx context.Context, moves []*move, rows map[task.ID]found,
) (*keys, error) {
	k := &keys{had: map[string]task.ID{}}
	var want []string
	var back, final []task.ID
	for _, m := range moves {
		if m.out.Status != 0 {
			continue
		}
		for _, key := range [...]string{m.TakeKey, m.FreeKey} {
			if key != "" {
				want = append(want, key)
			}
		}
		if revives(m.Transition) {
			back = append(back, m.ID)
		} else if m.FreeUnique {
			final = append(final, m.ID)
		}
	}
	if len(want) > 0 {
		slices.Sort(want)
		want = slices.Compact(want)
		a := &args{}
		a.Rows(len(want))
		for _, key := range want {
			a.Text(key)
		}
		err := c.Each(ctx, lockKeys, a, func(r *row) { k.had[r.Text()] = r.ID() })
		if err != nil {
			return nil, err
		}
	}
	k.has = maps.Clone(k.had)
	if len(back) > 0 {
		return k, c.lockUnique(ctx, k, append(back, final...), rows)
	}
	return k, nil
}

// lockUnique reads and locks who has the unique keys of tasks.
func (c *conn) lockUnique(
	ctx context.Context, k *keys, ids []task.ID, rows map[task.ID]found,
) error {
	k.own, k.unique = map[task.ID]uniqueKey{}, map[uniqueKey]task.ID{}
	a := &args{}
	a.IDs(ids)
	err := c.Each(ctx, keysOf, a, func(r *row) {
		id := r.ID()
		k.own[id] = uniqueKey{rows[id].kind, r.Text()}
	})
	if err != nil || len(k.own) == 0 {
		return err
	}
	return c.Each(ctx, lockUnique, keyArgs(slices.Collect(maps.Values(k.own))), func(r *row) {
		k.unique[uniqueKey{r.Text(), r.Text()}] = r.ID()
	})
}

// take lets a move take and free its keys, or reports that one is another task's.
func (k *keys) take(m *move) bool {
	if m.TakeKey != "" {
		if holder, busy := k.has[m.TakeKey]; busy && holder != m.ID {
			return false
		}
	}
	if u, keyed := k.own[m.ID]; keyed {
		switch {
		case revives(m.Transition):
			if _, busy := k.unique[u]; busy {
				return false
			}
			k.unique[u] = m.ID
			k.back = append(k.back, m)
		case m.FreeUnique:
			delete(k.unique, u)
		}
	}
	if m.TakeKey != "" {
		k.has[m.TakeKey] = m.ID
	}
	if m.FreeKey != "" && k.has[m.FreeKey] == m.ID {
		delete(k.has, m.FreeKey)
	}
	return true
}

// write writes what has changed, first what is given back. Unique keys of final tasks have been
// given back with their rows.
func (k *keys) write(ctx context.Context, c *conn) error {
	free, take, unique := &args{}, &args{}, &args{}
	nFree, nTake := 0, 0
	for _, key := range slices.Sorted(maps.Keys(k.had)) {
		if k.has[key] != k.had[key] {
			nFree++
			free.Text(key)
			free.ID(k.had[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(k.has)) {
		if k.has[key] != k.had[key] {
			nTake++
			take.Text(key)
			take.ID(k.has[key])
		}
	}
	slices.SortFunc(k.back, func(a, b *move) int { return compareKeys(k.own[a.ID], k.own[b.ID]) })
	for _, m := range k.back {
		unique.Text(k.own[m.ID].kind)
		unique.Text(k.own[m.ID].key)
		unique.ID(m.ID)
	}
	for _, w := range []struct {
		v verb
		a *args
		n int
	}{{freeKeys, free, nFree}, {takeKeys, take, nTake}, {takeUnique, unique, len(k.back)}} {
		if w.n == 0 {
			continue
		}
		w.a.Rows(w.n)
		if _, err := c.Exec(ctx, w.v, w.a); err != nil {
			return err
		}
	}
	return nil
}

// applyFree applies the moves whose rows no foreign transaction holds, and answers Locked for the
// others. It runs after a statement waited too long, so it may be slow.
func (s *Store) applyFree(ctx context.Context, l line, f store.Fence, moves []*move) error {
	fenced := false
	err := s.tx(ctx, l, f, func(c *conn) error {
		fenced = true
		return c.applyCarefully(ctx, moves, lockFree)
	})
	switch {
	case wire.Number(err) == wire.NumLockWait && !fenced:
		return fmt.Errorf("partition %d: %w", f.Partition, err)
	case wire.Number(err) == wire.NumLockWait && len(moves) == 1:
		// A key of it is open in a foreign transaction.
		*moves[0].out = store.Result{Status: store.Locked}
		return s.with(ctx, s.readers, func(c *conn) error {
			return c.Each(ctx, readClock, &args{}, func(r *row) { moves[0].out.At = r.Time() })
		})
	case wire.Number(err) == wire.NumLockWait:
		half := len(moves) / 2
		if err := s.applyFree(ctx, l, f, moves[:half]); err != nil {
			return err
		}
		return s.applyFree(ctx, l, f, moves[half:])
	case err != nil:
		return err
	}
	return s.tellLocked(ctx, moves)
}

// tellLocked tells the rows that were left out because they are locked from those that are gone or
// are not as they should be: a read does not wait.
func (s *Store) tellLocked(ctx context.Context, moves []*move) error {
	left := slices.DeleteFunc(slices.Clone(moves), func(m *move) bool {
		return m.out.Status != store.Gone
	})
	if len(left) == 0 {
		return nil
	}
	return s.with(ctx, s.readers, func(c *conn) error {
		rows, err := c.find(ctx, findTasks, left)
		for _, m := range left {
			r, ok := rows[m.ID]
			if m.out.Status = refuse(m.Transition, &r, ok, m.out.At); m.out.Status == 0 {
				m.out.Status = store.Locked
			}
		}
		return err
	})
}
