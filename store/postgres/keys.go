package postgres

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// withKeys applies moves of which some take or free overlap keys. The order of locks is the fence,
// the keys in their order, the rows in the order of ids. Keys are freed at the end.
func (b *applier) withKeys(ctx context.Context, l line, moves []*move) error {
	return b.s.tx(ctx, l, func(c *conn) error {
		b.reset()
		if err := b.begin(ctx, c); err != nil {
			return err
		}
		return b.steps(ctx, c, moves)
	})
}

// begin locks and checks the fence, and reads the clock, as the first statement of a transaction.
func (b *applier) begin(ctx context.Context, c *conn) error {
	var token int64
	a := &args{}
	a.Int4(b.fence.Partition)
	v := holdFence
	if b.fence == (store.Fence{}) {
		v, a = readClock, &args{}
	}
	err := c.call(ctx, v, a, func(r *row) {
		if v == holdFence {
			token = r.Int8()
		}
		b.now = r.Time()
	})
	b.held = true
	if err == nil && token != b.fence.Token {
		err = store.ErrFenced
	}
	return err
}

// steps applies moves in rounds: in each, the first of those that want one key tries to take it.
// If its row then refuses it, the next one gets its turn.
func (b *applier) steps(ctx context.Context, c *conn, moves []*move) error {
	b.busy = make(map[*move]struct{})
	for _, m := range moves {
		*m.out = store.Result{At: b.now}
	}
	var err error
	for round := moves; len(round) > 0 && err == nil; {
		round, err = b.round(ctx, c, round)
	}
	return err
}

// round takes keys, applies the moves that got theirs, and gives back what is no longer needed. It
// returns the moves that have not had their turn.
func (b *applier) round(ctx context.Context, c *conn, moves []*move) ([]*move, error) {
	var ready, later []*move
	var want []heldKey
	first := make(map[string]*move)
	for _, m := range moves {
		switch {
		case m.TakeKey == "":
			ready = append(ready, m)
		case first[m.TakeKey] != nil:
			later = append(later, m)
		default:
			first[m.TakeKey] = m
			want = append(want, heldKey{m.TakeKey, m})
		}
	}
	fresh, err := b.take(ctx, c, want)
	if err != nil {
		return nil, err
	}
	for _, k := range want {
		if _, busy := b.busy[k.m]; !busy {
			ready = append(ready, k.m)
		}
	}
	slices.SortFunc(ready, byID)
	if err := b.sendApart(ctx, c, ready); err != nil {
		return nil, err
	}
	if err := b.free(ctx, c, ready, fresh); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(later, func(m *move) bool {
		winner := first[m.TakeKey]
		_, busy := b.busy[winner]
		if busy = busy || winner.out.Status == store.Applied; busy {
			b.busy[m] = struct{}{}
		}
		return busy
	}), nil
}

// sendApart applies moves in one statement, except for tasks that come back from a final state:
// taking its (kind, key) again may fail the statement, so each of those has its own, last of all.
func (b *applier) sendApart(ctx context.Context, c *conn, moves []*move) error {
	back := slices.DeleteFunc(slices.Clone(moves), func(m *move) bool {
		return !revives(m.Transition)
	})
	if len(back) == 0 {
		return b.send(ctx, c, moves)
	}
	others := slices.DeleteFunc(slices.Clone(moves), func(m *move) bool {
		return revives(m.Transition)
	})
	if err := b.send(ctx, c, others); err != nil {
		return err
	}
	for _, m := range back {
		err := c.try(ctx, func() error { return b.send(ctx, c, []*move{m}) })
		if code(err) == codeUnique {
			b.busy[m] = struct{}{}
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func byID(a, b *move) int { return bytes.Compare(a.ID[:], b.ID[:]) }

// heldKey is a key that a move takes or frees.
type heldKey struct {
	key string
	m   *move
}

// take takes keys, each wanted by one move. It returns the moves whose key is new to them, and
// notes those whose key is busy. A key of the task's own is neither.
func (b *applier) take(
	ctx context.Context, c *conn, want []heldKey,
) (fresh map[*move]struct{}, err error) {
	if len(want) == 0 {
		return nil, nil
	}
	sortKeys(want)
	fresh = make(map[*move]struct{})
	a := keyArgs(want)
	err = c.call(ctx, takeKeys, a, func(r *row) { fresh[want[r.Int4()-1].m] = struct{}{} })
	if err != nil || len(fresh) == len(want) {
		return fresh, err
	}
	own := make(map[*move]struct{})
	err = c.call(ctx, ownKeys, a, func(r *row) { own[want[r.Int4()-1].m] = struct{}{} })
	for _, k := range want {
		if _, mine := own[k.m]; !mine {
			b.busy[k.m] = struct{}{}
		}
	}
	return fresh, err
}

// free gives back the keys that applied moves free, and those that moves took in vain.
func (b *applier) free(
	ctx context.Context, c *conn, moves []*move, fresh map[*move]struct{},
) error {
	var free []heldKey
	for _, m := range moves {
		done := m.out.Status == store.Applied
		if done && m.FreeKey != "" {
			free = append(free, heldKey{m.FreeKey, m})
		}
		if _, ok := fresh[m]; ok && !done {
			free = append(free, heldKey{m.TakeKey, m})
		}
	}
	if len(free) == 0 {
		return nil
	}
	sortKeys(free)
	return c.call(ctx, freeKeys, keyArgs(free), nil)
}

func sortKeys(ks []heldKey) {
	slices.SortFunc(ks, func(a, b heldKey) int { return cmp.Compare(a.key, b.key) })
}

func keyArgs(ks []heldKey) *args {
	a := &args{}
	a.Places(len(ks))
	a.Texts(len(ks), func(i int) string { return ks[i].key })
	a.IDs(len(ks), func(i int) task.ID { return ks[i].m.ID })
	return a
}
