package postgres

import (
	"context"

	"github.com/ax-sched/ax/store/postgres/internal/wire"
	"github.com/ax-sched/ax/task"
)

// keep keeps the keys of rows that ask for it beyond the life of their task. It returns the rows
// whose insert may go on: those that do not ask, and those that got their key. Of equal keys only
// the first tries; the caller comes again with the others.
func (b *inserter) keep(ctx context.Context, rows []*newRow) ([]*newRow, error) {
	b.kept = nil
	want := wire.FirstOfKey(wire.Keeping(rows))
	if len(want) == 0 {
		return rows, nil
	}
	a := &args{}
	a.Int8(int64(b.now))
	keptArgs(a, want)
	a.IDs(len(want), func(i int) task.ID { return want[i].ID })
	a.Int8s(len(want), func(i int) int64 { return wire.KeepFor(want[i].Unique) })
	got := make(map[task.ID]bool, len(want))
	err := b.c.call(ctx, keepKeys, a, func(r *row) {
		if at := r.Time(); at != 0 {
			b.now = at
		} else {
			got[r.ID()] = true
		}
	})
	var ready []*newRow
	ready, b.kept = wire.Kept(rows, want, got)
	return ready, err
}

// explainKept answers rows whose key is kept for another task, after it has given back the keys of
// rows that were not made. It returns the rows without a reason.
func (b *inserter) explainKept(ctx context.Context, rows []*newRow) ([]*newRow, error) {
	if len(b.kept) > 0 {
		a := &args{}
		keptArgs(a, b.kept)
		a.IDs(len(b.kept), func(i int) task.ID { return b.kept[i].ID })
		a.Int8(int64(b.now))
		if err := b.c.call(ctx, dropKeys, a, nil); err != nil {
			return nil, err
		}
	}
	want := wire.Keeping(rows)
	if len(want) == 0 {
		return rows, nil
	}
	a := &args{}
	keptArgs(a, want)
	a.Int8(int64(b.now))
	found, err := b.find(ctx, keepers, a, want)
	return wire.Without(rows, found), err
}

// keptArgs writes 1..n, the kinds and the keys of rows.
func keptArgs(a *args, rows []*newRow) {
	a.Places(len(rows))
	a.Texts(len(rows), func(i int) string { return rows[i].Kind })
	a.Texts(len(rows), func(i int) string { return rows[i].Key })
}
