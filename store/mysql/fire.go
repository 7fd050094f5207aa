package mysql

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
	"github.com/ax-sched/ax/task"
)

// Fire implements store.JobStore. The order of locks is the fence, the definitions and then, as in
// Apply, rows and keys.
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
	var out []store.FireResult
	err = s.tx(ctx, s.claimer, f, func(c *conn) error {
		b := &firing{c: c, fires: fires, out: make([]store.FireResult, len(fires))}
		out = b.out
		return b.run(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("fire: %w", wire.Explain(err))
	}
	return out, nil
}

// firing is one transaction of fires.
type firing struct {
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
	moved    bool
}

func (b *firing) run(ctx context.Context) error {
	if len(b.fires) == 0 {
		return nil
	}
	if err := b.lockJobs(ctx); err != nil {
		return err
	}
	var round []int // places of fires that do not touch each other's tasks
	touched := make(map[task.ID]bool)
	for i := range b.fires {
		f := &b.fires[i]
		if b.out[i].Status = b.decide(f); b.out[i].Status != store.Fired {
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

// lockJobs reads and locks the definitions that were not deleted.
func (b *firing) lockJobs(ctx context.Context) error {
	b.jobs = make(map[task.ID]*cursor, len(b.fires))
	ids := make([]task.ID, len(b.fires))
	for i := range b.fires {
		ids[i] = b.fires[i].JobID
	}
	a := &args{}
	a.IDs(ids)
	return b.c.Each(ctx, lockCursors, a, func(r *row) {
		b.jobs[r.ID()] = &cursor{version: r.Int(), lastFire: r.Time()}
	})
}

// decide compares a fire with its definition and moves the cursor in memory, so that the next fire
// of the same job in this call sees it.
func (b *firing) decide(f *store.Fire) store.FireStatus {
	j := b.jobs[f.JobID]
	if j == nil || j.version != f.Version {
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
		rows = append(rows, &newRow{&f.Task, &b.out[i].Row})
	}
	slices.SortFunc(moves, byID)
	for _, part := range cut(moves, (*move).size) {
		if err := b.c.applyCarefully(ctx, part, lockTasks); err != nil {
			return err
		}
	}
	if len(rows) == 0 {
		return nil
	}
	in := inserter{c: b.c, careful: true, fires: true}
	if err := in.insertAll(ctx, rows); err != nil {
		return err
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
	slices.SortFunc(ids, func(x, y task.ID) int { return bytes.Compare(x[:], y[:]) })
	for _, id := range ids {
		j := b.jobs[id]
		a := &args{}
		a.Time(j.lastFire)
		a.ID(j.lastTask)
		a.Int(int64(j.fires))
		a.ID(id)
		if _, err := b.c.Exec(ctx, moveCursor, a); err != nil {
			return err
		}
	}
	return nil
}
