package trigger

import (
	"sync"

	"github.com/ax-sched/ax/internal/admit"
	"github.com/ax-sched/ax/internal/timer"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// window is the cache of scheduled tasks that are due soon or wait for a slot. It may forget
// anything at any time without harm: the table is read again and again.
type window struct {
	timer *timer.Driver
	push  func([]admit.Item)
	has   func(kind string) bool
	now   func() task.Time
	share int // most tasks held for one cursor

	mu    sync.Mutex
	known map[task.ID]entry
	lanes map[laneKey]*lane
	names map[string]string // kinds, so that a hundred thousand entries share their strings
}

// entry is one task in the wheel or in the queue for a slot.
type entry struct {
	runAt  task.Time
	kind   string
	lane   *lane
	handle timer.Handle
	queued bool // it is due: no timer any more
}

type laneKey struct {
	group  string
	bucket task.Bucket
}

// lane is what is known of one group and bucket.
type lane struct {
	laneKey
	mark   store.Mark            // everything up to here was read, apart from parked kinds
	old    store.Mark            // position of the slow walk over overdue rows
	loaded int                   // entries held
	kinds  map[string]int        // entries held by kind
	parked map[string]store.Mark // kinds passed over: the least row that was not taken
}

// kindShare is the part of a lane's share that one kind may fill: a kind without free slots must
// not hide the others.
const kindShare = 2

func newLane(k laneKey) *lane {
	return &lane{laneKey: k, kinds: map[string]int{}, parked: map[string]store.Mark{}}
}

// offer takes rows that were read or that this process has just written. It returns how many were
// new.
func (w *window) offer(l *lane, rows []store.Due) int {
	var due []admit.Item
	w.mu.Lock()
	now := w.now()
	taken := 0
	for _, r := range rows {
		e, known := w.known[r.ID]
		if known && e.runAt == r.RunAt {
			continue
		}
		if known {
			w.drop(r.ID, e)
		}
		if !w.has(r.Kind) || l.kinds[r.Kind] >= w.share/kindShare || l.loaded >= w.share {
			l.park(r)
			continue
		}
		taken++
		if it, ok := w.add(l, r, now); ok {
			due = append(due, it)
		}
	}
	w.mu.Unlock()
	if len(due) > 0 {
		w.push(due)
	}
	return taken
}

// add puts a row into the wheel, or returns it if it is due. The caller holds the lock.
func (w *window) add(l *lane, r store.Due, now task.Time) (admit.Item, bool) {
	kind, ok := w.names[r.Kind]
	if !ok {
		kind = r.Kind
		w.names[kind] = kind
	}
	e := entry{runAt: r.RunAt, kind: kind, lane: l, queued: r.RunAt <= now}
	if !e.queued {
		e.handle = w.timer.Add(int64(r.RunAt), timer.Value{ID: r.ID, Version: int64(r.RunAt)})
	}
	w.known[r.ID] = e
	l.loaded++
	l.kinds[kind]++
	return admit.Item{ID: r.ID, RunAt: r.RunAt, Kind: kind, Bucket: l.bucket}, e.queued
}

// park remembers that a row of the kind was passed over.
func (l *lane) park(r store.Due) {
	if m, ok := l.parked[r.Kind]; !ok || r.Mark.Less(m) {
		l.parked[r.Kind] = r.Mark
	}
}

// drop forgets an entry. The caller holds the lock.
func (w *window) drop(id task.ID, e entry) {
	if !e.queued {
		w.timer.Cancel(e.handle)
	}
	delete(w.known, id)
	e.lane.loaded--
	if e.lane.kinds[e.kind]--; e.lane.kinds[e.kind] == 0 {
		delete(e.lane.kinds, e.kind)
	}
}

// expired moves what is due from the wheel to the queue for slots.
func (w *window) expired(vs []timer.Expired) {
	due := make([]admit.Item, 0, len(vs))
	w.mu.Lock()
	for _, v := range vs {
		id := task.ID(v.Value.ID)
		e, ok := w.known[id]
		if !ok || e.queued || int64(e.runAt) != v.Value.Version {
			continue
		}
		e.queued = true
		w.known[id] = e
		due = append(due, admit.Item{ID: id, RunAt: e.runAt, Kind: e.kind, Bucket: e.lane.bucket})
	}
	w.mu.Unlock()
	if len(due) > 0 {
		w.push(due)
	}
}

// settle forgets a task that left the queue. It reports whether the lane should be read again
// because it has room for rows that were passed over or not reached.
func (w *window) settle(it admit.Item) (room bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e, ok := w.known[it.ID]
	if !ok || e.runAt != it.RunAt {
		return false
	}
	w.drop(it.ID, e)
	l := e.lane
	if _, parked := l.parked[e.kind]; parked && l.kinds[e.kind] == w.share/kindShare/4 {
		l.unpark(e.kind)
		return true
	}
	return l.loaded == w.share/4
}

// later puts a task that met a closed door back into the wheel.
func (w *window) later(it admit.Item, at task.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e, ok := w.known[it.ID]
	if !ok || e.runAt != it.RunAt || !e.queued {
		return
	}
	e.queued = false
	e.handle = w.timer.Add(int64(at), timer.Value{ID: it.ID, Version: int64(it.RunAt)})
	w.known[it.ID] = e
}

// unpark makes the lane read again from the least row of the kind that was passed over.
func (l *lane) unpark(kind string) {
	m, ok := l.parked[kind]
	if !ok {
		return
	}
	delete(l.parked, kind)
	if before := (store.Mark{RunAt: m.RunAt - 1}); before.Less(l.mark) {
		l.mark = before
	}
}

// unpark is lane.unpark for all lanes: a handler for the kind was registered.
func (w *window) unpark(kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lanes {
		l.unpark(kind)
	}
}
