package wheel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

func TestTimerSize(t *testing.T) {
	if n := unsafe.Sizeof(timer{}); n != 48 {
		t.Fatalf("a timer is %d bytes, want 48", n)
	}
}

// TestAgainstModel runs random operations of every size on a wheel and on a sorted slice.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		edge := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}
		span := rapid.OneOf(
			rapid.Int64Range(-3, 3),
			rapid.Int64Range(-300, 300),
			rapid.Int64Range(-70_000, 70_000),
			rapid.Int64Range(0, 5_000_000),
			rapid.Int64(),
		)
		start := rapid.OneOf(rapid.SampledFrom(edge), rapid.Int64()).Draw(rt, "start")
		p := newPair(start)
		tick := func(rt *rapid.T) int64 {
			if rapid.IntRange(0, 19).Draw(rt, "kind") == 0 {
				return rapid.SampledFrom(edge).Draw(rt, "edge")
			}
			return saturating(p.m.now, span.Draw(rt, "span"))
		}
		rt.Repeat(map[string]func(*rapid.T){
			"add": func(rt *rapid.T) { p.add(tick(rt)) },
			"cancel": func(rt *rapid.T) {
				if err := p.cancel(rapid.IntRange(0, 1<<20).Draw(rt, "which")); err != nil {
					rt.Fatal(err)
				}
			},
			"advance": func(rt *rapid.T) {
				if err := p.advance(tick(rt), rapid.IntRange(0, 3).Draw(rt, "batch")); err != nil {
					rt.Fatal(err)
				}
			},
			"": func(rt *rapid.T) {
				if err := p.check(); err != nil {
					rt.Fatal(err)
				}
			},
		})
	})
}

// TestManyAgainstModel uses enough timers for several blocks, bursts and quiet times.
func TestManyAgainstModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := newPair(1 << 40)
	for round := range 24 {
		for range 50 + round%4*700 {
			p.add(p.m.now + r.Int64N(1<<r.Int64N(22)) - 20)
		}
		for range r.IntN(500) {
			must(t, p.cancel(r.IntN(len(p.h))))
		}
		must(t, p.advance(p.m.now+r.Int64N(1<<r.Int64N(20)), round%3*7))
	}
	must(t, p.advance(math.MaxInt64, 0))
	if p.w.Len() != 0 {
		t.Fatalf("%d timers left", p.w.Len())
	}
}

// T04: a timer as far as it goes must not fire at once, and never overflows.
func TestT04FarTimes(t *testing.T) {
	const now = 1_750_000_000_000
	w := New(now)
	year9999 := int64(253402300799_000)
	year2262 := int64(9214646400_000)
	for i, due := range []int64{year9999, math.MaxInt64, year2262, math.MaxInt64} {
		w.Add(due, value(int64(i)))
	}
	fired := 0
	for tick := int64(now); tick < now+400*86_400_000; tick += 3_333_333 {
		w.Advance(tick, func(int64, Value) { fired++ })
	}
	if fired != 0 || w.Len() != 4 {
		t.Fatalf("%d fired, %d left, want 0 and 4", fired, w.Len())
	}
	var order []int64
	w.Advance(math.MaxInt64, func(_ int64, v Value) { order = append(order, v.Version) })
	if !slices.Equal(order, []int64{2, 0, 1, 3}) {
		t.Fatalf("order %v, want 2 0 1 3", order)
	}
}

func TestPastAndNegativeTimes(t *testing.T) {
	w := New(-5)
	w.Add(math.MinInt64, value(1))
	w.Add(-6, value(2))
	w.Add(-4, value(3))
	w.Add(0, value(4))
	if next, ok := w.Next(); !ok || next != -5 {
		t.Fatalf("Next = %d %v, want -5", next, ok)
	}
	for _, step := range []struct {
		to   int64
		want []int64
	}{{-5, []int64{1, 2}}, {-4, []int64{3}}, {-1, nil}, {0, []int64{4}}} {
		var got []int64
		w.Advance(step.to, func(_ int64, v Value) { got = append(got, v.Version) })
		if !slices.Equal(got, step.want) {
			t.Fatalf("Advance(%d) gave %v, want %v", step.to, got, step.want)
		}
	}
}

// T05: delays around the capacity of every level, and random ones, driven tick by tick through
// Next as a driver does: never early, and here never late either.
func TestT05NeverEarly(t *testing.T) {
	var delays []int64
	for l := 1; l < 8; l++ {
		c := int64(1) << (8 * l)
		delays = append(delays, c-1, c, c+1, 2*c+1, 100*c, 100*c-1, c/2)
	}
	r := rand.New(rand.NewPCG(5, 5))
	for range 100_000 {
		delays = append(delays, r.Int64N(1<<(1+r.Int64N(40))))
	}
	edges := len(delays) - 100_000
	for i, start := range []int64{1_750_000_000_123, 0, 255, 1<<40 - 1} {
		if i == 1 {
			delays = delays[:edges+1000]
		}
		w := New(start)
		for _, d := range delays {
			w.Add(start+d, Value{Version: d})
		}
		fired, looks := 0, 0
		for now := start; w.Len() > 0; looks++ {
			next, ok := w.Next()
			if !ok {
				t.Fatal("Next is false with timers pending")
			}
			now = next
			w.Advance(now, func(due int64, v Value) {
				fired++
				if due != start+v.Version || due != now {
					t.Fatalf("delay %d came at +%d", v.Version, now-start)
				}
			})
		}
		if fired != len(delays) {
			t.Fatalf("%d fired, want %d", fired, len(delays))
		}
		if looks > 8*len(delays) {
			t.Fatalf("%d looks for %d timers: more than one a level", looks, len(delays))
		}
	}
}

