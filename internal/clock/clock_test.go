package clock

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

const epoch = int64(1_750_000_000_000_000) // the store's time when a rig starts

// rig is a machine whose clocks the test turns, and a store whose clock may differ.
type rig struct {
	mono    time.Duration // stands still while suspended
	asleep  time.Duration // time spent suspended
	wallSet time.Duration // how far someone has set the host's wall clock
	stepped time.Duration // steps of the store's clock
	c       *Clock
}

func newRig(withBoot bool) *rig {
	r := &rig{}
	var boot func() (time.Duration, bool)
	if withBoot {
		boot = func() (time.Duration, bool) { return time.Hour + r.mono + r.asleep, true }
	}
	r.c = newClock(r.host, boot)
	return r
}

func (r *rig) host() host {
	return host{wall: epoch + (r.mono + r.asleep + r.wallSet).Microseconds(), mono: r.mono}
}

// store is the store's true time.
func (r *rig) store() int64 { return epoch + (r.mono + r.asleep + r.stepped).Microseconds() }

// sample asks the store over a link with the given delays.
func (r *rig) sample(there, back time.Duration) Event {
	sent := r.c.Boot()
	r.mono += there
	answer := r.store()
	r.mono += back
	return r.c.Sample(sent, answer)
}

func (r *rig) off() time.Duration { return micros(r.c.Now() - r.store()) }

func (r *rig) wantEvent(t *testing.T, got Event, kind Kind, size time.Duration) {
	t.Helper()
	if d := got.Size - size; got.Kind != kind || d > 5*time.Millisecond || d < -5*time.Millisecond {
		t.Fatalf("event %v %v, want %v %v", got.Kind, got.Size, kind, size)
	}
}

func (r *rig) wantOff(t *testing.T, want, tolerance time.Duration) {
	t.Helper()
	if d := r.off() - want; d > tolerance || d < -tolerance {
		t.Fatalf("the clock is off by %v, want %v", r.off(), want)
	}
}

func TestShowsHostUntilFirstSample(t *testing.T) {
	r := newRig(true)
	r.mono += 5 * time.Second
	r.wantOff(t, 0, 0)
	r.stepped = -20 * time.Second // as the store differs from the host by so much
	r.wantEvent(t, r.sample(2*time.Millisecond, 2*time.Millisecond), First, -20*time.Second)
	r.wantOff(t, 0, time.Microsecond)
}

// TestErrorIsHalfTheRoundTrip: a one-sided link misleads by half the round trip and no more.
func TestErrorIsHalfTheRoundTrip(t *testing.T) {
	r := newRig(true)
	r.sample(0, 80*time.Millisecond)
	r.wantOff(t, -40*time.Millisecond, time.Millisecond)
	r.sample(time.Millisecond, time.Millisecond)
	r.mono += 10 * time.Second
	r.wantOff(t, 0, time.Millisecond)
}

// TestFollowsTheBestSample: with any link delays the clock ends within the error of the most
// exact of the latest samples, plus the drift it allows for.
func TestFollowsTheBestSample(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(rapid.Bool().Draw(rt, "boot"))
		delay := rapid.Int64Range(0, 200_000)
		best := time.Duration(math.MaxInt64)
		n := rapid.IntRange(1, 30).Draw(rt, "samples")
		for i := range n {
			there, back := micros(delay.Draw(rt, "there")), micros(delay.Draw(rt, "back"))
			if k := r.sample(there, back).Kind; k != Steady && k != First {
				rt.Fatalf("sample %d of a steady store: %v", i, k)
			}
			if i >= n-8 {
				best = min(best, (there+back)/2)
			}
			r.mono += 3 * time.Second
		}
		r.mono += 5 * time.Second
		limit := best + 3*time.Millisecond
		if off := r.off(); off > limit || off < -limit {
			rt.Fatalf("off by %v, the best sample was exact to %v", off, best)
		}
	})
}

// TestDrift: an exact sample that has become old yields to newer ones that are less exact, so the
// clock follows a crystal that runs wrong.
func TestDrift(t *testing.T) {
	r := newRig(true)
	r.sample(0, 0)
	for range 6 {
		r.mono += time.Minute
		r.stepped += 3 * time.Millisecond // 50 us a second
		r.sample(2*time.Millisecond, 2*time.Millisecond)
	}
	r.mono += time.Second
	r.wantOff(t, 0, 4*time.Millisecond)
}

