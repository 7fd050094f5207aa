package random

import (
	"bytes"
	"testing"

	"github.com/ax-sched/ax/task"
)

// TestIDsGrow: whatever the clock does within its bounds, each id is larger than the one before it,
// and no two are close to each other.
func TestIDsGrow(t *testing.T) {
	s := New(1)
	var last task.ID
	for i := range 200_000 {
		milli := int64(1_700_000_000_000 + i/1000) // a thousand in a millisecond
		if i%5000 == 4999 {
			milli -= 9_000 // the clock steps back
		}
		id := s.ID(milli)
		if bytes.Compare(id[:], last[:]) <= 0 {
			t.Fatalf("id %d is %s, after %s", i, id, last)
		}
		if id[6]>>4 != 7 || id[8]>>6 != 2 {
			t.Fatalf("%s is no UUID of version 7", id)
		}
		if bytes.Equal(id[:12], last[:12]) {
			t.Fatalf("%s can be guessed from %s", id, last)
		}
		last = id
	}
}

// TestIDsCarry: a millisecond whose bits are used up goes on in the next.
func TestIDsCarry(t *testing.T) {
	s := New(1)
	s.last = bits{1000, 1<<12 - 1, 1<<62 - 1}
	a, b := s.last.id(), s.ID(1000)
	if bytes.Compare(b[:], a[:]) <= 0 || s.last.milli != 1001 {
		t.Errorf("%s after %s, in millisecond %d", b, a, s.last.milli)
	}
}

// TestIDsFollowALargeStep: after a clock that was hours ahead ids have the right time again.
func TestIDsFollowALargeStep(t *testing.T) {
	s := New(1)
	s.ID(1_700_000_000_000)
	s.ID(1_699_990_000_000)
	if s.last.milli != 1_699_990_000_000 {
		t.Errorf("the time of the id is %d", s.last.milli)
	}
}

// TestSeeds: a seed repeats everything, none repeats nothing.
func TestSeeds(t *testing.T) {
	if a, b := New(7), New(7); a.ID(5) != b.ID(5) || a.Token() != b.Token() || a.Float() != b.Float() {
		t.Error("one seed gives two series")
	}
	if a, b := New(0), New(0); a.ID(5) == b.ID(5) || a.Token() == b.Token() {
		t.Error("two sources without a seed give the same")
	}
}
