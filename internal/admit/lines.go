package admit

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"

	"github.com/ax-sched/ax/task"
)

// Waiter is a due task that wants an overlap key and waits where that is busy.
type Waiter struct {
	Item
	Fire task.Time // with the id its place in the line
	// Latest marks a task that is not wanted any more once a newer one with this mark waits.
	Latest bool
}

// compare is the order in which waiters get their key.
func (w *Waiter) compare(o Waiter) int {
	return cmp.Or(cmp.Compare(w.Fire, o.Fire), bytes.Compare(w.ID[:], o.ID[:]))
}

// Lines keeps the order of tasks that wait for overlap keys. At most one claim of a key by tasks
// that wait is under way at any time, that of the head of its line: whoever made two would leave
// their order to the store. It is pure and not safe for concurrent use; the zero value is empty.
//
// It holds no more than what its process has looked at. The table has all that wait, in the order
// in which a process reads it.
type Lines struct {
	lines map[string]*line
	keys  map[task.ID]string // of those that wait or are called
}

// line is those who want one key.
type line struct {
	waiting heads   // the first is the head
	called  task.ID // whose claim is under way; zero: nobody's
	freed   bool    // the key was given back during that claim
}

// Len returns the number of waiting tasks.
func (l *Lines) Len() int { return len(l.keys) }

// Call reports whether w may be claimed now; until Done or Back nobody else of its key is. If not,
// it waits in the line from now on.
func (l *Lines) Call(key string, w Waiter) bool {
	at := l.of(key)
	if _, known := l.keys[w.ID]; known {
		at.remove(w.ID)
	}
	l.keys[w.ID] = key
	ahead := len(at.waiting) > 0 && at.waiting[0].compare(w) < 0
	if !ahead && (at.called.IsZero() || at.called == w.ID) {
		at.called, at.freed = w.ID, false
		return true
	}
	if at.called != w.ID { // a second copy of who is called adds nothing
		heap.Push(&at.waiting, w)
	}
	return false
}

// Back returns a called task to its line: the key was busy. It reports the one to be tried next,
// and whether at once, because the key was given back meanwhile.
func (l *Lines) Back(key string, w Waiter) (head Item, now bool) {
	at := l.of(key)
	at.called, now = task.ID{}, at.freed
	at.freed = false
	heap.Push(&at.waiting, w)
	l.keys[w.ID] = key
	return at.waiting[0].Item, now
}

// Done ends the call of a task that waits no more, and reports who is the head of its line now, if
// anybody waits. A task that was not called is taken out of the line.
func (l *Lines) Done(id task.ID) (head Item, ok bool) {
	key, ok := l.keys[id]
	if !ok {
		return Item{}, false
	}
	delete(l.keys, id)
	at := l.lines[key]
	switch {
	case at.called == id:
		at.called, at.freed = task.ID{}, false
	case !at.remove(id):
		return Item{}, false // the head has not changed
	case !at.called.IsZero():
		return Item{}, false
	}
	if len(at.waiting) == 0 {
		delete(l.lines, key)
		return Item{}, false
	}
	return at.waiting[0].Item, true
}

// Left is Done of a task that was queued for an instant and is not what it was then. One that
// waits for another instant by now stays.
func (l *Lines) Left(it Item) (head Item, ok bool) {
	at := l.lines[l.keys[it.ID]]
	if at == nil || at.called == it.ID {
		return Item{}, false
	}
	if i := at.place(it.ID); i < 0 || at.waiting[i].RunAt != it.RunAt {
		return Item{}, false
	}
	return l.Done(it.ID)
}

// Freed says that a key was given back, and reports who is to be tried now, if anybody waits.
func (l *Lines) Freed(key string) (head Item, ok bool) {
	at := l.lines[key]
	if at == nil {
		return Item{}, false
	}
	if !at.called.IsZero() {
		at.freed = true // the claim may have met the key before that
		return Item{}, false
	}
	return at.waiting[0].Item, true
}

// Outdated reports whether a newer task than w waits that makes it unwanted.
func (l *Lines) Outdated(key string, w Waiter) bool {
	at := l.lines[key]
	return w.Latest && at != nil && slices.ContainsFunc(at.waiting, func(o Waiter) bool {
		return o.Latest && w.compare(o) < 0
	})
}

func (l *Lines) of(key string) *line {
	at := l.lines[key]
	if at == nil {
		if l.lines == nil {
			l.lines, l.keys = map[string]*line{}, map[task.ID]string{}
		}
		at = &line{}
		l.lines[key] = at
	}
	return at
}

func (at *line) place(id task.ID) int {
	return slices.IndexFunc(at.waiting, func(w Waiter) bool { return w.ID == id })
}

// remove takes a waiter out, and reports whether it was the head.
func (at *line) remove(id task.ID) bool {
	i := at.place(id)
	if i >= 0 {
		heap.Remove(&at.waiting, i)
	}
	return i == 0
}

// heads is a heap of waiters: a line may be long, and most leave it as its head.
type heads []Waiter

func (h heads) Len() int           { return len(h) }
func (h heads) Less(i, j int) bool { return h[i].compare(h[j]) < 0 }
func (h heads) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(w any)        { *h = append(*h, w.(Waiter)) }

// Pop removes the last element, as container/heap asks for.
func (h *heads) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = Waiter{} // lets go of the kind's string
	*h = (*h)[:last]
	return w
}
