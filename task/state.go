package task

import (
	"fmt"
	"strings"
)

// State says where a task stands. The numbers are stored and never change their meaning.
type State uint8

// The states. FAILED and TIMEOUT are how an attempt ended: they appear in the history, the row
// itself moves on in the same transaction and rests in SCHEDULED, DEAD or HELD.
const (
	// None is the state before the task exists.
	None State = 0
	// Pending is accepted; it waits for its parents or for a person.
	Pending State = 1
	// Scheduled has a RunAt. A crash loses nothing: the next leader reads it from the table.
	Scheduled State = 2
	// Dispatching is claimed by a leader for an executor that has not answered yet. After a crash
	// the next leader sends the same execution again, or recovers it when the epoch is retired.
	Dispatching State = 3
	// Running was started by an executor. After a crash the sweep recovers it when the executor's
	// epoch is retired, never because time has passed.
	Running State = 4
	// Succeeded is final.
	Succeeded State = 5
	// Failed is an attempt that ended with an error or was lost.
	Failed State = 6
	// Timeout is an attempt that did not end in time.
	Timeout State = 7
	// Dead is final: it will not run again by itself; the reason says why.
	Dead State = 8
	// Canceled is final: a person, a client or the handler ended it.
	Canceled State = 9
	// Skipped is final: a policy decided that this task does not run; the reason says which.
	Skipped State = 10
	// Held has an unknown outcome; a person must decide. It keeps its keys.
	Held State = 11
)

var stateNames = [...]string{"NONE", "PENDING", "SCHEDULED", "DISPATCHING", "RUNNING", "SUCCEEDED",
	"FAILED", "TIMEOUT", "DEAD", "CANCELED", "SKIPPED", "HELD"}

// States lists the states a row or a history entry can have, in the order of their numbers.
func States() []State {
	return []State{Pending, Scheduled, Dispatching, Running, Succeeded, Failed, Timeout, Dead,
		Canceled, Skipped, Held}
}

// String returns the upper-case name used in every interface.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("STATE(%d)", uint8(s))
}

// ParseState reads a name in any case.
func ParseState(name string) (State, error) {
	for i, n := range stateNames {
		if i > 0 && strings.EqualFold(n, name) {
			return State(i), nil
		}
	}
	return None, &InputError{Field: "state", Reason: fmt.Sprintf("%q is none of %s", name,
		strings.Join(stateNames[1:], ", "))}
}

// Final reports whether the task moves on only by a person's retry or trigger.
func (s State) Final() bool {
	return s == Succeeded || s == Dead || s == Canceled || s == Skipped
}

// Live reports whether an executor may be running the task.
func (s State) Live() bool { return s == Dispatching || s == Running }

// Resting reports whether a row can stay in s between transactions.
func (s State) Resting() bool {
	return s != None && s != Failed && s != Timeout && int(s) < len(stateNames)
}

// MarshalText makes states names in JSON.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText accepts what MarshalText wrote.
func (s *State) UnmarshalText(b []byte) (err error) {
	if string(b) == stateNames[None] { // where the first history entry comes from
		*s = None
		return nil
	}
	*s, err = ParseState(string(b))
	return err
}
