package wheel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMemoryAfterBurst: the memory of a burst is given back as its timers go.
func TestMemoryAfterBurst(t *testing.T) {
	w := New(0)
	empty := w.Bytes()
	for i := range int64(500_000) {
		w.Add(1+i, Value{})
	}
	peak := w.Bytes()
	if per := float64(peak-empty) / 500_000; per > 50 {
		t.Fatalf("%.1f bytes a timer", per)
	}
	w.Advance(450_000, func(int64, Value) {})
	if got := w.Bytes() - empty; got > peak/7 {
		t.Fatalf("%d bytes after nine tenths have gone, peak %d", got, peak)
	}
	w.Advance(500_000, func(int64, Value) {})
	// What stays is the list of block numbers and one or two spare blocks.
	if got := w.Bytes() - empty; got > 2*49_152+32_768 {
		t.Fatalf("%d bytes when empty", got)
	}
}

// TestMemoryIsBoundedByPeak: random churn at a constant size does not grow the wheel.
func TestMemoryIsBoundedByPeak(t *testing.T) {
	w := New(0)
	r := rand.New(rand.NewPCG(3, 4))
	var hs []Handle
	for range 50_000 {
		hs = append(hs, w.Add(r.Int64N(1<<30), Value{}))
	}
	peak := w.Bytes()
	for range 500_000 {
		i := r.IntN(len(hs))
		if !w.Cancel(hs[i]) {
			t.Fatal("a pending timer could not be cancelled")
		}
		hs[i] = w.Add(r.Int64N(1<<30), Value{})
	}
	if w.Bytes() > peak {
		t.Fatalf("%d bytes, %d before the churn", w.Bytes(), peak)
	}
}

// TestStaleHandles: no handle of a timer that has gone ever cancels another one, also when its
// block was given back and made anew, and after Reset.
func TestStaleHandles(t *testing.T) {
	w := New(0)
	seen := map[Handle]bool{}
	var old []Handle
	for round := range 6 {
		if round == 3 {
			w.Reset(0)
		}
		var mine []Handle
		for range 5_000 {
			h := w.Add(100, Value{})
			if seen[h] {
				t.Fatalf("round %d: handle %x given twice", round, uint64(h))
			}
			seen[h] = true
			mine = append(mine, h)
		}
		for _, h := range old {
			if w.Cancel(h) {
				t.Fatalf("round %d: stale handle %x cancelled a timer", round, uint64(h))
			}
		}
		old = append(old, mine...)
		if round == 2 {
			continue // these are dropped by Reset
		}
		slices.Reverse(mine)
		for _, h := range mine {
			if !w.Cancel(h) {
				t.Fatalf("round %d: pending handle %x not found", round, uint64(h))
			}
		}
	}
	for _, h := range []Handle{1, 1 << 32, 1<<32 | 1<<31, ^Handle(0)} {
		if w.Cancel(h) {
			t.Fatalf("invented handle %x cancelled a timer", uint64(h))
		}
	}
}

func TestReset(t *testing.T) {
	w := New(0)
	empty := w.Bytes()
	var h Handle
	for i := range int64(10_000) {
		h = w.Add(i, value(i))
	}
	w.Reset(50)
	if w.Len() != 0 || w.Now() != 50 || w.Bytes() != empty {
		t.Fatalf("%d timers at %d in %d bytes", w.Len(), w.Now(), w.Bytes())
	}
	if w.Cancel(h) {
		t.Fatal("a handle outlived Reset")
	}
	if _, ok := w.Next(); ok {
		t.Fatal("an empty wheel has a next tick")
	}
	w.Add(51, value(1))
	n := 0
	w.Advance(51, func(int64, Value) { n++ })
	if n != 1 {
		t.Fatalf("%d fired after Reset, want 1", n)
	}
}

// TestNoAllocation: in a steady state neither Add nor Cancel nor Take allocates.
func TestNoAllocation(t *testing.T) {
	w := New(0)
	for i := range int64(5_000) {
		w.Add(i, Value{})
	}
	buf := make([]Expired, 64)
	now := int64(0)
	if n := testing.AllocsPerRun(1000, func() {
		w.Cancel(w.Add(now+999, Value{}))
		w.Add(now+5_000, Value{})
		now++
		w.Take(now, buf)
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
