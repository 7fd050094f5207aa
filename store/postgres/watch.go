package postgres

import (
	"context"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/postgres/internal/wire"
	"github.com/ax-sched/ax/task"
)

// Due implements store.Watcher. A limit of 0 is 1,000.
func (s *Store) Due(ctx context.Context, cs []store.Cursor) ([][]store.Due, task.Time, error) {
	pages := make([][]store.Due, len(cs))
	var now task.Time
	err := s.read(ctx, "scan due tasks", scanDue, dueArgs(cs), func(r *row) {
		n := r.Int4()
		at, id := r.Time(), r.ID()
		if n == 0 {
			now = at
			return
		}
		pages[n-1] = append(pages[n-1],
			store.Due{Mark: store.Mark{RunAt: at, ID: id}, Kind: r.Text()})
	})
	return pages, now, err
}

func dueArgs(cs []store.Cursor) *args {
	n := len(cs)
	a := &args{}
	a.Places(n)
	a.Texts(n, func(i int) string { return wire.Storable(cs[i].Group) })
	a.Int2s(n, func(i int) int { return int(cs[i].Bucket) })
	a.Int8s(n, func(i int) int64 { return int64(cs[i].After.RunAt) })
	a.IDs(n, func(i int) task.ID { return cs[i].After.ID })
	a.Int8s(n, func(i int) int64 { return int64(cs[i].Until) })
	a.Int8s(n, func(i int) int64 { return limit(cs[i].Limit) })
	return a
}

// Live implements store.Watcher.
func (s *Store) Live(ctx context.Context, q store.LiveQuery) ([]task.Task, error) {
	a := &args{}
	a.IDOrFirst(q.After)
	a.Bool(q.Asked)
	a.Int8(limit(q.Limit))
	v := liveTasks
	if q.Epoch != 0 {
		v = liveOfEpoch
		a.Int8(q.Epoch)
	}
	return s.readAll(ctx, "read live tasks", v, a)
}

// Expired implements store.Expirer.
func (s *Store) Expired(ctx context.Context, limit int) ([]task.Task, error) {
	a := &args{}
	a.Int8(int64(limit))
	return s.readAll(ctx, "read expired tasks", expiredTasks, a)
}

// limit is the usual size of a page of what a leader reads.
func limit(n int) int64 {
	if n <= 0 {
		return 1000
	}
	return int64(n)
}
