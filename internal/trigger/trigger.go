// Package trigger makes due what the table says is due: it reads the next minutes of scheduled
// tasks into a wheel, and turns the fires of jobs into tasks.
package trigger

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/ax-sched/ax/internal/admit"
	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/internal/timer"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Config says how a Trigger works; all fields are required.
type Config struct {
	Store  store.Watcher
	Groups []string
	Now    func() task.Time // estimate of the store's time
	// Since is a clock that only moves forward, also in suspend.
	Since func() time.Duration
	// Sampled is told the store's time of each reading, and when, by Since, it was asked for.
	Sampled func(sent time.Duration, at task.Time)
	// Has reports whether some executor runs the kind.
	Has func(kind string) bool
	// Unhandled is told once of each kind that has a task due and that nobody here runs; it must not
	// block.
	Unhandled func(kind string)
	// Push takes due tasks; it must not block.
	Push func([]admit.Item)
	// Failed is told of each error of the store; reading goes on.
	Failed func(error)
	Poll   time.Duration // 2 s
	Window time.Duration // 5 min
	Tick   time.Duration // resolution of the wheel, 1 ms
	// Loaded is how many tasks of one group and bucket that are due soon or wait for a slot are
	// held in memory, 100,000. As many of those due later are held for all of them together.
	Loaded int
}

// Item is a due task, as the queue for slots takes it.
type Item = admit.Item

// page is how many rows one cursor reads at a time.
const page = 1000

// slowWalk is how often the unbounded walk over overdue rows takes a step. It finds what became
// visible later than the hot scan looks back, without trusting any notification.
const slowWalk = 5 * time.Second

// Trigger reads scheduled tasks for the time of one leader's term.
type Trigger struct {
	cfg   Config
	win   *window
	lanes []*lane
	wake  chan struct{}
	hints chan struct{}
	slow  time.Duration // next step of the slow walk

	hinted atomic.Int64 // earliest RunAt of the hints since the last look; maxHint: none
}

const maxHint = math.MaxInt64

// hintPause keeps a stream of hints from reading without a break: what comes in meanwhile is read
// together.
const hintPause = 2 * time.Millisecond

// New returns a Trigger that knows nothing yet: each term starts from an empty wheel.
func New(cfg Config) (*Trigger, error) {
	t := &Trigger{cfg: cfg, wake: make(chan struct{}, 1), hints: make(chan struct{}, 1)}
	t.hinted.Store(maxHint)
	t.win = &window{push: cfg.Push, has: cfg.Has, now: cfg.Now,
		unhandled: cfg.Unhandled, told: map[string]bool{},
		known: map[task.ID]entry{}, lanes: map[laneKey]*lane{}, names: map[string]string{}}
	var err error
	t.win.timer, err = timer.New(timer.Config{Now: func() int64 { return int64(cfg.Now()) },
		Deliver: t.win.expired, Tick: cfg.Tick})
	if err != nil {
		return nil, err
	}
	for _, g := range cfg.Groups {
		for _, b := range task.Buckets() {
			l := newLane(laneKey{g, b})
			t.win.lanes[l.laneKey] = l
			t.lanes = append(t.lanes, l)
		}
	}
	t.win.ahead = 2 * cfg.Poll
	t.win.limit = limits{near: cfg.Loaded, kind: cfg.Loaded / 2,
		far: max(cfg.Loaded/len(t.lanes), page)}
	return t, nil
}

// Drive runs the wheel until ctx ends. It does no I/O and never waits for the store, for slots or
// for handlers.
func (t *Trigger) Drive(ctx context.Context) error { return t.win.timer.Run(ctx) }

// Run reads the table until ctx ends.
func (t *Trigger) Run(ctx context.Context) error {
	tick := time.NewTimer(0)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.hints:
			t.attempt(ctx, t.hintCursors, &round{})
			clock.Sleep(ctx, hintPause)
		case <-t.wake:
			t.catchUp(ctx)
		case <-tick.C:
			var r round
			if t.attempt(ctx, t.pollCursors, &r); r.more {
				t.catchUp(ctx)
			}
			tick.Reset(t.cfg.Poll)
		}
	}
}

