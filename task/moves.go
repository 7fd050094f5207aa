package task

import (
	"errors"
	"fmt"
)

// ErrIllegal is what a refused move matches: the table of legal moves has no such row.
var ErrIllegal = errors.New("illegal move")

// Legal is one row of the table of legal moves.
type Legal struct {
	From  State
	Event Event
	To    State
}

// legal is the whole state machine. docs/state-machine.md is generated from it and the stores'
// CHECK constraints are tested against it.
var legal = [...]Legal{
	{None, Submit, Scheduled},
	{None, SubmitWaiting, Pending},
	{None, SubmitClaimed, Running},
	{None, Fire, Scheduled},
	{None, FireSkip, Skipped},

	{Pending, Release, Scheduled},
	{Pending, ParentSkip, Skipped},
	{Pending, ParentCancel, Canceled},
	{Pending, Expire, Dead},
	{Pending, Cancel, Canceled},
	{Pending, Trigger, Scheduled},

	{Scheduled, Reschedule, Scheduled},
	{Scheduled, Claim, Dispatching},
	{Scheduled, ClaimLocal, Running},
	{Scheduled, Skip, Skipped},
	{Scheduled, Supersede, Dead},
	{Scheduled, Expire, Dead},
	{Scheduled, Succeed, Succeeded}, // late success of a lost or timed-out attempt
	{Scheduled, Cancel, Canceled},
	{Scheduled, Trigger, Scheduled},

	{Dispatching, Accept, Running},
	{Dispatching, Return, Scheduled},
	{Dispatching, Undeliver, Dead},
	{Dispatching, AskCancel, Dispatching},
	{Dispatching, Cancel, Canceled},
	{Dispatching, Lose, Failed},
	{Dispatching, Hold, Held},

	{Running, Succeed, Succeeded},
	{Running, Fail, Failed},
	{Running, TimeOut, Timeout},
	{Running, Stop, Running},
	{Running, AskCancel, Running},
	{Running, Cancel, Canceled},
	{Running, Lose, Failed},
	{Running, Hold, Held},
	{Running, Snooze, Scheduled},
	{Running, HandBack, Scheduled},

	{Failed, Retry, Scheduled},
	{Failed, Recover, Scheduled},
	{Failed, Bury, Dead},
	{Failed, Hold, Held},
	{Timeout, Retry, Scheduled},
	{Timeout, Bury, Dead},
	{Timeout, Hold, Held},

	{Held, Succeed, Succeeded}, // late report of the held execution
	{Held, Fail, Failed},
	{Held, Rerun, Scheduled},
	{Held, Settle, Succeeded},
	{Held, GiveUp, Dead},
	{Held, Cancel, Canceled},
	{Held, Trigger, Scheduled},

	{Dead, Redrive, Scheduled},
	{Canceled, Redrive, Scheduled},
	{Skipped, Redrive, Scheduled},
	{Succeeded, Trigger, Scheduled},
	{Dead, Trigger, Scheduled},
	{Canceled, Trigger, Scheduled},
	{Skipped, Trigger, Scheduled},
}

// next is the table by (from, event), for a look-up without a search on the hot path.
var next = func() (t [len(stateNames)][len(eventNames)]State) {
	for _, l := range legal {
		t[l.From][l.Event] = l.To
	}
	return t
}()

// Moves returns a copy of the table of legal moves.
func Moves() []Legal { return append([]Legal(nil), legal[:]...) }

// Next returns the state that event e leads to from state from. A pair that is not in the table
// gives an error that matches [ErrIllegal].
func Next(from State, e Event) (State, error) {
	if int(from) < len(next) && int(e) < len(next[0]) {
		if to := next[from][e]; to != None {
			return to, nil
		}
	}
	return None, fmt.Errorf("%w: %s in state %s", ErrIllegal, e, from)
}
