package mysql

import (
	"context"
	"math"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

var _ store.Expirer = (*Store)(nil)

// Due implements store.Watcher. A limit of 0 is 1,000.
func (s *Store) Due(ctx context.Context, cs []store.Cursor) ([][]store.Due, task.Time, error) {
	out := make([][]store.Due, len(cs))
	a := &args{}
	a.Rows(len(cs))
	for i := range cs {
		a.Int(int64(i))
		a.Text(cs[i].Group)
		a.Int(int64(cs[i].Bucket))
		a.Time(cs[i].After.RunAt)
		a.Time(cs[i].Until)
		a.Time(cs[i].After.RunAt)
		a.Text(string(cs[i].After.ID[:]))
		a.Int(int64(page(cs[i].Limit, 1000, math.MaxInt)))
	}
	var now task.Time
	err := s.reading(ctx, "read due tasks", func(c *conn) error {
		if err := c.Each(ctx, readClock, &args{}, func(r *row) { now = r.Time() }); err != nil ||
			len(cs) == 0 {
			return err
		}
		return c.Each(ctx, selectDue, a, func(r *row) {
			i := r.Int()
			d := store.Due{Mark: store.Mark{RunAt: r.Time(), ID: r.ID()}, Kind: r.Text()}
			out[i] = append(out[i], d)
		})
	})
	if err != nil {
		return nil, 0, err
	}
	for _, ds := range out { // a union promises no order
		slices.SortFunc(ds, func(x, y store.Due) int {
			if x.Less(y.Mark) {
				return -1
			}
			return 1
		})
	}
	return out, now, nil
}

// Live implements store.Watcher.
func (s *Store) Live(ctx context.Context, q store.LiveQuery) ([]task.Task, error) {
	a := &args{}
	a.Text(string(q.After[:]))
	a.Int(q.Epoch)
	a.Int(q.Epoch)
	asked := int64(0)
	if q.Asked {
		asked = 1
	}
	a.Int(asked)
	a.Int(int64(page(q.Limit, 1000, math.MaxInt)))
	out := []task.Task{}
	err := s.read(ctx, "read live tasks", selectLive, a, into(&out))
	return out, err
}

// Expired implements store.Expirer.
func (s *Store) Expired(ctx context.Context, limit int) ([]task.Task, error) {
	out := []task.Task{}
	err := s.reading(ctx, "read expired tasks", func(c *conn) error {
		a := &args{}
		if err := c.Each(ctx, readClock, a, func(r *row) { a.Time(r.Time()) }); err != nil {
			return err
		}
		a.Int(int64(limit))
		return c.Each(ctx, selectExpired, a, into(&out))
	})
	return out, err
}