// TestSlew: a small difference goes away at 50 ms a second, without going back.
func TestSlew(t *testing.T) {
	for _, d := range []time.Duration{200 * time.Millisecond, -200 * time.Millisecond} {
		r := newRig(true)
		r.sample(0, 0)
		r.stepped = d
		for range 8 { // until the samples of before have left the window
			r.wantEvent(t, r.sample(0, 0), Steady, 0)
		}
		r.wantOff(t, -d, time.Millisecond)
		last := r.c.Now()
		for range 1000 {
			r.mono += time.Millisecond
			now := r.c.Now()
			if step := now - last; step < 940 || step > 1060 {
				t.Fatalf("a millisecond took %d us", step)
			}
			last = now
		}
		r.wantOff(t, -d*3/4, time.Millisecond)
		r.mono += 3 * time.Second
		r.wantOff(t, 0, time.Millisecond)
	}
}

// TestStepNeedsThreeAgreeingSamples, forward and back.
func TestStepNeedsThreeAgreeingSamples(t *testing.T) {
	for _, d := range []time.Duration{time.Hour, -time.Hour, 2 * time.Second} {
		r := newRig(true)
		for range 10 {
			r.sample(time.Millisecond, time.Millisecond)
			r.mono += 3 * time.Second
		}
		r.stepped = d
		r.wantEvent(t, r.sample(time.Millisecond, time.Millisecond), Suspect, d)
		r.wantEvent(t, r.sample(time.Millisecond, time.Millisecond), Suspect, d)
		r.wantOff(t, -d, time.Millisecond)
		r.wantEvent(t, r.sample(time.Millisecond, time.Millisecond), Step, d)
		r.wantOff(t, 0, time.Millisecond)
		r.wantEvent(t, r.sample(time.Millisecond, time.Millisecond), Steady, 0)
	}
}

// TestOutliersDoNotStep: suspects that stand alone, that are followed by a good sample, or that
// disagree with each other move nothing.
func TestOutliersDoNotStep(t *testing.T) {
	r := newRig(true)
	r.sample(0, 0)
	for i, steps := range [][]time.Duration{
		{time.Minute, 0},
		{time.Minute, time.Minute, 0},
		{time.Minute, -time.Minute, time.Hour, -time.Hour, time.Minute, time.Second, 0},
		{-time.Hour, -time.Hour, 0, -time.Hour, -time.Hour, 0},
	} {
		for _, d := range steps {
			r.stepped = d
			ev := r.sample(time.Millisecond, time.Millisecond)
			if want := map[bool]Kind{true: Steady, false: Suspect}[d == 0]; ev.Kind != want {
				t.Fatalf("case %d, sample off by %v: %v", i, d, ev.Kind)
			}
			r.mono += time.Second
		}
		r.wantOff(t, 0, time.Millisecond)
	}
	for _, bad := range []int64{math.MinInt64, -1, math.MaxInt64, maxMicros + 1} {
		for range 4 {
			if ev := r.c.Sample(r.c.Boot(), bad); ev.Kind != Suspect {
				t.Fatalf("a store that shows %d: %v", bad, ev.Kind)
			}
		}
	}
	r.wantOff(t, 0, time.Millisecond)
}

// TestPausedProcess: an answer that lay for 20 s before it was read is no step, and does not
// disturb the clock, because its own round trip shows what it is worth.
func TestPausedProcess(t *testing.T) {
	r := newRig(true)
	r.sample(time.Millisecond, time.Millisecond)
	for range 6 {
		r.wantEvent(t, r.sample(time.Millisecond, 20*time.Second), Steady, 0)
		r.mono += 10 * time.Second
		r.wantOff(t, 0, 20*time.Millisecond)
	}
}

// T02: the host's wall clock goes back an hour. Elapsed time and the store's time go on; where
// the host's clock is the store's clock, it is a step like that of any server.
func TestT02BackwardJumpOfTheHost(t *testing.T) {
	r := newRig(true)
	r.sample(time.Millisecond, time.Millisecond)
	deadline := r.c.Boot() + 5*time.Second
	r.wallSet = -time.Hour
	for range 10 {
		r.mono += 500 * time.Millisecond
		r.wantEvent(t, r.sample(time.Millisecond, time.Millisecond), Steady, 0)
		r.wantOff(t, 0, time.Millisecond)
	}
	if left := deadline - r.c.Boot(); left > 0 {
		t.Fatalf("a wait of 5 s has %v left after 5 s", left)
	}
	for i, kind := range []Kind{Suspect, Suspect, Step, Steady} {
		if ev := r.c.Sample(r.c.Boot(), r.host().wall); ev.Kind != kind {
			t.Fatalf("sample %d of the host's clock: %v, want %v", i, ev.Kind, kind)
		}
	}
}

