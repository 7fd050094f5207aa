package admit

import (
	"math/rand/v2"
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

// TestRetriesSpread: those that are put off do not all come back at once.
func TestRetriesSpread(t *testing.T) {
	r := Retries{Rate: 60}
	for range 60 {
		if _, ok := r.Again(start); !ok {
			t.Fatal("put off within the rate")
		}
	}
	last := start
	for range 120 {
		at, ok := r.Again(start)
		if ok || at.Sub(last) != time.Second {
			t.Fatalf("put off until %s after the one before it, want a second", at.Sub(last))
		}
		last = at
	}
	if r.Delayed() != 120 {
		t.Errorf("%d were put off", r.Delayed())
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

// TestRetriesClockBack: a clock that steps back neither forgets what was counted nor panics.
func TestRetriesClockBack(t *testing.T) {
	r := Retries{Rate: 1}
	r.Again(start)
	if _, ok := r.Again(start.Add(-time.Hour)); ok {
		t.Error("a step back has made room")
	}
	if _, ok := r.Again(start.Add(2 * time.Minute)); !ok {
		t.Error("two minutes later nothing may be tried again")
	}
}
