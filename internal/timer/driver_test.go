package timer

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// bench is a driver that runs in a bubble, with a clock that can be set.
type bench struct {
	t     *testing.T
	d     *Driver
	shift atomic.Int64 // microseconds added to the bubble's clock
	stop  func()

	mu  sync.Mutex
	got []Expired
	at  []int64 // the clock at each hand-over
}

func (b *bench) now() int64 { return time.Now().UnixMicro() + b.shift.Load() }

func (b *bench) deliver(batch []Expired) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range batch {
		b.got = append(b.got, e)
		b.at = append(b.at, b.now())
	}
}

func start(t *testing.T, cfg Config) *bench {
	t.Helper()
	b := &bench{t: t}
	cfg.Now = b.now
	if cfg.Deliver == nil {
		cfg.Deliver = b.deliver
	}
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.d = d
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	b.stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v", err)
		}
	}
	synctest.Wait()
	return b
}

// pass lets time go by and waits until the driver sleeps again.
func (b *bench) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (b *bench) fired() []Expired {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.got)
}

func (b *bench) times() []int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.at)
}

func (b *bench) versions() []int64 {
	var v []int64
	for _, e := range b.fired() {
		v = append(v, e.Value.Version)
	}
	return v
}

// TestNeverEarlyAndAtMostOneTickLate adds timers at odd instants and at random times.
func TestNeverEarlyAndAtMostOneTickLate(t *testing.T) {
	for _, tick := range []time.Duration{time.Millisecond, 7 * time.Millisecond, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, Config{Tick: tick})
			defer b.stop()
			r := rand.New(rand.NewPCG(1, 9))
			due := map[int64]int64{}
			for i := range int64(3000) {
				due[i] = max(b.now()+r.Int64N(300_000_000)-1000, b.now())
				b.d.Add(due[i], Value{Version: i})
				if i%100 == 0 {
					b.pass(time.Duration(r.IntN(1000)) * time.Millisecond)
				}
			}
			b.pass(400 * time.Second)
			if len(b.fired()) != 3000 || b.d.Len() != 0 {
				t.Fatalf("%d fired, %d left", len(b.fired()), b.d.Len())
			}
			at := b.times()
			for i, e := range b.fired() {
				late := at[i] - due[e.Value.Version]
				if late < 0 || late > tick.Microseconds() {
					t.Fatalf("tick %v: timer %d came %d us after its time", tick, i, late)
				}
				if e.Due < due[e.Value.Version] || e.Due > at[i] {
					t.Fatalf("Due = %d, timer of %d came at %d", e.Due, due[e.Value.Version], at[i])
				}
			}
		})
	}
}

// TestEarlierTimerWakes: a timer added while the driver sleeps for a later one is not late.
func TestEarlierTimerWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, Config{MaxSleep: time.Hour})
		defer b.stop()
		begin := b.now()
		b.d.Add(begin+200_000, Value{Version: 1})
		synctest.Wait()
		b.d.Add(begin+10_000, Value{Version: 2})
		b.d.Add(begin-5_000_000, Value{Version: 3}) // already due
		synctest.Wait()
		if !slices.Equal(b.versions(), []int64{3}) {
			t.Fatalf("fired %v, want the due one at once", b.versions())
		}
		b.pass(time.Second)
		if !slices.Equal(b.versions(), []int64{3, 2, 1}) ||
			b.times()[1] != begin+10_000 || b.times()[2] != begin+200_000 {
			t.Fatalf("fired %v at %v, from %d", b.versions(), b.times(), begin)
		}
	})
}

