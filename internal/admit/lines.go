package admit

import (
	"bytes"
	"cmp"
	"container/heap"
	"maps"
	"slices"

	"github.com/ax-sched/ax/task"
)

// Waiter is a due task that wants an overlap key and waits where that is busy.
type Waiter struct {
	Item
	Fire task.Time // with the id its place in the line
	// Version is that of the row: of two copies of a task the newer one counts.
	Version int64
	// Latest marks a task that is not wanted any more once a newer one with this mark waits.
	Latest bool
}

// compare is the order in which waiters get their key.
func (w *Waiter) compare(o Waiter) int {
	return cmp.Or(cmp.Compare(w.Fire, o.Fire), bytes.Compare(w.ID[:], o.ID[:]))
}

// Lines keeps the order of tasks that wait for overlap keys. At most one claim of a key by tasks
// that wait is under way at any time, that of the head of its line: whoever made two would leave
// their order to the store. Its methods name who is to be queued for a claim; whoever is named is
// not named again before somebody of the line was looked at. It is pure and not safe for concurrent
// use; the zero value is empty.
//
// It holds no more than what its process has looked at. The table has all that wait, in the order
// in which a process reads it.
type Lines struct {
	// Most and MostOfKey bound how many wait, in all and for one key; 0 is MostLined and
	// MostOfLine.
	Most, MostOfKey int

	turns   []string // lines whose heads Heads has not named in this turn
	room    bool     // see Room
	crowded bool     // somebody was turned away because too many wait in all

	lines map[string]*line
	keys  map[task.ID]string // of those that wait or are called
}

// The usual bounds: about a quarter of a kilobyte each.
const (
	MostLined  = 200_000
	MostOfLine = 50_000
)

// line is those who want one key.
type line struct {
	waiting heads   // the first is the head
	called  task.ID // whose claim is under way; zero: nobody's
	freed   bool    // the key was given back during that claim
	named   bool    // the head was named and has not been looked at since
	full    bool    // somebody was turned away
}

// Len returns the number of tasks that wait or are called.
func (l *Lines) Len() int { return len(l.keys) }

// Called reports whether a claim of this task is under way.
func (l *Lines) Called(key string, id task.ID) bool {
	at := l.lines[key]
	return at != nil && at.called == id
}

// Call reports whether w may be claimed now; until Done or Back nobody else of its key is. If not,
// it waits in the line from now on, unless that is full. It is not asked for a task that is called.
func (l *Lines) Call(key string, w Waiter) Answer {
	var gone Item
	at := l.of(key)
	at.named = false
	if _, known := l.keys[w.ID]; known { // mostly it is not, and a search would be long
		i := at.place(w.ID)
		if i >= 0 && at.waiting[i].Version > w.Version {
			return Answer{} // the row has moved since this copy of it was read
		}
		if i >= 0 {
			if at.waiting[i].RunAt != w.RunAt {
				gone = at.waiting[i].Item
			}
			heap.Remove(&at.waiting, i)
		}
	}
	if at.called.IsZero() && (len(at.waiting) == 0 || w.compare(at.waiting[0]) < 0) {
		l.keys[w.ID] = key
		at.called, at.freed = w.ID, false
		return Answer{Now: true, Gone: gone}
	}
	crowded := len(l.keys) >= cmp.Or(l.Most, MostLined)
	if full := len(at.waiting) >= cmp.Or(l.MostOfKey, MostOfLine); full || crowded {
		delete(l.keys, w.ID)
		at.full, l.crowded = at.full || full, l.crowded || crowded
		return Answer{Full: true, Gone: gone}
	}
	l.keys[w.ID] = key
	heap.Push(&at.waiting, w)
	return Answer{Waits: true, Gone: gone}
}

// Answer says what becomes of a task that wants its key.
type Answer struct {
	Now   bool // it may be claimed
	Waits bool // it stands in the line
	Full  bool // there is no room for it: it has to be found in the table again, see Room
	// Gone is the copy of it that has waited until now, for another instant; with a zero id there
	// is none.
	Gone Item
}

