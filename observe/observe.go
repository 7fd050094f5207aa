// Package observe holds what a scheduler tells its observer: a struct of functions, one for each
// kind of event, and what it says of itself when asked.
package observe

import (
	"time"

	"github.com/ax-sched/ax/task"
)

// Observer is told what happens in one process. Every function may be nil, and then costs nothing.
//
// The functions are called by the goroutines of the scheduler, several at the same time, and the
// scheduler waits for them: they must not block, and should take microseconds. A panic in one of
// them loses the event and nothing else; the first panic of each function is logged as an error.
// Events of one task come in the order of its moves. What another process does is told there, and
// what a person decides is not told.
type Observer struct {
	// Started is told before a handler is called, on the handler's goroutine.
	Started func(Started)
	// Ended is told of each attempt that a handler ended, or that was given up because its handler
	// ignored the end of its context, once the outcome is recorded. If such a handler succeeds
	// after all and that still counts, Ended is told again: ax_attempts_total of package prom
	// counts that attempt twice.
	Ended func(Ended)
	// Retried is told, after Ended, that another attempt will follow a failure or time-out.
	Retried func(Retried)
	// Dead is told of a task that will not run again by itself.
	Dead func(Dead)
	// Held is told of a task whose outcome is unknown: a person must decide.
	Held func(Held)
	// Skipped is told of a task or fire that a policy does not run. A fire that a newer one of its
	// job replaces while it waits is not told: that is one write with the newer fire.
	Skipped func(Skipped)
	// Recovered is told of a task that was taken back from an executor that is gone.
	Recovered func(Recovered)
	// HandedBack is told of a task that was claimed and not started: the answer to the claim was
	// lost, or came when this process might not start it any more. No retry is spent.
	HandedBack func(HandedBack)
	// Failed is told of each error that a part of the scheduler meets and goes on from.
	Failed func(Failed)
	// Refused is told when a store refuses moves of the scheduler as illegal. That is an error in
	// ax: it must never be called.
	Refused func(Failed)
	// StoreCall is told of each call of the store, the leases and the registry of executors.
	StoreCall func(StoreCall)
	// Leader is told when this process becomes the leader and when it no longer is.
	Leader func(Leader)
	// Clock is told how far the store's clock is from this machine's, after each reading.
	Clock func(Clock)
}

// And returns an observer that tells o and then p.
func (o Observer) And(p Observer) Observer {
	return Observer{
		Started:    both(o.Started, p.Started),
		Ended:      both(o.Ended, p.Ended),
		Retried:    both(o.Retried, p.Retried),
		Dead:       both(o.Dead, p.Dead),
		Held:       both(o.Held, p.Held),
		Skipped:    both(o.Skipped, p.Skipped),
		Recovered:  both(o.Recovered, p.Recovered),
		HandedBack: both(o.HandedBack, p.HandedBack),
		Failed:     both(o.Failed, p.Failed),
		Refused:    both(o.Refused, p.Refused),
		StoreCall:  both(o.StoreCall, p.StoreCall),
		Leader:     both(o.Leader, p.Leader),
		Clock:      both(o.Clock, p.Clock),
	}
}

func both[E any](f, g func(E)) func(E) {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	}
	return func(e E) { f(e); g(e) }
}

// Stats is a look at one process. Numbers are taken one after the other, not at one instant.
type Stats struct {
	// At is the store's time by this process's estimate.
	At time.Time
	// ClockOffset is how far the store's clock is ahead of this machine's; 0 until it was read.
	ClockOffset time.Duration

	// Slots is how many handlers may run at the same time, Used how many do or are about to.
	Slots, Used int
	// Zombies is how many handlers were told to stop and go on; they have no slot.
	Zombies int
	// Unrecorded is how many outcomes wait to be written.
	Unrecorded int

	// Leading says that this process makes tasks due. What follows is zero unless it does.
	Leading bool
	Token   int64     // its fencing token
	Since   time.Time // when this term began, by the store's clock
	// Wheel is how many tasks of the next minutes are in memory and not due yet.
	Wheel int
	// Waiting is how many due tasks wait for a slot, by their priority; first come, at 0, those that
	// a person has triggered.
	Waiting [task.Low + 1]int
	// OldestDue is the due time of the one that waits longest; zero if none waits.
	OldestDue time.Time
	// RetriesDelayed is how often a retry was put off because of Config.RetryRate, since the process
	// leads.
	RetriesDelayed int64
}
