package timer

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/ax-sched/ax/internal/wheel"
)

// Value is what a timer carries.
type Value = wheel.Value

// Handle names a pending timer for Cancel. The zero Handle names none.
type Handle = wheel.Handle

// Expired is a timer that has fallen due.
type Expired struct {
	Due   int64 // microseconds UTC, rounded up to the tick
	Value Value
}

// Config of a Driver.
type Config struct {
	// Now estimates the store's time in microseconds UTC. Required. It may jump; call Wake after
	// a jump that is known, others are seen within MaxSleep.
	Now func() int64

	// Deliver takes a batch of expired timers in the order of their due times. Required. It must
	// not block, and must copy what it keeps: the slice is used again. It is called by the
	// goroutine in Run only and may call every method but Run.
	Deliver func([]Expired)

	// Tick is the resolution, 1 ms to 1 s; 0 means 1 ms.
	Tick time.Duration

	// Batch is the largest number of timers handed over at a time, and bounds how long Add waits
	// for the lock; 0 means 256.
	Batch int

	// MaxSleep is how long the driver trusts a sleep while timers are pending, because the
	// runtime's timers stand still while a machine is suspended and know nothing of the steps of
	// the clock; 0 means 1 s.
	MaxSleep time.Duration
}

func (c Config) withDefaults() Config {
	if c.Tick == 0 {
		c.Tick = time.Millisecond
	}
	if c.Batch == 0 {
		c.Batch = 256
	}
	if c.MaxSleep == 0 {
		c.MaxSleep = time.Second
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Now == nil:
		return fmt.Errorf("timer: Now is nil; give the clock to drive by")
	case c.Deliver == nil:
		return fmt.Errorf("timer: Deliver is nil; give the function that takes expired timers")
	case c.Tick < time.Millisecond || c.Tick > time.Second || c.Tick%time.Microsecond != 0:
		return fmt.Errorf("timer: Tick is %v; use whole microseconds from 1ms to 1s", c.Tick)
	case c.Batch < 0:
		return fmt.Errorf("timer: Batch is %d; use a positive number", c.Batch)
	case c.MaxSleep < 0:
		return fmt.Errorf("timer: MaxSleep is %v; use a positive duration", c.MaxSleep)
	}
	return nil
}

// Driver holds timers and hands them over when they fall due. All methods are safe for
// concurrent use; Run is called once at a time.
type Driver struct {
	cfg  Config
	tick int64 // microseconds
	wake chan struct{}

	mu    sync.Mutex
	wheel *wheel.Wheel
	until int64 // the tick until which Run sleeps or is about to; an earlier timer wakes it

	// Only Run touches these.
	taken []wheel.Expired
	batch []Expired
}

// New returns a driver without timers. It starts nothing.
func New(cfg Config) (*Driver, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	d := &Driver{
		cfg:   cfg,
		tick:  cfg.Tick.Microseconds(),
		wake:  make(chan struct{}, 1),
		until: math.MaxInt64,
		taken: make([]wheel.Expired, cfg.Batch),
		batch: make([]Expired, cfg.Batch),
	}
	d.wheel = wheel.New(floorDiv(cfg.Now(), d.tick))
	return d, nil
}

// Add puts a timer in for an instant in microseconds UTC. One that is already due is handed over
// at once. Timers may be added before Run; they wait for it.
func (d *Driver) Add(due int64, v Value) Handle {
	t := ceilDiv(due, d.tick)
	d.mu.Lock()
	h := d.wheel.Add(t, v)
	earlier := t < d.until
	if earlier {
		d.until = t // the next ones need not wake it again
	}
	d.mu.Unlock()
	if earlier {
		d.Wake()
	}
	return h
}

// Cancel removes a timer and reports whether it was still pending. After false the timer has been
// handed over, or is just being handed over.
func (d *Driver) Cancel(h Handle) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wheel.Cancel(h)
}

// Len is the number of pending timers.
func (d *Driver) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wheel.Len()
}

// Bytes is the memory that the pending timers take.
func (d *Driver) Bytes() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wheel.Bytes()
}

// Wake lets Run look at the clock again, as after a step of it. It never blocks.
func (d *Driver) Wake() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Run hands over what falls due until ctx ends, then returns nil. Timers that are pending then
// stay; a later Run goes on with them.
func (d *Driver) Run(ctx context.Context) error {
	sleep := time.NewTimer(math.MaxInt64)
	defer sleep.Stop()
	for {
		if ctx.Err() != nil {
			return nil
		}
		wait, pending := d.runOnce()
		if wait > 0 || !pending {
			if pending {
				sleep.Reset(wait)
			} else {
				sleep.Stop()
			}
			select {
			case <-ctx.Done():
				return nil
			case <-d.wake:
			case <-sleep.C:
			}
		}
	}
}

// runOnce hands over one batch of what is due and says how long to sleep; false means that
// nothing is pending.
func (d *Driver) runOnce() (time.Duration, bool) {
	now := d.nowTick()
	d.mu.Lock()
	n := d.wheel.Take(now, d.taken)
	next, pending := d.wheel.Next()
	if !pending {
		next = math.MaxInt64
	}
	d.until = next
	d.mu.Unlock()
	if n > 0 {
		for i, e := range d.taken[:n] {
			d.batch[i] = Expired{Due: mul(e.Due, d.tick), Value: e.Value}
		}
		d.cfg.Deliver(d.batch[:n])
	}
	if !pending {
		return 0, false
	}
	return d.sleepFor(next), true
}

// sleepFor is the time until a tick begins, at most MaxSleep.
func (d *Driver) sleepFor(tick int64) time.Duration {
	us := d.cfg.Now()
	most := d.cfg.MaxSleep.Microseconds()
	at := mul(tick, d.tick)
	if at <= us {
		return 0
	}
	if gap := at - us; gap > 0 && gap < most { // a gap that overflows is negative, and long
		return time.Duration(gap) * time.Microsecond
	}
	return d.cfg.MaxSleep
}

// nowTick is the last tick that has begun.
func (d *Driver) nowTick() int64 { return floorDiv(d.cfg.Now(), d.tick) }