// Room reports, once, that there is room again after somebody was turned away: a full line is half
// empty, or a quarter of all places is free.
func (l *Lines) Room() bool {
	room := l.room
	l.room = false
	return room
}

// left notes that a line has become shorter.
func (l *Lines) left(at *line) {
	if at.full && len(at.waiting) <= cmp.Or(l.MostOfKey, MostOfLine)/2 {
		at.full, l.room = false, true
	}
	if l.crowded && len(l.keys) <= cmp.Or(l.Most, MostLined)*3/4 {
		l.crowded, l.room = false, true
	}
}

// Back returns a called task to its line: it did not get the key. If the key was given back
// meanwhile, it names who is to be tried at once.
func (l *Lines) Back(key string, w Waiter) (head Item, ok bool) {
	at := l.of(key)
	now := at.freed
	at.called, at.freed = task.ID{}, false
	heap.Push(&at.waiting, w)
	l.keys[w.ID] = key
	if !now {
		return Item{}, false
	}
	return at.name()
}

// Done ends the call of a task that waits no more. Unless it has taken the key, it names who is to
// be tried next.
func (l *Lines) Done(id task.ID, taken bool) (head Item, ok bool) {
	key, ok := l.keys[id]
	if !ok || l.lines[key].called != id {
		return Item{}, false
	}
	delete(l.keys, id)
	at := l.lines[key]
	at.called, at.freed = task.ID{}, false
	l.left(at)
	if l.swept(key) || taken {
		return Item{}, false
	}
	return at.name()
}

// Left takes a waiting task out of its line, unless it still waits for the instant runAt, at which
// its row is due; 0 if it is not. It returns whom it has taken out, a zero id is nobody, and names
// the next if that was the head.
func (l *Lines) Left(id task.ID, runAt task.Time) (gone, head Item, ok bool) {
	key, known := l.keys[id]
	if !known {
		return gone, head, false
	}
	at := l.lines[key]
	at.named = false
	i := at.place(id)
	if i < 0 || at.waiting[i].RunAt == runAt {
		return gone, head, false
	}
	gone = at.waiting[i].Item
	delete(l.keys, id)
	heap.Remove(&at.waiting, i)
	l.left(at)
	if l.swept(key) || i > 0 || !at.called.IsZero() {
		return gone, head, false
	}
	head, ok = at.name()
	return gone, head, ok
}

// Freed says that a key was given back, and names who is to be tried now.
func (l *Lines) Freed(key string) (head Item, ok bool) {
	at := l.lines[key]
	switch {
	case at == nil:
		return Item{}, false
	case !at.called.IsZero():
		at.freed = true // the claim may have met the key before that
		return Item{}, false
	}
	return at.name()
}

// Heads names some who should be tried because nobody has been for a while: keys are also given
// back where this process does not see it, and a head may have moved without a word. Each takes a
// slot for a moment, so it names at most n, and all lines have their turn.
func (l *Lines) Heads(n int) []Item {
	var its []Item
	for range 2 { // the second time after a new turn has begun
		for len(l.turns) > 0 && len(its) < n {
			last := len(l.turns) - 1
			at := l.lines[l.turns[last]]
			l.turns = l.turns[:last]
			if at == nil {
				continue
			}
			if head, ok := at.name(); ok {
				its = append(its, head)
			}
		}
		if len(its) > 0 || len(l.lines) == 0 {
			break
		}
		l.turns = slices.AppendSeq(l.turns[:0], maps.Keys(l.lines))
	}
	return its
}

// name names the head, unless it was named already and not looked at since, or somebody is called.
func (at *line) name() (head Item, ok bool) {
	if at.named || !at.called.IsZero() || len(at.waiting) == 0 {
		return Item{}, false
	}
	at.named = true
	return at.waiting[0].Item, true
}

// swept removes a line in which nobody is.
func (l *Lines) swept(key string) bool {
	at := l.lines[key]
	empty := len(at.waiting) == 0 && at.called.IsZero()
	if empty {
		delete(l.lines, key)
	}
	return empty
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
