package admit

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ax-sched/ax/task"
)

const start task.Time = 1_700_000_000_123_456

// TestRetriesInAnyMinute compares with a list of all that was let through.
func TestRetriesInAnyMinute(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for round := range 20 {
		r := Retries{Rate: 1 + rnd.IntN(30)}
		var first, again []task.Time
		now := start
		for range 5000 {
			now = now.Add(time.Duration(rnd.IntN(100)) * time.Millisecond)
			if rnd.IntN(500) == 0 {
				now = now.Add(time.Duration(rnd.IntN(200)) * time.Second)
			}
			if rnd.IntN(2) == 0 {
				r.First(now)
				first = append(first, now)
				continue
			}
			// Seconds are counted as wholes, so the window is up to a second shorter or longer.
			most := r.Rate + since(first, now.Add(-time.Minute))/retryShare
			least := r.Rate + since(first, now.Add(-time.Minute+time.Second))/retryShare
			if at, ok := r.Again(now); ok {
				if n := since(again, now.Add(-time.Minute+time.Second)); n >= most {
					t.Fatalf("round %d: let through although %d of %d were in the last minute", round, n,
						most)
				}
				again = append(again, now)
			} else if n := since(again, now.Add(-time.Minute)); n < least || at <= now {
				t.Fatalf("round %d: put off from %d to %d although %d of %d were in the last minute",
					round, now, at, n, least)
			}
		}
	}
}

// since counts the instants after an instant.
func since(ts []task.Time, at task.Time) (n int) {
	for _, t := range ts {
		if t > at {
			n++
		}
	}
	return n
}

// TestRetriesInOrder: those that are put off have their turns in the order in which they came, the
// first of them when the minute is over, and all when they are due by the rate.
func TestRetriesInOrder(t *testing.T) {
	r := Retries{Rate: 60}
	type retry struct{ n, tries int }
	waits := map[task.Time][]retry{} // by second
	for n := range 300 {
		waits[start] = append(waits[start], retry{n: n})
	}
	var ran []int
	tries := 0
	for now := start; now < start.Add(10*time.Minute); now++ {
		for _, x := range waits[now] {
			at, ok := r.Again(now)
			if tries = max(tries, x.tries+1); ok {
				ran = append(ran, x.n)
				continue
			}
			if x.tries++; at <= now {
				t.Fatalf("put off from %d to %d", now, at)
			}
			waits[at] = append(waits[at], x)
		}
		delete(waits, now)
		if len(waits) == 0 {
			break
		}
		next := start.Add(time.Hour)
		for at := range waits {
			next = min(next, at)
		}
		now = next - 1
	}
	if len(ran) != 300 || !slices.IsSorted(ran) || tries > 6 {
		t.Errorf("%d ran after at most %d tries, in the order %v", len(ran), tries, ran)
	}
}

// TestRetriesUndone: what did not start has not been.
func TestRetriesUndone(t *testing.T) {
	r := Retries{Rate: 1}
	for range 100 {
		r.First(start)
		r.Undo(start, true)
		if _, ok := r.Again(start); !ok {
			t.Fatal("a retry that did not start counts")
		}
		r.Undo(start, false)
	}
	r.Again(start)
	if _, ok := r.Again(start); ok {
		t.Error("first attempts that did not start count")
	}
}

// TestRetriesUnlimited: a negative rate is none, and 0 is the default.
func TestRetriesUnlimited(t *testing.T) {
	none, def := Retries{Rate: -1}, Retries{}
	for i := range 5000 {
		if _, ok := none.Again(start); !ok {
			t.Fatal("put off without a limit")
		}
		if _, ok := def.Again(start); ok != (i < DefaultRetryRate) {
			t.Fatalf("retry %d: %t", i+1, ok)
		}
	}
}

// TestRetriesClock: a small step back forgets nothing. After a large one in either direction nobody
// knows how long ago anything was, and retries go on.
func TestRetriesClock(t *testing.T) {
	r := Retries{Rate: 1}
	r.Again(start)
	if _, ok := r.Again(start.Add(-time.Second)); ok {
		t.Error("a step back by a second has made room")
	}
	for _, d := range []time.Duration{-time.Hour, time.Hour, 2 * time.Minute} {
		now := start.Add(d)
		if _, ok := r.Again(now); !ok {
			t.Errorf("%s later nothing may be tried again", d)
		}
		at, ok := r.Again(now)
		if ok || at.Sub(now) > 2*time.Minute {
			t.Errorf("%s later the second one: %t, put off by %s", d, ok, at.Sub(now))
		}
	}
}
