package trigger

import (
	"testing"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

func due(k *task.Task) store.Due {
	return store.Due{Mark: store.Mark{RunAt: k.RunAt, ID: k.ID}, Kind: k.Kind}
}

// TestHotScan: what other processes insert into the part that was read already comes in time,
// or a poll later if it was due at once.
func TestHotScan(t *testing.T) {
	with(t, nil, func(r *rig) {
		pass(time.Second)
		r.insert(1, "a", 0)
		r.insert(1, "b", 10*time.Second)
		r.insert(3000, "c", time.Second) // more than a page
		pass(20 * time.Second)
		r.wantOnce("a", 1, 2*time.Second)
		r.wantOnce("b", 1, time.Millisecond)
		r.wantOnce("c", 3000, time.Second)
	})
}

// TestSlowWalk: what became visible long after it was due is found without any notification, also
// behind thousands of overdue tasks that wait.
func TestSlowWalk(t *testing.T) {
	with(t, func(r *rig) { r.insert(3000, "elsewhere", -2*time.Hour) }, func(r *rig) {
		pass(time.Minute)
		r.insert(1, "a", -time.Hour)
		pass(30 * time.Second)
		if n := len(r.got("a")); n != 1 {
			t.Errorf("%d came within 30 s", n)
		}
	})
}

// TestAdd: what this process writes itself need not be read.
func TestAdd(t *testing.T) {
	with(t, nil, func(r *rig) {
		pass(time.Second)
		now := r.insert(1, "a", 0)
		r.Add("g", task.Normal, due(&now[0]))
		if n := len(r.got("a")); n != 1 {
			t.Fatalf("%d came at once", n)
		}
		soon := r.insert(1, "b", 500*time.Millisecond)
		r.Add("g", task.Normal, due(&soon[0]))
		r.Add("g", task.Normal, due(&soon[0])) // twice is once
		far := r.insert(1, "c", time.Hour)
		r.Add("g", task.Normal, due(&far[0]))
		r.Add("other", task.Normal, due(&far[0]))
		if n := r.Loaded(); n != 1 {
			t.Errorf("%d are held, want only the one that is due soon", n)
		}
		pass(2 * time.Hour)
		r.wantOnce("a", 1, 0)
		r.wantOnce("b", 1, time.Millisecond)
		r.wantOnce("c", 1, time.Millisecond)
	})
}

// TestLater: what met a closed door comes again at the time it was put off to.
func TestLater(t *testing.T) {
	with(t, nil, func(r *rig) {
		r.claims(false)
		r.insert(1, "a", 0)
		pass(2 * time.Second)
		first := r.got("a")
		if len(first) != 1 {
			t.Fatalf("%d came", len(first))
		}
		at := task.FromGo(time.Now().Add(3 * time.Second))
		r.Later(first[0].Item, at)
		r.Later(Item{ID: task.ID{9}}, at) // not held
		pass(3*time.Second - time.Millisecond)
		if n := len(r.got("a")); n != 1 {
			t.Errorf("it came again %d times before its time", n-1)
		}
		pass(2 * time.Millisecond)
		again := r.got("a")
		if len(again) != 2 || again[1].Item != first[0].Item {
			t.Errorf("came again: %+v", again)
		}
	})
}

// TestT14Rescheduled: a task that was moved comes once, at its new time; the old timer is dead.
func TestT14Rescheduled(t *testing.T) {
	for _, to := range []time.Duration{20 * time.Second, 100 * time.Second} {
		with(t, func(r *rig) { r.insert(1, "a", 50*time.Second) }, func(r *rig) {
			pass(10 * time.Second)
			at := task.FromGo(time.Now().Add(to))
			id := task.ID{1, 0, 0, 1}
			for range 100 {
				r.move(id, task.Reschedule, func(m *task.Mutable) { m.RunAt = at })
				r.Add("g", task.Normal, store.Due{Mark: store.Mark{RunAt: at, ID: id}, Kind: "a"})
			}
			if n := r.Loaded(); n != 1 {
				t.Errorf("%d entries for one task", n)
			}
			pass(3 * time.Minute)
			r.wantOnce("a", 1, time.Millisecond)
			if got := r.got("a"); len(got) == 1 && got[0].RunAt != at {
				t.Errorf("it came for %d, want %d", got[0].RunAt, at)
			}
		})
	}
}

// TestDriveNeverWaits: while the store hangs for ten seconds, what is held comes as always.
func TestDriveNeverWaits(t *testing.T) {
	with(t, func(r *rig) {
		for i := range 100 {
			r.insert(1, "a", time.Duration(i)*500*time.Millisecond)
		}
	}, func(r *rig) {
		r.claims(false)
		pass(2 * time.Second)
		r.store.set(func() { r.store.hang = 10 * time.Second })
		pass(2 * time.Minute)
		r.wantOnce("a", 100, time.Millisecond)
	})
}

// TestStoreAway: errors are told and reading goes on; what is held comes meanwhile.
func TestStoreAway(t *testing.T) {
	with(t, func(r *rig) { r.insert(1, "a", 30*time.Second) }, func(r *rig) {
		r.claims(false)
		pass(time.Second)
		r.store.set(func() { r.store.down = true })
		pass(time.Minute)
		r.wantOnce("a", 1, time.Millisecond)
		r.insert(1, "b", 0)
		r.store.set(func() { r.store.down = false })
		pass(2 * time.Second)
		r.wantOnce("b", 1, 2*time.Second)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.errors < 20 || r.errors > 40 {
			t.Errorf("%d errors told in a minute", r.errors)
		}
	})
}

// TestIdleReads: with nothing to do there is one read a poll, and finished tasks cost nothing.
func TestIdleReads(t *testing.T) {
	with(t, func(r *rig) { r.insert(5000, "a", -time.Second) }, func(r *rig) {
		pass(time.Minute)
		r.got("a")
		r.store.set(func() { r.store.reads, r.store.rows = 0, 0 })
		pass(time.Minute)
		r.got("a")
		r.store.set(func() {
			if r.store.reads > 31 || r.store.rows != 0 {
				t.Errorf("%d reads of %d rows in an idle minute", r.store.reads, r.store.rows)
			}
		})
	})
}

// TestH05TermFromEmpty: each term reads the table anew and hands every task over once.
func TestH05TermFromEmpty(t *testing.T) {
	for range 20 {
		with(t, func(r *rig) { r.insert(50, "a", 10*time.Second) }, func(r *rig) {
			if len(r.got("a")) != 0 || r.Loaded() != 50 {
				t.Errorf("%d held, %d handed over", r.Loaded(), len(r.got("a")))
			}
			pass(15 * time.Second)
			r.wantOnce("a", 50, time.Millisecond)
		})
	}
}

func TestNewRefusesATick(t *testing.T) {
	if _, err := New(Config{Groups: []string{"g"}, Now: func() task.Time { return 0 },
		Tick: time.Hour}); err == nil {
		t.Error("a tick of an hour was taken")
	}
}
