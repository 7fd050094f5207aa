package sim

import (
	"errors"
	"time"
)

// The faults, as they are counted. A test that runs many seeds fails if one never happened.
const (
	errBefore    = "fault: error before the write"
	errAfter     = "fault: answer of a write lost"
	slowCall     = "fault: slow call"
	oldPage      = "fault: page of due tasks arrives late"
	stuckCall    = "fault: a call hangs although the store works"
	sentOnly     = "fault: context ended after the call was sent"
	lockedRow    = "fault: row locked by somebody else"
	outageRefuse = "fault: outage, calls refused"
	outageHang   = "fault: outage, calls hang"
	outageOne    = "fault: outage of one node"
	crashTimed   = "fault: crash at any time"
	crashBefore  = "fault: crash before a call"
	crashAfter   = "fault: crash after a call"
	crashHandler = "fault: crash by a handler"
	stopped      = "fault: graceful stop"
	paused       = "fault: pause"
	pausedLong   = "fault: pause of more than 30 s"
	stepAhead    = "fault: store clock ahead"
	stepBack     = "fault: store clock back"
	wallJump     = "fault: wall clock of a node jumps"
	sameName     = "fault: restart under the same name"
	otherName    = "fault: restart under another name"
)

// faultKinds lists all of them.
func faultKinds() []string {
	return []string{errBefore, errAfter, slowCall, oldPage, stuckCall, sentOnly, lockedRow,
		outageRefuse, outageHang, outageOne, crashTimed, crashBefore, crashAfter, crashHandler,
		stopped, paused, pausedLong,
		stepAhead, stepBack, wallJump, sameName, otherName}
}

// What calls return that a fault has hit.
var (
	errDown  = errors.New("simulated: store does not answer")
	errLost  = errors.New("simulated: connection lost, nobody knows whether it was written")
	errCrash = errors.New("simulated: this process is gone")
)

// weather is which faults a run has, and how often.
type weather struct {
	before, after, slow, locked float64 // of each call
	stuck                       float64
	every                       time.Duration
	events                      []string // of which one happens every so often
	stale                       bool     // pages of due tasks are old when they arrive
	poison                      bool     // some handlers take their process down
}

// forecast draws the weather of a seed. Each fault is in about half of the runs, so that some
// runs have few faults and these often.
func forecast(d dice) weather {
	var w weather
	rate := func(most float64) float64 {
		if d.chance(0.5) {
			return 0
		}
		return d.Float64() * most
	}
	w.before, w.after, w.slow, w.locked = rate(0.1), rate(0.1), rate(0.05), rate(0.1)
	w.stuck = rate(0.01)
	w.every = d.between(2*time.Second, 12*time.Second)
	for _, e := range []string{outageRefuse, outageHang, outageOne, crashTimed, crashBefore,
		crashAfter, stopped, paused, stepAhead, stepBack, wallJump} {
		if d.chance(0.4) {
			w.events = append(w.events, e)
		}
	}
	w.poison, w.stale = d.chance(0.15), d.chance(0.25)
	return w
}

// chaos makes the faults of the weather happen until the run heals.
func (w *world) chaos() {
	d := roll(w.seed, "chaos")
	for len(w.weather.events) > 0 {
		if !w.sleep(d.about(w.weather.every)) {
			return
		}
		w.strike(oneOf(d, w.weather.events...), d)
	}
}

// strike makes one fault happen.
func (w *world) strike(what string, d dice) {
	w.lock()
	defer w.mu.Unlock()
	p := w.anyAlive(d)
	if w.healed || p == nil {
		return
	}
	long := d.between(100*time.Millisecond, 8*time.Second)
	if d.chance(0.2) {
		long = d.between(5*time.Second, 120*time.Second)
	}
	w.c.disturbed()
	switch what {
	case outageRefuse, outageHang:
		w.down = outage{w.elapsed() + long, what == outageHang}
	case outageOne:
		p.down = outage{w.elapsed() + long, d.chance(0.5)}
	case crashTimed:
		w.kill(p, what)
		return
	case crashBefore, crashAfter:
		p.crashAt, p.crashAfter = p.calls+1+d.IntN(40), what == crashAfter
		return
	case stopped:
		w.stop(p)
	case paused:
		w.pause(p, long)
		if long > 30*time.Second {
			w.c.count(pausedLong)
		}
	case stepAhead:
		long = d.between(10*time.Millisecond, time.Second)
		w.clock.off += long
	case stepBack:
		if w.elapsed()-w.stepped < 15*time.Second {
			return // two in a row would be a step of more than a second
		}
		w.stepped = w.elapsed()
		long = d.between(10*time.Millisecond, time.Second)
		w.clock.off -= long
		w.c.stepped = true
	case wallJump:
		long = d.between(-2*time.Hour, 2*time.Hour)
		p.clock.off.Add(int64(long))
	}
	w.c.count(what)
	w.log(p, "%s for or by %v", what, long)
}

// outage is a time in which a store does not answer.
type outage struct {
	until time.Duration
	hang  bool
}
