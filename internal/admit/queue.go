// Package admit decides which due tasks start next: buckets share free slots by weight, a maximum
// wait keeps every bucket moving, and a kind at its limit holds back nobody else. It is pure: the
// caller brings the time and owns the lock.
package admit

import (
	"time"

	"github.com/ax-sched/ax/task"
)

// First, as an Item's bucket, goes before all buckets and shares with none: somebody asked to run
// the task now.
const First task.Bucket = 0

// Item is a due task that waits for a slot.
type Item struct {
	ID     task.ID
	RunAt  task.Time
	Kind   string
	Bucket task.Bucket
}

// weights are the shares of free slots of CRITICAL, HIGH, NORMAL and LOW.
var weights = [...]int{task.Critical: 4, task.High: 3, task.Normal: 2, task.Low: 1}

// maxWaits is how long a bucket may wait before its oldest task goes first. CRITICAL needs none:
// nothing goes before it.
var maxWaits = [...]time.Duration{task.High: 10 * time.Second, task.Normal: 30 * time.Second,
	task.Low: 120 * time.Second}

const lanes = int(task.Low) + 1

// Queue holds due tasks: per bucket, per kind, first in first out. It is not safe for concurrent
// use.
type Queue struct {
	lane [lanes]lane
	turn bool // the last slot went to an overdue task, so the next one does not
	n    int
}

// lane is one bucket.
type lane struct {
	kinds  map[string]*fifo
	order  []*fifo // the same, for a scan in a fixed order
	n      int
	credit int // of the smooth weighted round robin
}

// fifo is one kind's tasks in one bucket: a slice with a moving head.
type fifo struct {
	kind  string
	items []Item
	head  int
}

func (f *fifo) first() *Item { return &f.items[f.head] }
func (f *fifo) empty() bool  { return f.head == len(f.items) }

func (f *fifo) pop() Item {
	it := f.items[f.head]
	f.items[f.head] = Item{} // lets go of the kind's string
	f.head++
	switch {
	case f.empty():
		f.items, f.head = f.items[:0], 0
		if cap(f.items) > 4096 {
			f.items = nil // a burst is over: give the memory back
		}
	case f.head >= 1024 && f.head*2 >= len(f.items):
		n := copy(f.items, f.items[f.head:])
		clear(f.items[n:])
		f.items, f.head = f.items[:n], 0
	}
	return it
}

// Len returns the number of waiting tasks.
func (q *Queue) Len() int { return q.n }

// Push adds a due task.
func (q *Queue) Push(it Item) {
	l := &q.lane[it.Bucket]
	f := l.kinds[it.Kind]
	if f == nil {
		if l.kinds == nil {
			l.kinds = map[string]*fifo{}
		}
		f = &fifo{kind: it.Kind}
		l.kinds[it.Kind] = f
		l.order = append(l.order, f)
	}
	f.items = append(f.items, it)
	l.n++
	q.n++
}

// Pop takes up to n tasks in the order in which they shall start. take is asked for a slot of the
// kind; once it refuses a kind, that kind is passed over for the rest of the call.
func (q *Queue) Pop(n int, now task.Time, take func(kind string) bool) []Item {
	if q.n == 0 || n <= 0 {
		return nil
	}
	out := make([]Item, 0, min(n, q.n))
	p := pick{q: q, now: now, take: take}
	for len(out) < n {
		it, ok := p.next()
		if !ok {
			break
		}
		out = append(out, it)
	}
	return out
}

// Heads calls each with about n tasks that are likely to start next: the first ones of each kind in
// each bucket.
func (q *Queue) Heads(n int, each func(Item)) {
	kinds := 0
	for b := range q.lane {
		for _, f := range q.lane[b].order {
			if !f.empty() {
				kinds++
			}
		}
	}
	share := max(n/max(kinds, 1), 1)
	for b := range q.lane {
		for _, f := range q.lane[b].order {
			next := f.items[f.head:]
			for _, it := range next[:min(len(next), share)] {
				each(it)
			}
		}
	}
}

// pick is one call of Pop.
type pick struct {
	q    *Queue
	now  task.Time
	take func(kind string) bool
	full map[string]bool // kinds that take refused
	dead [lanes]bool     // buckets without a kind that may start
}

// next takes the next task. Only a task that gets its slot moves the turn and the credits: one
// whose kind is full has cost nobody anything.
func (p *pick) next() (Item, bool) {
	for {
		b, f := First, p.oldest(First)
		asked, late := f != nil, false
		if !asked {
			b, f = p.overdue()
			late = f != nil
		}
		if f == nil {
			b, f = p.byWeight()
		}
		if f == nil {
			return Item{}, false
		}
		if !p.take(f.kind) {
			if p.full == nil {
				p.full = map[string]bool{}
			}
			p.full[f.kind] = true
			continue
		}
		if !asked { // else it costs its bucket nothing
			if p.q.turn = late; !late {
				p.pay(b)
			}
		}
		p.q.lane[b].n--
		p.q.n--
		return f.pop(), true
	}
}

// pay is the smooth weighted round robin: each bucket that has something to start gains its
// weight, the one that starts pays the sum. An empty bucket saves nothing up.
func (p *pick) pay(b task.Bucket) {
	sum := 0
	for _, o := range task.Buckets() {
		if p.oldest(o) == nil {
			p.q.lane[o].credit = 0
			continue
		}
		p.q.lane[o].credit += weights[o]
		sum += weights[o]
	}
	p.q.lane[b].credit -= sum
}

// overdue finds the oldest task past its bucket's maximum wait, at most for every second slot and
// never while CRITICAL has something to start.
func (p *pick) overdue() (task.Bucket, *fifo) {
	if p.q.turn || p.oldest(task.Critical) != nil {
		return 0, nil
	}
	var at task.Bucket
	var best *fifo
	for _, b := range [...]task.Bucket{task.High, task.Normal, task.Low} {
		f := p.oldest(b)
		if f == nil || p.now.Sub(f.first().RunAt) < maxWaits[b] {
			continue
		}
		if best == nil || f.first().RunAt < best.first().RunAt {
			at, best = b, f
		}
	}
	return at, best
}

// byWeight finds the bucket whose turn it is: the richest after each has gained its weight.
func (p *pick) byWeight() (at task.Bucket, best *fifo) {
	most := 0
	for _, b := range task.Buckets() {
		f := p.oldest(b)
		if f == nil {
			continue
		}
		if c := p.q.lane[b].credit + weights[b]; best == nil || c > most {
			at, best, most = b, f, c
		}
	}
	return at, best
}

// oldest returns the kind of bucket b whose first task has waited longest and may start.
func (p *pick) oldest(b task.Bucket) *fifo {
	l := &p.q.lane[b]
	if l.n == 0 || p.dead[b] {
		return nil
	}
	var best *fifo
	for _, f := range l.order {
		if f.empty() || p.full[f.kind] {
			continue
		}
		if best == nil || f.first().RunAt < best.first().RunAt {
			best = f
		}
	}
	p.dead[b] = best == nil
	return best
}
