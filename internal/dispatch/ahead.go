package dispatch

import (
	"context"

	"github.com/ax-sched/ax/internal/admit"
	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/task"
)

// ahead holds rows of tasks that wait for a slot, read while the claim before theirs is being
// committed: in a backlog a claim is then one round trip. It is a cache of what is in the queue. A
// row that has moved since it was read fails the condition of its claim, and is read again.
type ahead struct {
	wake chan struct{}
	rows map[task.ID]*task.Task // nil: is being read
	size int                    // mean bytes of a payload, as last read; at first the largest
}

const (
	aheadRows  = 2 * 256  // so many rows are held, two claims of the default slots
	aheadBytes = 16 << 20 // and about so many bytes of payload
	aheadLeast = 32       // fewer are not worth a reading of their own
)

// take removes the rows of tasks that leave the queue, and asks for those of the next.
func (a *ahead) take(its []admit.Item, left int) map[task.ID]*task.Task {
	var rows map[task.ID]*task.Task
	if len(a.rows) > 0 { // mostly nothing waits, and nothing was read
		rows = make(map[task.ID]*task.Task, len(its))
	}
	for _, it := range its {
		row := a.rows[it.ID]
		delete(a.rows, it.ID)
		if row != nil && row.State == task.Scheduled && row.RunAt == it.RunAt {
			rows[it.ID] = row // else it has moved before it was read, or since
		}
	}
	if left >= aheadLeast {
		select {
		case a.wake <- struct{}{}:
		default:
		}
	}
	return rows
}

// missing marks the rows that should be read now, and returns their ids.
func (a *ahead) missing(q *admit.Queue) []task.ID {
	n := min(aheadRows, aheadBytes/max(a.size, 1)+1)
	// Rows of kinds at their limit stay: they must neither pile up nor keep out all others.
	room := 2*n - len(a.rows)
	var ids []task.ID
	q.Heads(n, func(it admit.Item) {
		if _, ok := a.rows[it.ID]; !ok && len(ids) < room {
			ids = append(ids, it.ID)
		}
	})
	if len(ids) < aheadLeast {
		return nil
	}
	for _, id := range ids {
		a.rows[id] = nil
	}
	return ids
}

// fill takes what was read of ids, as far as it is still wanted.
func (a *ahead) fill(ids []task.ID, rows []task.Task) {
	size := 0
	for i := range rows {
		size += len(rows[i].Payload)
		if _, ok := a.rows[rows[i].ID]; ok {
			a.rows[rows[i].ID] = &rows[i]
		}
	}
	if len(rows) > 0 {
		a.size = size / len(rows)
	}
	for _, id := range ids {
		if row, ok := a.rows[id]; ok && row == nil {
			delete(a.rows, id)
		}
	}
}

// missing is ahead.missing of the queue.
func (d *Dispatcher) missing() []task.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ahead.missing(&d.queue)
}

// ReadAhead reads rows for Run until ctx ends. An error costs nothing but the time: Run reads what
// it misses.
func (d *Dispatcher) ReadAhead(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.ahead.wake:
		}
		ids := d.missing()
		if len(ids) == 0 {
			continue
		}
		limited, cancel := clock.Limit(ctx)
		rows, err := d.cfg.Store.Tasks(limited, ids)
		cancel()
		d.mu.Lock()
		d.ahead.fill(ids, rows)
		d.mu.Unlock()
		if err != nil {
			d.cfg.Failed(err)
		}
	}
}
