package trigger

import (
	"testing"
	"time"

	"github.com/ax-sched/ax/task"
)

// TestLinedHideNobody: more tasks wait for overlap keys than may be held of one kind, and another
// task of the kind comes all the same.
func TestLinedHideNobody(t *testing.T) {
	with(t, func(r *rig) {
		r.claims(false)
		r.insert(20_000, "a", -time.Hour) // a lane holds 16,000, half of them of one kind
	}, func(r *rig) {
		for range 60 { // the dispatcher looks at what comes, and finds each key busy
			pass(2 * time.Second)
			for _, p := range r.got("a") {
				r.Lined(p.Item)
			}
		}
		if n := len(r.got("a")); n != 20_000 {
			t.Fatalf("%d of 20,000 came", n)
		}
		r.insert(1, "a", time.Second)
		pass(5 * time.Second)
		if n := len(r.got("a")); n != 20_001 {
			t.Errorf("%d came; the one that waits for nothing did not", n)
		}
	})
}

// TestCrowded: what was forgotten because too many wait comes again when there is room, once.
func TestCrowded(t *testing.T) {
	with(t, func(r *rig) {
		r.claims(false)
		r.insert(10, "a", -time.Second)
	}, func(r *rig) {
		pass(time.Second)
		came := r.got("a")
		if len(came) != 10 {
			t.Fatalf("%d came", len(came))
		}
		for _, p := range came[4:] {
			r.Crowded(p.Item)
		}
		if n := r.Loaded(); n != 4 {
			t.Errorf("%d are held, want those that were not turned away", n)
		}
		r.Room()
		pass(100 * time.Millisecond)
		if n := len(r.got("a")); n != 16 || r.Loaded() != 10 {
			t.Errorf("%d came again and %d are held; want the six, once", n-10, r.Loaded())
		}
	})
}

// TestLinedThenLater: a task that leaves its line for a time of its own is counted as any other,
// and comes again at that time.
func TestLinedThenLater(t *testing.T) {
	with(t, func(r *rig) {
		r.claims(false)
		r.insert(1, "a", -time.Second)
	}, func(r *rig) {
		pass(time.Second)
		it := r.got("a")[0].Item
		near := func() (all, kind int) {
			r.win.mu.Lock()
			defer r.win.mu.Unlock()
			l := r.win.lanes[laneKey{"g", task.Normal}]
			return l.near, l.kinds["a"]
		}
		r.Lined(it)
		r.Lined(it)
		if n, _ := near(); n != 0 {
			t.Errorf("%d counted while it waits in a line", n)
		}
		r.Later(it, task.FromGo(time.Now().Add(3*time.Second)))
		if n, _ := near(); n != 1 {
			t.Errorf("%d counted while it waits for a time", n)
		}
		pass(4 * time.Second)
		if n := len(r.got("a")); n != 2 {
			t.Errorf("it came %d times, want again at its time", n)
		}
		r.Lined(it)
		r.Settled(it)
		if n, of := near(); n != 0 || of != 0 || r.Loaded() != 0 {
			t.Errorf("%d near, %d of the kind, %d held after its end", n, of, r.Loaded())
		}
	})
}

// TestUnhandledMayCallBack: who is told of a kind without a handler may use the scheduler, as a
// logger does that submits.
func TestUnhandledMayCallBack(t *testing.T) {
	with(t, nil, func(r *rig) {
		held := -1
		r.win.unhandled = func(string) { held = r.Loaded() }
		r.insert(1, "nobody's", 0)
		pass(3 * time.Second)
		if held != 0 {
			t.Errorf("told that %d tasks are held, want to be told of none", held)
		}
	})
}
