package postgres

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Fire implements store.JobStore. The order of locks is the fence, the definitions and then, as in
// Apply, keys and rows.
func (s *Store) Fire(
	ctx context.Context, f store.Fence, fires []store.Fire,
) ([]store.FireResult, error) {
	for i := range fires {
		if err := store.CheckFire(&fires[i], insertable); err != nil {
			return nil, fmt.Errorf("fire %d of %d: %w", i+1, len(fires), err)
		}
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	out := make([]store.FireResult, len(fires))
	err = s.txOnJobs(ctx, s.claimer, func(c *conn) error {
		b := &firing{apply: applier{s: s, fence: f}, c: c, fires: fires, out: out}
		return b.run(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("fire: %w", explain(err))
	}
	return out, nil
}

// firing is one transaction of fires.
type firing struct {
	apply applier
	c     *conn
	fires []store.Fire
	out   []store.FireResult
	jobs  map[task.ID]*cursor
}

// cursor is what a definition knows of its fires.
type cursor struct {
	version  int64
	lastFire task.Time
	lastTask task.ID
	fires    int // more that are to run
	deleted  bool
	moved    bool
}

func (b *firing) run(ctx context.Context) error {
	if err := b.apply.begin(ctx, b.c); err != nil {
		return err
	}
	if err := b.lockJobs(ctx); err != nil {
		return err
	}
	var round []int // places of fires that do not touch each other's tasks
	touched := make(map[task.ID]bool)
	for i := range b.fires {
		f := &b.fires[i]
		if b.out[i].Status = b.decide(f); b.out[i].Status != store.Fired {
			b.out[i].Row = store.Inserted{}
			continue
		}
		if f.Replace != nil && touched[f.Replace.ID] {
			if err := b.write(ctx, round); err != nil {
				return err
			}
			round = round[:0]
			clear(touched)
		}
		round = append(round, i)
		touched[f.Task.ID] = true
		if f.Replace != nil {
			touched[f.Replace.ID] = true
		}
	}
	if err := b.write(ctx, round); err != nil {
		return err
	}
	return b.moveCursors(ctx)
}

// lockJobs reads and locks the definitions.
func (b *firing) lockJobs(ctx context.Context) error {
	b.jobs = make(map[task.ID]*cursor, len(b.fires))
	ids := make([]task.ID, 0, len(b.fires))
	for i := range b.fires {
		ids = append(ids, b.fires[i].JobID)
	}
	a := &args{}
	a.IDs(len(ids), func(i int) task.ID { return ids[i] })
	return b.c.call(ctx, lockCursors, a, func(r *row) {
		b.jobs[r.ID()] = &cursor{version: r.Int8(), lastFire: r.Time(), deleted: r.Bool()}
	})
}

// decide compares a fire with its definition and moves the cursor in memory, so that the next fire
// of the same job in this call sees it.
func (b *firing) decide(f *store.Fire) store.FireStatus {
	j := b.jobs[f.JobID]
	if j == nil || j.deleted || j.version != f.Version {
		return store.JobChanged
	}
	if f.Task.FireTime <= j.lastFire {
		return store.AlreadyFired
	}
	j.lastFire, j.moved = f.Task.FireTime, true
	return store.Fired
}

// write moves waiting fires out of the way, which may free their keys, then inserts the new ones.
func (b *firing) write(ctx context.Context, round []int) error {
	var moves []*move
	rows := make([]*newRow, 0, len(round))
	for _, i := range round {
		f := &b.fires[i]
		if f.Replace != nil {
			moves = append(moves, &move{f.Replace, &store.Result{}})
		}
		rows = append(rows, &newRow{Task: &f.Task, Out: &b.out[i].Row})
	}
	slices.SortFunc(moves, byID)
	if len(moves) > 0 {
		for _, part := range cut(moves, (*move).size) {
			if err := b.apply.steps(ctx, b.c, part); err != nil {
				return err
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	in := inserter{s: b.apply.s, c: b.c, event: task.Fire, now: b.apply.now}
	for _, part := range cut(rows, (*newRow).Size) {
		if err := in.insert(ctx, part); err != nil {
			return err
		}
	}
	for _, i := range round {
		f := &b.fires[i]
		j := b.jobs[f.JobID]
		if j.lastTask = f.Last; f.Last.IsZero() {
			j.lastTask = b.out[i].Row.ID
		}
		if f.Task.State != task.Skipped {
			j.fires++
		}
	}
	return nil
}

// moveCursors writes the cursors that moved.
func (b *firing) moveCursors(ctx context.Context) error {
	var ids []task.ID
	for id, j := range b.jobs {
		if j.moved {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.SortFunc(ids, func(x, y task.ID) int { return bytes.Compare(x[:], y[:]) })
	a := &args{}
	a.Places(len(ids))
	a.IDs(len(ids), func(i int) task.ID { return ids[i] })
	a.Int8s(len(ids), func(i int) int64 { return int64(b.jobs[ids[i]].lastFire) })
	a.IDs(len(ids), func(i int) task.ID { return b.jobs[ids[i]].lastTask })
	a.Int4s(len(ids), func(i int) int { return b.jobs[ids[i]].fires })
	return b.c.call(ctx, moveCursors, a, nil)
}
