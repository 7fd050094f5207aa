package admit

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ax-sched/ax/task"
)

// waiter makes one whose place in the line is fire.
func waiter(n byte, fire task.Time) Waiter {
	return Waiter{Item: Item{ID: task.ID{15: n}, RunAt: fire, Kind: "k", Bucket: task.Normal},
		Fire: fire}
}

// call is Call without the copy that has gone.
func call(l *Lines, key string, w Waiter) bool {
	return l.Call(key, w).Now
}

// TestLinesOrder: whoever arrives first, one at a time is called, in the order of fire time and id.
func TestLinesOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		var l Lines
		ws := make([]Waiter, 20)
		for i := range ws {
			ws[i] = waiter(byte(i+1), task.Time(rnd.IntN(6)))
		}
		rnd.Shuffle(len(ws), func(i, j int) { ws[i], ws[j] = ws[j], ws[i] })
		var called []Waiter
		for _, w := range ws {
			if call(&l, "key", w) {
				called = append(called, w)
			}
		}
		if len(called) != 1 || called[0].ID != ws[0].ID {
			t.Fatalf("round %d: called %v of those who came, want the first alone", round, called)
		}
		byID := map[task.ID]Waiter{}
		for _, w := range ws {
			byID[w.ID] = w
		}
		var order []Waiter
		for next, ok := l.Done(ws[0].ID, false); ok; next, ok = l.Done(next.ID, false) {
			w := byID[next.ID]
			if !call(&l, "key", w) {
				t.Fatalf("round %d: the head %v is not called", round, next)
			}
			order = append(order, w)
		}
		if len(order) != len(ws)-1 || !slices.IsSortedFunc(order, func(a, b Waiter) int {
			return a.compare(b)
		}) {
			t.Fatalf("round %d: order %v", round, order)
		}
		if l.Len() != 0 || len(l.lines) != 0 {
			t.Fatalf("round %d: %d wait and %d lines stay", round, l.Len(), len(l.lines))
		}
	}
}

// TestLinesEarlierOneComes: one that belongs before those who wait is called before them.
func TestLinesEarlierOneComes(t *testing.T) {
	var l Lines
	l.Call("key", waiter(1, 10))
	l.Call("key", waiter(2, 20))
	if call(&l, "key", waiter(3, 5)) {
		t.Fatal("called while the claim of another is under way")
	}
	if next, ok := l.Done(waiter(1, 10).ID, false); !ok || next.ID != waiter(3, 5).ID {
		t.Errorf("head %v, want the earliest", next)
	}
	if call(&l, "key", waiter(2, 20)) {
		t.Error("called before the head")
	}
	if !call(&l, "key", waiter(3, 5)) || !l.Called("key", task.ID{15: 3}) ||
		l.Called("key", task.ID{15: 2}) || l.Called("other", task.ID{15: 3}) {
		t.Error("want the head called, and nobody else")
	}
	if !call(&l, "other", waiter(4, 99)) {
		t.Error("a line of another key holds it back")
	}
}

// want checks who is named.
func want(t *testing.T, what string, it Item, ok bool, id byte) {
	t.Helper()
	if ok != (id != 0) || ok && it.ID != (task.ID{15: id}) {
		t.Errorf("%s names %v, %t; want %d", what, it.ID, ok, id)
	}
}

// TestLinesBusy: a claim that met a busy key goes back to its place, and a key given back meanwhile
// is not forgotten.
func TestLinesBusy(t *testing.T) {
	var l Lines
	w := waiter(1, 10)
	l.Call("key", w)
	l.Call("key", waiter(2, 20))
	it, ok := l.Back("key", w)
	want(t, "Back", it, ok, 0)
	it, ok = l.Freed("key")
	want(t, "Freed", it, ok, 1)
	it, ok = l.Freed("key")
	want(t, "Freed again, before anybody was looked at,", it, ok, 0)
	l.Call("key", w)
	it, ok = l.Freed("key")
	want(t, "Freed during a claim", it, ok, 0)
	it, ok = l.Back("key", w)
	want(t, "Back after that", it, ok, 1)
	it, ok = l.Freed("nobody's")
	want(t, "Freed of another key", it, ok, 0)
	l.Call("key", w)
	it, ok = l.Done(w.ID, true)
	want(t, "Done with the key", it, ok, 0)
	it, ok = l.Freed("key")
	want(t, "Freed after that", it, ok, 2)
}

// TestLinesLeft: a task that is no longer what it was leaves the line, and only then.
func TestLinesLeft(t *testing.T) {
	var l Lines
	a, b, c := waiter(1, 10), waiter(2, 20), waiter(3, 30)
	for _, w := range []Waiter{a, b, c} {
		l.Call("key", w)
	}
	l.Back("key", a)
	moved := b
	moved.RunAt = 99
	if a := l.Call("key", moved); a.Gone != b.Item {
		t.Errorf("%+v is gone, want the copy of the instant before", a.Gone)
	}
	_, it, ok := l.Left(b.ID, 99)
	want(t, "Left of one that waits for its new instant", it, ok, 0)
	if l.Len() != 3 {
		t.Error("it has left the line")
	}
	gone, it, ok := l.Left(c.ID, 0)
	if gone.ID != c.ID {
		t.Errorf("%v is gone", gone)
	}
	want(t, "Left of one behind the head", it, ok, 0)
	if l.Len() != 2 {
		t.Error("it has not left the line")
	}
	_, it, ok = l.Left(a.ID, 77)
	want(t, "Left of a head that is due at another instant", it, ok, 2)
	_, it, ok = l.Left(b.ID, 0)
	want(t, "Left of the last", it, ok, 0)
	if l.Len() != 0 || len(l.lines) != 0 {
		t.Error("the last one left something behind")
	}
}