// T13: eight hours of suspend. With CLOCK_BOOTTIME the clock is right at once, beliefs have
// ended, and the pause is told once. Without it, it is a step.
func TestT13Suspend(t *testing.T) {
	const night = 8 * time.Hour
	r := newRig(true)
	r.sample(time.Millisecond, time.Millisecond)
	r.mono += time.Minute
	r.sample(time.Millisecond, time.Millisecond)
	deadline := r.c.Boot() + 10*time.Second
	r.asleep += night
	r.wantOff(t, 0, time.Millisecond)
	if r.c.Boot() < deadline {
		t.Fatal("a lease outlived a suspend of 8 h")
	}
	r.stepped = time.Hour // one bad sample in between does not swallow the news
	r.wantEvent(t, r.sample(time.Millisecond, time.Millisecond), Suspect, time.Hour)
	r.stepped = 0
	r.wantEvent(t, r.sample(time.Millisecond, time.Millisecond), Resumed, night)
	r.wantEvent(t, r.sample(time.Millisecond, time.Millisecond), Steady, 0)

	r.wallSet = -3 * time.Hour // a suspend during which the wall clock seems to stand still
	r.mono += time.Minute
	r.wantOff(t, 0, time.Millisecond)
	r.asleep, r.wallSet = r.asleep+time.Hour, r.wallSet-time.Hour
	r.mono += time.Second
	r.wantOff(t, 0, time.Millisecond)

	r = newRig(false)
	r.sample(time.Millisecond, time.Millisecond)
	r.asleep += night
	r.wantEvent(t, r.sample(time.Millisecond, time.Millisecond), Suspect, night)
	r.wantEvent(t, r.sample(time.Millisecond, time.Millisecond), Suspect, night)
	r.wantEvent(t, r.sample(time.Millisecond, time.Millisecond), Step, night)
	r.wantOff(t, 0, time.Millisecond)
}

// TestBrokenBootClock: a boot clock that stops answering is replaced by the monotonic one.
func TestBrokenBootClock(t *testing.T) {
	mono, ok := time.Duration(0), false
	c := newClock(func() host { return host{wall: epoch + mono.Microseconds(), mono: mono} },
		func() (time.Duration, bool) { return 0, ok })
	mono = time.Minute
	if c.Boot() != time.Minute || c.Now() != epoch+60_000_000 {
		t.Fatalf("Boot %v, Now %d", c.Boot(), c.Now())
	}
}

// TestConcurrentReads: readers never see the time go back while samples slew the clock.
func TestConcurrentReads(t *testing.T) {
	c := New(nil)
	var readers sync.WaitGroup
	stop := make(chan struct{})
	c.Sample(c.Boot(), time.Now().UnixMicro())
	for range 4 {
		readers.Go(func() {
			last := c.Now()
			for {
				select {
				case <-stop:
					return
				default:
				}
				// A reader that was stopped between the model and the clock may be a little
				// behind one that was not; a step would be far more.
				now := c.Now()
				if now < last-100_000 {
					t.Errorf("the time went back by %d us", last-now)
					return
				}
				last = now
			}
		})
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		c.Sample(c.Boot(), time.Now().UnixMicro()+r.Int64N(200_000)-100_000)
	}
	close(stop)
	readers.Wait()
}

// TestMachineClocks: the clock of the machine is near the host's time and elapsed time runs on.
func TestMachineClocks(t *testing.T) {
	c := New(nil)
	b, s := c.Boot(), time.Since(time.UnixMicro(c.Now()))
	if s > time.Second || s < -time.Second {
		t.Fatalf("a new clock is %v off the host", s)
	}
	for c.Boot() == b { // elapsed time must not stand still
	}
	if c.Boot() < b {
		t.Fatal("elapsed time went back")
	}
}

// TestOwnNow: a clock of one's own replaces those of the machine, so fake time is exact.
func TestOwnNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(func() time.Time { return time.Now().Add(-time.Minute) })
		c.Sample(c.Boot(), epoch)
		time.Sleep(time.Hour)
		if c.Boot() != time.Hour || c.Now() != epoch+3_600_000_000 {
			t.Fatalf("after an hour: Boot %v, Now %d", c.Boot(), c.Now())
		}
	})
}

func TestKindNames(t *testing.T) {
	want := []string{"steady", "first", "suspect", "step", "resumed", "unknown"}
	for k, name := range want {
		if got := Kind(k).String(); got != name {
			t.Errorf("kind %d is %q, want %q", k, got, name)
		}
	}
}

func BenchmarkNow(b *testing.B) {
	c := New(nil)
	b.ReportAllocs()
	for b.Loop() {
		c.Now()
	}
}

// TestAhead: it is the distance to the host's clock as it is now, also after somebody has set that.
func TestAhead(t *testing.T) {
	r := newRig(true)
	if d := r.c.Ahead(); d != 0 {
		t.Errorf("%s ahead before the first sample", d)
	}
	r.stepped = 3 * time.Second
	r.sample(0, 0)
	if d := r.c.Ahead(); d != 3*time.Second {
		t.Errorf("%s ahead, want 3s", d)
	}
	r.wallSet = time.Hour
	if d := r.c.Ahead(); d != 3*time.Second-time.Hour {
		t.Errorf("%s ahead after the host's clock was set, want %s", d, 3*time.Second-time.Hour)
	}
}