// maxBarren is how many pages in a row may bring nothing new before the next poll: so many rows of
// kinds without a handler or a slot are walked over at once, and they are walked over again and
// again while their kind drains.
const maxBarren = 20

// catchUp reads until nothing more is to be had now.
func (t *Trigger) catchUp(ctx context.Context) {
	for barren := 0; barren < maxBarren; {
		var r round
		t.attempt(ctx, t.farCursors, &r)
		if !r.more {
			return
		}
		if barren++; r.taken > 0 {
			barren = 0
		}
	}
}

// round is what one round of reading has brought.
type round struct {
	taken int  // new far rows
	more  bool // the far scan has not reached the end of the window
}

// attempt is runOnce with its error told.
func (t *Trigger) attempt(ctx context.Context, what func() ([]reading, []store.Cursor), r *round) {
	if err := t.runOnce(ctx, what, r); err != nil {
		t.cfg.Failed(err)
		r.more = false
	}
}

// Hint says that some process has made tasks, the first of them due at this time. A lost hint
// costs one poll.
func (t *Trigger) Hint(earliest task.Time) {
	for {
		old := t.hinted.Load()
		if int64(earliest) >= old || t.hinted.CompareAndSwap(old, int64(earliest)) {
			break
		}
	}
	select {
	case t.hints <- struct{}{}:
	default:
	}
}

// Wake makes Run read now: somebody hinted that the table has changed. A lost hint costs one poll.
func (t *Trigger) Wake() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Add offers a task that this process has just written as SCHEDULED, so that it need not be read.
// Rows beyond what the far scan has read are left to it.
func (t *Trigger) Add(group string, b task.Bucket, d store.Due) {
	l := t.win.lanes[laneKey{group, b}]
	if l == nil {
		return
	}
	t.win.mu.Lock()
	beyond := l.mark.Less(d.Mark) && d.RunAt > t.cfg.Now()
	t.win.mu.Unlock()
	if !beyond {
		t.win.offer(l, []store.Due{d})
	}
}

// Retime looks at the wheel and the table again after the clock has jumped.
func (t *Trigger) Retime() {
	t.win.timer.Wake()
	t.Wake()
}

// Settled forgets a task that was claimed or moved.
func (t *Trigger) Settled(it admit.Item) {
	if t.win.settle(it) {
		t.Wake()
	}
}

// Lined says that a task waits for its overlap key: it keeps nobody else out meanwhile.
func (t *Trigger) Lined(it admit.Item) { t.win.line(it) }

// Crowded forgets a task that waits for its overlap key behind too many others, until Room.
func (t *Trigger) Crowded(it admit.Item) { t.win.crowd(it) }

// Room reads those again that Crowded was told of.
func (t *Trigger) Room() {
	t.win.uncrowd()
	t.Wake()
}

// Later makes a task wait until the store's time at.
func (t *Trigger) Later(it admit.Item, at task.Time) { t.win.later(it, at) }

// Unpark says that some executor can run the kind now.
func (t *Trigger) Unpark(kind string) {
	t.win.unpark(kind)
	t.Wake()
}

// Loaded returns the number of tasks held in memory.
func (t *Trigger) Loaded() int {
	t.win.mu.Lock()
	defer t.win.mu.Unlock()
	return len(t.win.known)
}

// reading is one cursor of a round and what its rows are for.
type reading struct {
	lane *lane
	why  reason
}

type reason int

const (
	far  reason = iota // the next rows of the window
	hot                // what may have changed around now
	walk               // overdue rows, step by step
)

