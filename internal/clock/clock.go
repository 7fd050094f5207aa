package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	stepLimit  = 250 * time.Millisecond // a nearer sample is slewed to, a farther one is suspect
	agreeing   = 3                      // suspects that make a step
	slewPart   = 20                     // slewing takes 1/20 of the time that elapses
	driftPart  = 10_000                 // an old sample loses 100 us of exactness a second
	pauseLimit = time.Second            // a shorter suspend is not reported
	maxMicros  = 253402300799999999     // 9999-12-31T23:59:59.999999Z, the last instant ax stores
)

// Clock estimates the store's time. All methods are safe for concurrent use; Now and Boot take
// no lock.
type Clock struct {
	elapsed stopwatch
	model   atomic.Pointer[model]

	mu       sync.Mutex
	good     window // the latest samples the clock agrees with
	suspects window // the latest that it does not, all agreeing with each other
	sampled  bool
	told     time.Duration // how much of the time suspended has been reported, or was too short
}

// New returns a clock that shows the host's time until the first sample.
//
// With nil it runs on the clocks of the machine. A now of one's own replaces all of them, for
// nodes with skewed clocks and for tests in a bubble of fake time; elapsed time is then measured
// with it alone, by its monotonic reading if it has one.
func New(now func() time.Time) *Clock {
	if now != nil {
		return newClock(hostOf(now), nil)
	}
	return newClock(hostOf(time.Now), bootTime)
}

func newClock(read func() host, boot func() (time.Duration, bool)) *Clock {
	c := new(Clock)
	wall := c.elapsed.start(read, boot)
	c.model.Store(&model{offset: wall, target: wall})
	return c
}

// Now estimates the store's time in microseconds UTC. It goes on evenly, and goes back only by a
// step that Sample reports. It costs little more than time.Now.
func (c *Clock) Now() int64 {
	// The model is loaded first: an older model with a later reading is still on its own line, a
	// newer model with an earlier reading would not be.
	m := c.model.Load()
	e := c.elapsed.quick().Microseconds()
	return e + m.at(e)
}

// Ahead is how far Now is ahead of the host's clock; negative if it is behind.
func (c *Clock) Ahead() time.Duration {
	return micros(c.Now() - c.elapsed.read().wall)
}

// Boot is the time since the clock was made, by a clock that no one can set and that, where the
// system allows it, runs on while the machine is suspended. Deadlines of leases are counted in
// it: take it before the renewal is sent, and the belief ends at that reading plus the TTL. It
// costs a system call.
func (c *Clock) Boot() time.Duration { return c.elapsed.exact() }

// Sample tells the clock what time the store gave, in microseconds UTC. Sent is Boot, read
// before the question was sent; Sample is called as soon as the answer is here. The owner of the
// clock calls it every few seconds, and again without delay after Suspect.
func (c *Clock) Sample(sent time.Duration, store int64) Event {
	if store < 0 || store > maxMicros {
		return Event{Kind: Suspect} // no clock shows that; it counts for nothing
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	got := c.Boot()
	rtt := max(got-sent, 0)
	s := sample{
		elapsed: got.Microseconds(),
		offset:  store + (rtt / 2).Microseconds() - got.Microseconds(),
		err:     (rtt / 2).Microseconds() + 1,
	}
	ev := c.judge(s)
	if ev.Kind != Steady {
		return ev // a pause is told by a later sample
	}
	all := c.elapsed.suspended()
	p := all - c.told
	c.told = all
	if p > pauseLimit {
		return Event{Kind: Resumed, Size: p}
	}
	return ev
}

func (c *Clock) judge(s sample) Event {
	m := c.model.Load()
	if !c.sampled {
		c.sampled = true
		c.good.add(s)
		// Whatever was shown before was the host's time: no one has relied on it as the store's.
		c.model.Store(&model{since: s.elapsed, offset: s.offset, target: s.offset})
		return Event{Kind: First, Size: micros(s.offset - m.at(s.elapsed))}
	}
	if s.near(m.target) {
		c.suspects.clear()
		c.good.add(s)
		c.model.Store(&model{
			since:  s.elapsed,
			offset: m.at(s.elapsed),
			target: c.good.best(s.elapsed).offset,
		})
		return Event{Kind: Steady}
	}
	if !c.suspects.agrees(s) {
		c.suspects.clear()
	}
	c.suspects.add(s)
	if c.suspects.n < agreeing {
		return Event{Kind: Suspect, Size: micros(s.offset - m.target)}
	}
	to := c.suspects.best(s.elapsed).offset
	c.good, c.suspects = c.suspects, window{}
	c.model.Store(&model{since: s.elapsed, offset: to, target: to})
	return Event{Kind: Step, Size: micros(to - m.at(s.elapsed))}
}

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
