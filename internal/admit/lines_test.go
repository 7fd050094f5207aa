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
			if l.Call("key", w) {
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
		for next, ok := l.Done(ws[0].ID); ok; next, ok = l.Done(next.ID) {
			w := byID[next.ID]
			if !l.Call("key", w) {
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
	if l.Call("key", waiter(3, 5)) {
		t.Fatal("called while the claim of another is under way")
	}
	if next, ok := l.Done(waiter(1, 10).ID); !ok || next.ID != waiter(3, 5).ID {
		t.Errorf("head %v, want the earliest", next)
	}
	if l.Call("key", waiter(2, 20)) {
		t.Error("called before the head")
	}
	if !l.Call("other", waiter(4, 99)) {
		t.Error("a line of another key holds it back")
	}
}

// TestLinesBusy: a claim that met a busy key goes back to its place, and a key given back meanwhile
// is not forgotten.
func TestLinesBusy(t *testing.T) {
	var l Lines
	w := waiter(1, 10)
	l.Call("key", w)
	l.Call("key", waiter(2, 20))
	if head, now := l.Back("key", w); head.ID != w.ID || now {
		t.Errorf("Back gives %v, at once %t; want itself, later", head, now)
	}
	if head, ok := l.Freed("key"); !ok || head.ID != w.ID {
		t.Errorf("Freed gives %v, %t; want the head", head, ok)
	}
	l.Call("key", w)
	if _, ok := l.Freed("key"); ok {
		t.Error("Freed names somebody while a claim is under way")
	}
	if head, now := l.Back("key", w); head.ID != w.ID || !now {
		t.Errorf("Back gives %v, at once %t; want itself, at once", head, now)
	}
	if _, ok := l.Freed("nobody's"); ok {
		t.Error("Freed names somebody where nobody waits")
	}
}

// TestLinesLeft: a task that is no longer what it was leaves the line, and only then.
func TestLinesLeft(t *testing.T) {
	var l Lines
	a, b, c := waiter(1, 10), waiter(2, 20), waiter(3, 30)
	l.Call("key", a)
	l.Call("key", b)
	l.Call("key", c)
	l.Back("key", a)
	moved := b
	moved.RunAt = 99
	l.Call("key", moved)
	if _, ok := l.Left(b.Item); ok || l.Len() != 3 {
		t.Error("the new copy of a moved task left with the old one")
	}
	if _, ok := l.Left(c.Item); ok || l.Len() != 2 {
		t.Error("one behind the head left, so the head has not changed")
	}
	if head, ok := l.Left(a.Item); !ok || head.ID != b.ID {
		t.Errorf("after the head left %v is head, want the next", head)
	}
	if _, ok := l.Left(moved.Item); ok || l.Len() != 0 || len(l.lines) != 0 {
		t.Error("the last one left something behind")
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