// TestClockJumps: forward lets out at once what is due, back loses nothing and is never early.
func TestClockJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, Config{})
		defer b.stop()
		begin := b.now()
		for i := range int64(10) {
			b.d.Add(begin+i*3_600_000_000+1_800_000_000, Value{Version: i}) // each hour at :30
		}
		b.shift.Store(3 * 3_600_000_000)
		b.d.Wake()
		synctest.Wait()
		if !slices.Equal(b.versions(), []int64{0, 1, 2}) {
			t.Fatalf("after a jump of 3 h: fired %v", b.versions())
		}
		b.shift.Store(0)
		b.d.Wake()
		b.d.Add(begin+60_000_000, Value{Version: 20}) // before the time the driver came from
		b.pass(59 * time.Second)
		if len(b.fired()) != 3 {
			t.Fatalf("after the jump back: fired %v early", b.versions()[3:])
		}
		b.pass(time.Second)
		if !slices.Equal(b.versions(), []int64{0, 1, 2, 20}) {
			t.Fatalf("fired %v, want the new one in time", b.versions())
		}
		b.pass(10 * time.Hour)
		if !slices.Equal(b.versions(), []int64{0, 1, 2, 20, 3, 4, 5, 6, 7, 8, 9}) {
			t.Fatalf("fired %v", b.versions())
		}
		for i, e := range b.fired() {
			if b.times()[i] < e.Due {
				t.Fatalf("timer %d came at %d, due %d", e.Value.Version, b.times()[i], e.Due)
			}
		}
	})
}

// TestUnknownJump: a jump nobody told of is seen within MaxSleep.
func TestUnknownJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, Config{MaxSleep: 2 * time.Second})
		defer b.stop()
		b.d.Add(b.now()+3_600_000_000, Value{Version: 1})
		synctest.Wait()
		b.shift.Store(7_200_000_000)
		b.pass(2 * time.Second)
		if len(b.fired()) != 1 {
			t.Fatalf("%d fired within MaxSleep of the jump", len(b.fired()))
		}
	})
}

// TestIdleDriverSleeps counts looks at the clock: an empty driver never looks, one with a far
// timer looks once each MaxSleep.
func TestIdleDriverSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int64
		d, err := New(Config{
			Now:     func() int64 { looks.Add(1); return time.Now().UnixMicro() },
			Deliver: func([]Expired) {},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx) }()
		synctest.Wait()
		before := looks.Load()
		time.Sleep(time.Hour)
		synctest.Wait()
		if looks.Load() != before {
			t.Fatalf("an empty driver looked %d times in an hour", looks.Load()-before)
		}
		d.Add(math.MaxInt64, Value{})
		synctest.Wait()
		before = looks.Load()
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := looks.Load() - before; n > 2*61 {
			t.Fatalf("%d looks in a minute with one far timer", n)
		}
		if d.Len() != 1 {
			t.Fatal("the timer at the end of time has gone")
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

// TestStalledConsumer: the lateness of every hand-over is the same whether the consumer of the
// queue works or hangs for ten seconds.
func TestStalledConsumer(t *testing.T) {
	lateness := func(stall bool) []int64 {
		var list []int64
		synctest.Test(t, func(t *testing.T) {
			q := newQueue()
			var b *bench
			b = start(t, Config{Deliver: func(batch []Expired) {
				for _, e := range batch {
					list = append(list, b.now()-e.Due)
				}
				q.Put(batch)
			}})
			r := rand.New(rand.NewPCG(4, 4))
			for i := range int64(5000) {
				b.d.Add(b.now()+r.Int64N(20_000_000), Value{Version: i})
			}
			ctx, cancel := context.WithCancel(t.Context())
			consumed := make(chan int)
			go func() {
				n, buf := 0, []Expired(nil)
				for {
					select {
					case <-q.Ready():
						if stall && n == 0 {
							time.Sleep(10 * time.Second)
						}
						buf = q.TakeAll(buf)
						n += len(buf)
					case <-ctx.Done():
						consumed <- n
						return
					}
				}
			}()
			b.pass(5 * time.Second)
			if waits := q.Len(); stall != (waits > 1000) {
				t.Errorf("stall %v: %d timers wait in the queue", stall, waits)
			}
			b.pass(25 * time.Second)
			b.stop()
			cancel()
			if n := <-consumed; n != 5000 || q.Len() != 0 {
				t.Errorf("%d timers came through, %d wait", n, q.Len())
			}
		})
		return list
	}
	free, stalled := lateness(false), lateness(true)
	if !slices.Equal(free, stalled) {
		t.Fatal("the lateness changed with the consumer")
	}
	if slices.Max(free) > 1000 {
		t.Fatalf("a timer was %d us late", slices.Max(free))
	}
}

// TestBatches: many timers of one instant come in order, in slices of at most Batch.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		var got []int64
		b := start(t, Config{Batch: 100, Deliver: func(batch []Expired) {
			sizes = append(sizes, len(batch))
			for _, e := range batch {
				got = append(got, e.Value.Version)
			}
		}})
		defer b.stop()
		due := b.now() + 1_000_000
		for i := range int64(250) {
			b.d.Add(due, Value{Version: i})
		}
		b.pass(time.Second)
		if !slices.Equal(sizes, []int{100, 100, 50}) || !slices.IsSorted(got) {
			t.Fatalf("batches %v, sorted %v", sizes, slices.IsSorted(got))
		}
	})
}

