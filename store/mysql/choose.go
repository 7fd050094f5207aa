package mysql

import (
	"cmp"
	"context"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
	"github.com/ax-sched/ax/task"
)

// uniqueKey is what is unique among live tasks.
type uniqueKey struct{ kind, key string }

func compareKeys(a, b uniqueKey) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.key, b.key))
}

// keptKey is a row whose key is to be kept.
type keptKey struct {
	*newRow
	again bool // in the place of one whose end has passed
}

// keeper is for whom a key is kept, and until when.
type keeper struct {
	store.Inserted
	until task.Time // 0: for ever
}

// present is what is there of the ids and keys of a call.
type present struct {
	ids    map[task.ID]store.Inserted
	unique map[uniqueKey]store.Inserted
	kept   map[uniqueKey]keeper
}

// choose answers the rows whose id or key is there, and returns the others: what is found is
// brought forward row by row, so that of equal ones in a call the first wins. The id comes first: a
// repeat after a lost answer is no duplicate, whoever has the key by now.
func (b *inserter) choose(ctx context.Context, rows []*newRow) (fresh []*newRow, err error) {
	p, err := b.look(ctx, rows)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if in, ok := p.ids[r.ID]; ok {
			*r.out = in
			continue
		}
		if in, ok := p.unique[r.key()]; ok && r.Key != "" {
			in.Duplicate = true
			*r.out = in
			continue
		}
		if r.Unique != task.UniqueLive {
			k, found := p.kept[r.key()]
			if found && (k.until == 0 || k.until > b.c.Now) {
				k.Duplicate = k.ID != r.ID
				*r.out = k.Inserted
				continue
			}
			b.kept = append(b.kept, keptKey{r, found})
		}
		p.add(b.c.Now, r)
		fresh = append(fresh, r)
	}
	return fresh, nil
}

// add notes a row that is to be made.
func (p *present) add(now task.Time, r *newRow) {
	m := r.Mutable
	m.Resolve(now)
	in := store.Inserted{ID: r.ID, State: m.State, Version: 1, RunAt: m.RunAt, At: now}
	p.ids[r.ID] = in
	if r.Key != "" {
		p.unique[r.key()] = in
	}
	if r.Unique != task.UniqueLive {
		p.kept[r.key()] = keeper{in, r.Unique.Until(now)}
	}
}

// look reads what is there.
func (b *inserter) look(ctx context.Context, rows []*newRow) (*present, error) {
	p := &present{ids: make(map[task.ID]store.Inserted), unique: make(map[uniqueKey]store.Inserted),
		kept: make(map[uniqueKey]keeper)}
	ids := make([]task.ID, len(rows))
	var keys, kept []uniqueKey
	for i, r := range rows {
		ids[i] = r.ID
		if r.Key != "" {
			keys = append(keys, r.key())
		}
		if r.Unique != task.UniqueLive {
			kept = append(kept, r.key())
		}
	}
	a := &args{}
	a.IDs(ids)
	err := b.c.Each(ctx, existing, a, func(r *row) {
		in := inserted(r, b.c.Now)
		p.ids[in.ID] = in
	})
	if err == nil && len(keys) > 0 {
		err = b.c.Each(ctx, findUnique, keyArgs(keys), func(r *row) {
			p.unique[uniqueKey{r.Text(), r.Text()}] = inserted(r, b.c.Now)
		})
	}
	if err == nil && len(kept) > 0 {
		err = b.c.Each(ctx, findKept, keyArgs(kept), func(r *row) {
			u := uniqueKey{r.Text(), r.Text()}
			k := keeper{Inserted: store.Inserted{ID: r.ID(), At: b.c.Now}, until: r.Time()}
			k.State, k.Version, k.RunAt = task.State(r.Int()), r.Int(), r.Time()
			p.kept[u] = k
		})
	}
	return p, err
}

func inserted(r *row, now task.Time) store.Inserted {
	return store.Inserted{ID: r.ID(), State: task.State(r.Int()), Version: r.Int(),
		RunAt: r.Time(), At: now}
}

// keyArgs writes keys in their order, each once.
func keyArgs(keys []uniqueKey) *args {
	slices.SortFunc(keys, compareKeys)
	keys = slices.Compact(keys)
	a := &args{}
	a.Rows(len(keys))
	for _, k := range keys {
		a.Text(k.kind)
		a.Text(k.key)
	}
	return a
}

// writeKeys takes the keys of rows in their order: two programs that insert the same keys wait for
// each other in one direction only.
func (b *inserter) writeKeys(ctx context.Context, rows []*newRow) error {
	keyed := slices.DeleteFunc(slices.Clone(rows), func(r *newRow) bool { return r.Key == "" })
	if len(keyed) == 0 {
		return nil
	}
	slices.SortFunc(keyed, func(x, y *newRow) int { return compareKeys(x.key(), y.key()) })
	a := &args{}
	a.Rows(len(keyed))
	for _, r := range keyed {
		a.Text(r.Kind)
		a.Text(r.Key)
		a.ID(r.ID)
	}
	if _, err := b.c.Exec(ctx, takeUnique, a); err != nil {
		return err
	}
	return b.keep(ctx)
}

// keep keeps keys beyond their tasks.
func (b *inserter) keep(ctx context.Context) error {
	slices.SortFunc(b.kept, func(x, y keptKey) int { return compareKeys(x.key(), y.key()) })
	a, n := &args{}, 0
	for _, k := range b.kept {
		until := k.Unique.Until(b.c.Now)
		if k.again {
			if err := b.keepAgain(ctx, k.newRow, until); err != nil {
				return err
			}
			continue
		}
		n++
		a.Text(k.Kind)
		a.Text(k.Key)
		a.ID(k.ID)
		a.IntOrNull(int64(until))
	}
	if n == 0 {
		return nil
	}
	a.Rows(n)
	_, err := b.c.Exec(ctx, keepKeys, a)
	return err
}

func (b *inserter) keepAgain(ctx context.Context, r *newRow, until task.Time) error {
	a := &args{}
	a.ID(r.ID)
	a.IntOrNull(int64(until))
	a.Text(r.Kind)
	a.Text(r.Key)
	a.Time(b.c.Now)
	n, err := b.c.Exec(ctx, keepAgain, a)
	if err == nil && n == 0 {
		err = wire.ErrAgain // somebody else was faster, or it was pruned
	}
	return err
}
