package clock

import (
	"sync/atomic"
	"time"
)

const (
	// A reading of the boot clock is used again for this long, because it costs a system call.
	reuse = time.Second
	// The wall clock moves so far against the monotonic one only if someone sets it or the
	// machine was suspended; then the boot clock is read at once.
	wallMove = 50_000 // microseconds
)

// host is one reading of the host's clocks.
type host struct {
	wall int64         // microseconds UTC
	mono time.Duration // since some start; stands still while the machine is suspended
}

// hostOf takes both readings from one time.Time.
func hostOf(now func() time.Time) func() host {
	origin := now()
	return func() host {
		t := now()
		return host{wall: t.UnixMicro(), mono: t.Sub(origin)}
	}
}

// stopwatch measures elapsed time, suspended time included where there is a boot clock. It is the
// monotonic clock plus the time suspended so far; that sum never goes back.
type stopwatch struct {
	read   func() host
	boot   func() (time.Duration, bool) // nil: there is none
	origin time.Duration                // what boot showed when mono was 0
	last   atomic.Pointer[lap]
}

// lap is what the last look at the boot clock has shown.
type lap struct {
	mono      time.Duration
	wallAhead int64 // wall less mono
	suspended time.Duration
}

// start begins to measure and returns the wall time at which elapsed time was 0.
func (w *stopwatch) start(read func() host, boot func() (time.Duration, bool)) int64 {
	w.read = read
	w.last.Store(&lap{})
	if boot != nil {
		// Mono is read first: a delay between the two makes the time suspended look shorter for
		// ever, which is a constant; the other way round it would grow with later looks.
		h := read()
		if b, ok := boot(); ok {
			w.boot = boot
			w.origin = b - h.mono
		}
	}
	w.exact()
	h := read()
	return h.wall - h.mono.Microseconds()
}

// quick is the elapsed time by the last look at the boot clock, unless there is a reason for a
// new one.
func (w *stopwatch) quick() time.Duration {
	h := w.read()
	l := w.last.Load()
	if w.boot == nil {
		return h.mono
	}
	moved := abs(h.ahead() - l.wallAhead)
	if h.mono-l.mono < reuse && moved < wallMove {
		return h.mono + l.suspended
	}
	return w.exact()
}

// exact is the elapsed time by a new look at the boot clock.
func (w *stopwatch) exact() time.Duration {
	if w.boot == nil {
		return w.read().mono
	}
	b, ok := w.boot()
	h := w.read()
	for {
		old := w.last.Load()
		l := &lap{mono: h.mono, wallAhead: h.ahead(), suspended: old.suspended}
		if ok {
			// This is too little by the delay between the two readings, never too much; so the
			// largest value seen is the best one.
			l.suspended = max(l.suspended, b-w.origin-h.mono)
		}
		if w.last.CompareAndSwap(old, l) {
			return h.mono + l.suspended
		}
	}
}

// suspended is the time suspended up to the last look at the boot clock.
func (w *stopwatch) suspended() time.Duration { return w.last.Load().suspended }

func (h host) ahead() int64 { return h.wall - h.mono.Microseconds() }
