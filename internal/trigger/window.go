package trigger

import (
	"sync"
	"time"

	"github.com/ax-sched/ax/internal/admit"
	"github.com/ax-sched/ax/internal/plant"
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
	// unhandled is told of a kind that nobody here runs and that has a task due, once a kind.
	unhandled func(kind string)
	told      map[string]bool

	now   func() task.Time
	ahead time.Duration // what is due within it is near
	limit limits

	mu    sync.Mutex
	known map[task.ID]entry
	lanes map[laneKey]*lane
	names map[string]string // kinds, so that a hundred thousand entries share their strings
}

// limits bound what is held for one lane. Tasks that are due soon are counted apart from those
// that are due in minutes: these must never keep those out.
type limits struct {
	far  int // entries that are not due soon
	near int // entries that are due soon or wait for a slot
	kind int // the part of near that one kind may fill: one without free slots hides no other
}

// entry is one task in the wheel or in the queue for a slot.
type entry struct {
	runAt  task.Time
	kind   string
	lane   *lane
	handle timer.Handle
	queued bool // it is due: no timer any more
	far    bool // counted as far
	lined  bool // it waits for its overlap key, and is not counted
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
	far    int                   // far entries held
	near   int                   // near entries held
	kinds  map[string]int        // near entries held by kind
	parked map[string]store.Mark // kinds passed over: the least row that was not taken
	full   bool                  // some kind was passed over because near is full
	crowd  store.Mark            // the least row that waits behind too many; zero: none
}

func newLane(k laneKey) *lane {
	return &lane{laneKey: k, kinds: map[string]int{}, parked: map[string]store.Mark{}}
}

// offer takes rows that were read or that this process has just written. It returns how many were
// new. When there is no room for a far row it takes no more of them, and moves the mark before it:
// then stopped is true, and the far scan goes on from there later.
func (w *window) offer(l *lane, rows []store.Due) (taken int, stopped bool) {
	var due []admit.Item
	var news []string // kinds to tell of, when the lock is free: a logger may do anything
	w.mu.Lock()
	now := w.now()
	for _, r := range rows {
		e, known := w.known[r.ID]
		if known && e.runAt == r.RunAt {
			continue
		}
		if known {
			w.drop(r.ID, e)
		}
		far := r.RunAt > now.Add(w.ahead)
		switch {
		case !w.has(r.Kind):
			l.park(r)
			if r.RunAt <= now && !w.told[r.Kind] {
				w.told[r.Kind] = true
				news = append(news, r.Kind)
			}
			continue
		case far && l.far >= w.limit.far:
			stopped = true
			l.back(r)
		case !far && (l.near >= w.limit.near || l.kinds[r.Kind] >= w.limit.kind):
			l.full = l.full || l.near >= w.limit.near
			l.park(r)
			continue
		}
		if stopped {
			break
		}
		taken++
		if it, ok := w.add(l, r, now, far); ok {
			due = append(due, it)
		}
	}
	w.mu.Unlock()
	for _, kind := range news {
		w.unhandled(kind)
	}
	if len(due) > 0 {
		w.push(due)
	}
	return taken, stopped
}

// add puts a row into the wheel, or returns it if it is due. The caller holds the lock.
func (w *window) add(l *lane, r store.Due, now task.Time, far bool) (admit.Item, bool) {
	kind, ok := w.names[r.Kind]
	if !ok {
		kind = r.Kind
		w.names[kind] = kind
	}
	e := entry{runAt: r.RunAt, kind: kind, lane: l, queued: r.RunAt <= now, far: far}
	if !e.queued {
		e.handle = w.timer.Add(int64(r.RunAt), timer.Value{ID: r.ID, Version: int64(r.RunAt)})
	}
	w.known[r.ID] = e
	e.count(1)
	return admit.Item{ID: r.ID, RunAt: r.RunAt, Kind: kind, Bucket: l.bucket}, e.queued
}

// count adds n to what the entry is counted as.
func (e *entry) count(n int) {
	if e.lined {
		return
	}
	if e.far {
		e.lane.far += n
		return
	}
	e.lane.near += n
	if e.lane.kinds[e.kind] += n; e.lane.kinds[e.kind] == 0 {
		delete(e.lane.kinds, e.kind)
	}
}

// before is the position just before a row.
func before(r store.Mark) store.Mark { return store.Mark{RunAt: r.RunAt - 1, ID: lastID} }

// back moves the mark before a row that was not taken.
func (l *lane) back(r store.Due) {
	if b := before(r.Mark); b.Less(l.mark) {
		l.mark = b
	}
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
	e.count(-1)
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
		e.count(-1)
		e.queued, e.far = true, false
		e.count(1)
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
	if len(l.parked) == 0 {
		return false
	}
	if l.kinds[e.kind] <= w.limit.kind/4 && l.unpark(e.kind) {
		room = true
	}
	if l.full && l.near <= w.limit.near/4 {
		l.full = false
		for kind := range l.parked {
			room = w.has(kind) && l.unpark(kind) || room
		}
	}
	return room
}

// later puts a task that met a closed door back into the wheel.
func (w *window) later(it admit.Item, at task.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e, ok := w.known[it.ID]
	if !ok || e.runAt != it.RunAt || !e.queued {
		return
	}
	if plant.On(plant.NotDueDropped) {
		return
	}
	w.unline(&e)
	e.queued = false
	e.handle = w.timer.Add(int64(at), timer.Value{ID: it.ID, Version: int64(it.RunAt)})
	w.known[it.ID] = e
}

// line says that a queued task waits for its overlap key. There may be many such tasks, and they
// must not keep out others of their kind.
func (w *window) line(it admit.Item) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e, ok := w.known[it.ID]; ok && e.runAt == it.RunAt && e.queued && !e.lined {
		e.count(-1)
		e.lined = true
		w.known[it.ID] = e
	}
}

// unline counts an entry again. The caller holds the lock and puts it back.
func (w *window) unline(e *entry) {
	if e.lined {
		e.lined = false
		e.count(1)
	}
}

// crowd forgets a task that waits behind too many others, and remembers where it was.
func (w *window) crowd(it admit.Item) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e, ok := w.known[it.ID]
	if !ok || e.runAt != it.RunAt {
		return
	}
	w.drop(it.ID, e)
	m := store.Mark{RunAt: it.RunAt, ID: it.ID}
	if l := e.lane; l.crowd == (store.Mark{}) || m.Less(l.crowd) {
		l.crowd = m
	}
}

// uncrowd makes the lanes read again from the least row that was forgotten.
func (w *window) uncrowd() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lanes {
		if l.crowd != (store.Mark{}) {
			l.back(store.Due{Mark: l.crowd})
			l.crowd = store.Mark{}
		}
	}
}

// unpark makes the lane read again from the least row of the kind that was passed over.
func (l *lane) unpark(kind string) bool {
	m, ok := l.parked[kind]
	if ok {
		delete(l.parked, kind)
		l.back(store.Due{Mark: m})
	}
	return ok
}

// unpark is lane.unpark for all lanes: a handler for the kind was registered.
func (w *window) unpark(kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lanes {
		l.unpark(kind)
	}
}