// runOnce reads one page of each cursor.
func (t *Trigger) runOnce(ctx context.Context, what func() ([]reading, []store.Cursor),
	r *round) error {
	ctx, cancel := clock.Limit(ctx)
	defer cancel()
	rs, cs := what()
	for pages := 0; len(cs) > 0 && pages < maxHot; pages++ {
		sent := t.cfg.Since()
		pages, at, err := t.cfg.Store.Due(ctx, cs)
		if err != nil {
			return err
		}
		t.cfg.Sampled(sent, at)
		var hotter []store.Cursor
		var again []reading
		for i, rows := range pages {
			taken, stopped := t.win.offer(rs[i].lane, rows)
			full := len(rows) == cs[i].Limit
			switch rs[i].why {
			case hot:
				// Follow it to its end: it is short, unless there is a backlog of known rows, which
				// has no use for more.
				if full && (taken > 0 || rows[len(rows)-1].RunAt > at) {
					c := cs[i]
					c.After = rows[len(rows)-1].Mark
					hotter, again = append(hotter, c), append(again, rs[i])
				}
			default:
				if !stopped {
					t.advance(rs[i], cs[i], rows, full)
				}
				if rs[i].why == far {
					r.taken += taken
					r.more = r.more || full && !stopped
				}
			}
		}
		cs, rs = hotter, again
	}
	return nil
}

// advance moves the mark of a cursor past the page that was read.
func (t *Trigger) advance(r reading, c store.Cursor, rows []store.Due, full bool) {
	t.win.mu.Lock()
	defer t.win.mu.Unlock()
	end := store.Mark{RunAt: c.Until, ID: lastID}
	if full {
		end = rows[len(rows)-1].Mark
	}
	switch {
	case r.why == walk && full:
		r.lane.old = end
	case r.why == walk:
		r.lane.old = store.Mark{} // from the start again
	case c.After == r.lane.mark: // else a kind was unparked meanwhile: read from there
		r.lane.mark = end
	}
}

var lastID = task.ID{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// hintCursors decides what to read after hints: what is due before the next poll comes, from the
// earliest hinted time on.
func (t *Trigger) hintCursors() ([]reading, []store.Cursor) {
	from := t.hinted.Swap(maxHint)
	if from == maxHint {
		return nil, nil
	}
	return t.choose(func(l *lane, now task.Time, add adder) {
		hi := min(now.Add(t.cfg.Poll+t.cfg.Poll/4), l.mark.RunAt)
		if lo := task.Time(from) - 1; lo < hi {
			add(l, hot, store.Mark{RunAt: lo, ID: lastID}, hi)
		}
	})
}

// maxHot is how many pages of the hot scan are read at a time. More lie there only in a backlog;
// what is not reached then is found when it drains, or by the slow walk.
const maxHot = 30

// farCursors reads on from the marks to the end of the window.
func (t *Trigger) farCursors() ([]reading, []store.Cursor) { return t.choose(t.far) }

func (t *Trigger) far(l *lane, now task.Time, add adder) {
	until := now.Add(t.cfg.Window)
	room := l.far < t.win.limit.far || l.mark.RunAt < now.Add(t.win.ahead)
	if room && l.mark.RunAt < until {
		add(l, far, l.mark, until)
	}
}

// pollCursors reads on, and again what may have changed behind the marks: around now, and from
// time to time a piece of what is overdue.
func (t *Trigger) pollCursors() ([]reading, []store.Cursor) {
	slow := t.cfg.Since() >= t.slow
	if slow {
		t.slow = t.cfg.Since() + slowWalk
	}
	near := task.Time(t.win.ahead.Microseconds())
	return t.choose(func(l *lane, now task.Time, add adder) {
		t.far(l, now, add)
		if lo, hi := now-near, min(now.Add(t.cfg.Poll+t.cfg.Poll/4), l.mark.RunAt); lo < hi {
			add(l, hot, store.Mark{RunAt: lo}, hi)
		}
		if hi := min(now-near, l.mark.RunAt); slow && hi > 0 {
			add(l, walk, l.old, hi)
		}
	})
}

// adder adds a cursor to what is read.
type adder func(l *lane, why reason, after store.Mark, until task.Time)

// choose asks for the cursors of each lane.
func (t *Trigger) choose(
	what func(l *lane, now task.Time, add adder)) (rs []reading, cs []store.Cursor) {
	t.win.mu.Lock()
	defer t.win.mu.Unlock()
	now := t.cfg.Now()
	for _, l := range t.lanes {
		what(l, now, func(l *lane, why reason, after store.Mark, until task.Time) {
			rs = append(rs, reading{l, why})
			cs = append(cs, store.Cursor{Group: l.group, Bucket: l.bucket, After: after,
				Until: until, Limit: page})
		})
	}
	return rs, cs
}