// TestRearmInDeliver: the function handed to may add timers, also ones that are already due.
func TestRearmInDeliver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *bench
		var fires atomic.Int64
		b = start(t, Config{Deliver: func(batch []Expired) {
			for _, e := range batch {
				if fires.Add(1) < 1000 {
					b.d.Add(e.Due+10_000_000, e.Value)
				}
			}
		}})
		defer b.stop()
		begin := b.now()
		b.d.Add(begin, Value{})
		b.pass(9989 * time.Second)
		if n := fires.Load(); n != 999 {
			t.Fatalf("%d fires in 9989 s, want 999", n)
		}
		b.pass(time.Second)
		if n := fires.Load(); n != 1000 || b.d.Len() != 0 {
			t.Fatalf("%d fires, %d left", n, b.d.Len())
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, Config{})
		h := b.d.Add(b.now()+1_000_000, Value{Version: 1})
		b.d.Add(b.now()+2_000_000, Value{Version: 2})
		if !b.d.Cancel(h) || b.d.Cancel(h) {
			t.Fatal("a pending timer is cancelled exactly once")
		}
		b.pass(time.Minute)
		if !slices.Equal(b.versions(), []int64{2}) {
			t.Fatalf("fired %v, want only 2", b.versions())
		}
		b.stop()
		b.d.Add(b.now(), Value{Version: 4}) // nobody runs: it waits
		synctest.Wait()
		if b.d.Len() != 1 {
			t.Fatal("a timer added after Run has gone")
		}
	})
}

// TestManyCallers adds and cancels from many goroutines while the driver works.
func TestManyCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, Config{})
		defer b.stop()
		canceled := make(chan int, 8)
		for g := range 8 {
			go func() {
				r := rand.New(rand.NewPCG(uint64(g), 1))
				n := 0
				for i := range 1000 {
					h := b.d.Add(b.now()+r.Int64N(3_000_000), Value{})
					if i%3 == 0 && b.d.Cancel(h) {
						n++
					}
					if i%50 == 0 {
						time.Sleep(time.Millisecond)
					}
				}
				canceled <- n
			}()
		}
		n := 0
		for range 8 {
			n += <-canceled
		}
		b.pass(4 * time.Second)
		if len(b.fired())+n != 8000 || b.d.Len() != 0 {
			t.Fatalf("%d fired + %d cancelled, %d left, want 8000 and 0", len(b.fired()), n, b.d.Len())
		}
	})
}

func TestConfigErrorsNameTheField(t *testing.T) {
	now, deliver := func() int64 { return 0 }, func([]Expired) {}
	for field, cfg := range map[string]Config{
		"Now":      {Deliver: deliver},
		"Deliver":  {Now: now},
		"Tick":     {Now: now, Deliver: deliver, Tick: time.Minute},
		"Batch":    {Now: now, Deliver: deliver, Batch: -1},
		"MaxSleep": {Now: now, Deliver: deliver, MaxSleep: -1},
	} {
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: error %v", field, err)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct{ us, floor, ceil int64 }{
		{0, 0, 0}, {1, 0, 1}, {999, 0, 1}, {1000, 1, 1}, {-1, -1, 0}, {-1000, -1, -1},
		{-1001, -2, -1},
		{math.MaxInt64, math.MaxInt64 / 1000, math.MaxInt64/1000 + 1},
		{math.MinInt64, math.MinInt64/1000 - 1, math.MinInt64 / 1000},
	} {
		if f, u := floorDiv(c.us, 1000), ceilDiv(c.us, 1000); f != c.floor || u != c.ceil {
			t.Errorf("%d: floor %d, ceil %d, want %d and %d", c.us, f, u, c.floor, c.ceil)
		}
	}
	if mul(math.MaxInt64/1000+1, 1000) != math.MaxInt64 || mul(math.MinInt64, 1000) != math.MinInt64 {
		t.Error("mul overflows")
	}
}
