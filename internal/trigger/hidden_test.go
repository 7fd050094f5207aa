package trigger

import (
	"testing"
	"time"
)

// TestFarTasksDoNotHideNearOnes: the window is full of tasks that are due in minutes; one that is
// submitted now comes now.
func TestFarTasksDoNotHideNearOnes(t *testing.T) {
	for _, kinds := range []string{"a", "abc"} {
		with(t, func(r *rig) {
			for _, k := range kinds {
				r.insert(8000/len(kinds), string(k), 4*time.Minute)
			}
		}, func(r *rig) {
			pass(10 * time.Second)
			near := r.insert(1, "a", 0)
			pass(10 * time.Second)
			if got := r.got("a"); len(got) != 1 || got[0].ID != near[0].ID {
				t.Errorf("far tasks of kinds %q: a task due now has not come within 10 s; %d held",
					kinds, r.Loaded())
			}
			added := r.insert(1, "a", time.Second)
			r.Add("g", added[0].Bucket, due(&added[0])) // as a retry of this process
			pass(5 * time.Second)
			if got := r.got("a"); len(got) != 2 {
				t.Errorf("far tasks of kinds %q: a retry in one second has not come within 5 s", kinds)
			}
		})
	}
}

// TestUnhandledKindHidesNobody: a new leader finds ten thousand overdue tasks of a kind that
// nobody runs, and one of a kind that it runs.
func TestUnhandledKindHidesNobody(t *testing.T) {
	with(t, func(r *rig) {
		r.insert(10_000, "unhandled", -time.Hour)
		r.insert(1, "a", -time.Minute)
	}, func(r *rig) {
		after := time.Duration(0)
		for len(r.got("a")) == 0 && after < 5*time.Minute {
			pass(time.Second)
			after += time.Second
		}
		if after > 4*time.Second {
			t.Errorf("the task came %v after the start", after)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.unhandled) != 1 || r.unhandled[0] != "unhandled" {
			t.Errorf("told of %q, want the one kind once", r.unhandled)
		}
	})
}