// TestLinesHeadsInTurn: of many lines a few are named at a time, and each has its turn.
func TestLinesHeadsInTurn(t *testing.T) {
	var l Lines
	for n := range byte(100) {
		key := string([]byte{'k', n})
		l.Call(key, waiter(n+1, 1))
		l.Back(key, waiter(n+1, 1))
	}
	named := map[task.ID]int{}
	for range 30 {
		its := l.Heads(10)
		if len(its) > 10 || len(its) == 0 {
			t.Fatalf("%d named", len(its))
		}
		for _, it := range its {
			named[it.ID]++
			key := string([]byte{'k', it.ID[15] - 1})
			l.Call(key, waiter(it.ID[15], 1)) // it is looked at, and the key is busy
			l.Back(key, waiter(it.ID[15], 1))
		}
	}
	if len(named) != 100 {
		t.Errorf("%d of 100 had their turn in 30 rounds of 10", len(named))
	}
	for id, n := range named {
		if n != 3 {
			t.Errorf("%s was named %d times", id, n)
		}
	}
}

// TestLinesStaleCopy: a copy that was read before the row moved does not take the place of the row
// as it is.
func TestLinesStaleCopy(t *testing.T) {
	var l Lines
	now, stale := waiter(1, 10), waiter(1, 10)
	now.Version, now.RunAt, stale.Version = 2, 50, 1
	l.Call("key", waiter(9, 1))
	l.Call("key", now)
	if call(&l, "key", stale) {
		t.Error("called")
	}
	it, ok := l.Done(task.ID{15: 9}, false)
	want(t, "Done", it, ok, 1)
	if it.RunAt != 50 || call(&l, "key", stale) || !call(&l, "key", now) {
		t.Errorf("%+v is named; want the row as it is called, and not its old copy", it)
	}
}

// TestLinesHeads: each line whose head nobody looks at names it, and only once.
func TestLinesHeads(t *testing.T) {
	var l Lines
	for i, key := range []string{"a", "b", "c"} {
		l.Call(key, waiter(byte(10*i+1), 1))
		l.Call(key, waiter(byte(10*i+2), 2))
	}
	l.Done(task.ID{15: 1}, true)
	l.Back("b", waiter(11, 1))
	got := map[byte]bool{}
	for _, it := range l.Heads(10) {
		got[it.ID[15]] = true
	}
	if len(got) != 2 || !got[2] || !got[11] {
		t.Errorf("named %v, want the heads of the two lines in which nobody is called", got)
	}
	if its := l.Heads(10); len(its) != 0 {
		t.Errorf("named again: %v", its)
	}
	if l.Left(task.ID{15: 2}, 2); len(l.Heads(10)) != 1 {
		t.Error("a head that was looked at and stays is not named any more")
	}
}

// TestLinesOutdated: only the newest of those marked is wanted.
func TestLinesOutdated(t *testing.T) {
	var l Lines
	old, plain, fresh := waiter(1, 10), waiter(2, 20), waiter(3, 30)
	old.Latest, fresh.Latest = true, true
	l.Call("key", waiter(9, 1))
	l.Call("key", old)
	l.Call("key", plain)
	if l.Outdated("key", old) {
		t.Error("outdated by one that does not replace")
	}
	l.Call("key", fresh)
	if !l.Outdated("key", old) || l.Outdated("key", plain) || l.Outdated("key", fresh) {
		t.Error("want the older of the two marked outdated, and nobody else")
	}
}

// TestLinesFull: a line that is full turns tasks away, others still have room, and once it is half
// empty that is said, once.
func TestLinesFull(t *testing.T) {
	l := Lines{MostOfKey: 4, Most: 7}
	for n := range byte(7) { // one is called, four wait, two are turned away
		a := l.Call("key", waiter(n+1, task.Time(n)))
		if a.Full != (n > 4) || a.Waits == (n < 1 || a.Full) {
			t.Errorf("task %d: %+v", n, a)
		}
	}
	if !call(&l, "other", waiter(20, 1)) || !l.Call("other", waiter(21, 2)).Waits {
		t.Error("a full line keeps others out")
	}
	if !l.Call("other", waiter(22, 3)).Full {
		t.Error("more wait than may in all")
	}
	for n := range byte(4) {
		// With six places taken a quarter of eight is free; half of four are left a moment later.
		if got := l.Room(); got != (n == 2 || n == 3) || l.Room() {
			t.Errorf("after %d have left: room %t", n, got)
		}
		it, ok := l.Done(task.ID{15: n + 1}, false)
		if ok && !call(&l, "key", waiter(it.ID[15], it.RunAt)) {
			t.Fatalf("the head %v is not called", it)
		}
	}
}