// T14: a million reschedules leave one timer, no growth, and one fire.
func TestT14Reschedule(t *testing.T) {
	w := New(0)
	h := w.Add(1_000_000, Value{Version: 1})
	small := w.Bytes()
	for i := int64(2); i <= 1_000_000; i++ {
		if !w.Cancel(h) {
			t.Fatal("the live timer could not be cancelled")
		}
		h = w.Add(1_000_000+i, Value{Version: i})
	}
	if w.Len() != 1 || w.Bytes() != small {
		t.Fatalf("%d timers in %d bytes, want 1 in %d", w.Len(), w.Bytes(), small)
	}
	var got []int64
	w.Advance(math.MaxInt64, func(_ int64, v Value) { got = append(got, v.Version) })
	if !slices.Equal(got, []int64{1_000_000}) {
		t.Fatalf("fired %v", got)
	}
}

// T16: a timer that arms itself again keeps its period for ever, in steps and in one Advance.
func TestT16NoDrift(t *testing.T) {
	const period, times = 10_000, 100_000
	for _, step := range []int64{period, period * times, 777} {
		w := New(123)
		n := int64(0)
		arm := func(due int64, v Value) {
			n++
			if due != 123+n*period {
				t.Fatalf("fire %d at %d, want %d", n, due, 123+n*period)
			}
			w.Add(due+period, v)
		}
		w.Add(123+period, Value{})
		for now := int64(123); now < 123+period*times; {
			now = min(now+step, 123+period*times)
			w.Advance(now, arm)
		}
		if n != times {
			t.Fatalf("step %d: %d fires, want %d", step, n, times)
		}
	}
}

// TestAddFromCallback: what f adds already due waits, so Advance ends; what falls due before to
// comes in its turn; what f cancels does not come.
func TestAddFromCallback(t *testing.T) {
	w := New(0)
	w.Add(-1, Value{Version: 1}) // late
	w.Add(10, Value{Version: 2})
	third := w.Add(10, Value{Version: 3})
	fourth := w.Add(20, Value{Version: 4})
	var got []int64
	f := func(due int64, v Value) {
		got = append(got, v.Version)
		switch v.Version {
		case 1:
			w.Add(-7, Value{Version: 10})
			w.Add(15, Value{Version: 11})
		case 2:
			w.Add(10, Value{Version: 12})
			if !w.Cancel(third) || !w.Cancel(fourth) || w.Cancel(third) {
				t.Error("cancel inside the callback")
			}
		}
	}
	w.Advance(30, f)
	if !slices.Equal(got, []int64{1, 2, 11}) {
		t.Fatalf("got %v, want 1 2 11", got)
	}
	got = nil
	w.Advance(30, f)
	if !slices.Equal(got, []int64{10, 12}) || w.Len() != 0 {
		t.Fatalf("got %v and %d left, want 10 12 and 0", got, w.Len())
	}
}

// TestTurnBack: an Advance to an earlier tick loses nothing and lets nothing out early.
func TestTurnBack(t *testing.T) {
	w := New(1_000_000)
	for _, d := range []int64{1, 100, 300, 70_000, 20_000_000} {
		w.Add(1_000_000+d, Value{Version: d})
	}
	none := func(due int64, _ Value) { t.Fatalf("timer of %d came early", due) }
	w.Advance(500_000, none)
	w.Add(600_000, Value{Version: -1}) // in the past of the tick the wheel came from
	w.Advance(499_000, none)
	if next, _ := w.Next(); next > 600_000 {
		t.Fatalf("Next = %d, beyond the earliest timer", next)
	}
	w.Advance(599_999, none)
	var got []int64
	w.Advance(21_000_000, func(_ int64, v Value) { got = append(got, v.Version) })
	if !slices.Equal(got, []int64{-1, 1, 100, 300, 70_000, 20_000_000}) {
		t.Fatalf("got %v", got)
	}
}

func TestTakeStopsAtFullBuffer(t *testing.T) {
	w := New(0)
	for i := range int64(10) {
		w.Add(5, Value{Version: i})
	}
	buf := make([]Expired, 4)
	if n := w.Take(100, buf); n != 4 || w.Len() != 6 {
		t.Fatalf("took %d, %d left", n, w.Len())
	}
	if next, ok := w.Next(); !ok || next != 5 {
		t.Fatalf("Next = %d %v, want 5: the rest is due", next, ok)
	}
	// The clock goes back between two calls: the rest must wait for its tick again.
	if n := w.Take(4, buf); n != 0 {
		t.Fatalf("%d timers came before their tick", n)
	}
	if n := w.Take(100, buf); n != 4 || buf[0].Value.Version != 4 {
		t.Fatalf("took %d from number %d, want 4 from 4", n, buf[0].Value.Version)
	}
	if n := w.Take(100, buf); n != 2 || w.Now() != 100 {
		t.Fatalf("took %d at %d, want 2 at 100", n, w.Now())
	}
}

func TestZeroValues(t *testing.T) {
	var w Wheel
	if w.Cancel(0) || w.Len() != 0 {
		t.Fatal("the zero handle names a timer")
	}
	if _, ok := w.Next(); ok {
		t.Fatal("an empty wheel has a next tick")
	}
	h := w.Add(3, value(1))
	n := 0
	w.Advance(3, func(int64, Value) { n++ })
	if h == 0 || n != 1 {
		t.Fatalf("handle %d, %d fired", h, n)
	}
}
