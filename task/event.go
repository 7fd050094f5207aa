package task

import "fmt"

// Event is why a task moves. The numbers are stored and never change their meaning.
type Event uint8

// The events; [Moves] lists from which state to which each leads.
const (
	// Submit makes a task that is due at its RunAt.
	Submit Event = 1
	// SubmitWaiting makes a task that waits for its parents or a person.
	SubmitWaiting Event = 2
	// SubmitClaimed makes a task that the leader's own process starts at once.
	SubmitClaimed Event = 3
	// Fire makes the task of a job's fire.
	Fire Event = 4
	// FireSkip records a fire that the job's policy does not run.
	FireSkip Event = 5
	// Release lets a waiting task go: its parents are done, or a person released it.
	Release Event = 6
	// ParentSkip and ParentCancel end a waiting task by the policy of an edge.
	ParentSkip   Event = 7
	ParentCancel Event = 8
	// Reschedule changes RunAt, priority or payload.
	Reschedule Event = 9
	// Claim assigns the task to a remote executor or an inbox.
	Claim Event = 10
	// ClaimLocal assigns it to the leader's own process and starts it in one step.
	ClaimLocal Event = 11
	// Skip ends a scheduled task that a policy does not run (overlap, superseded, late).
	Skip Event = 12
	// Supersede ends a failed fire that a newer fire replaces.
	Supersede Event = 13
	// Expire ends a task that was not started before its ExpiresAt.
	Expire Event = 14
	// Accept is the executor's word that it has recorded the execution and started.
	Accept Event = 15
	// Return gives the task back: the executor surely did not take it.
	Return Event = 16
	// Undeliver ends a task that no executor took within its dispatch retries.
	Undeliver Event = 17
	// Succeed, Fail and TimeOut end an execution.
	Succeed Event = 18
	Fail    Event = 19
	TimeOut Event = 20
	// Stop asks the executor to end an execution past its hard time-out.
	Stop Event = 21
	// AskCancel asks the executor to end an execution because somebody canceled the task.
	AskCancel Event = 22
	// Cancel ends the task on request.
	Cancel Event = 23
	// Lose ends an execution whose executor's epoch was retired.
	Lose Event = 24
	// Hold leaves the decision to a person, because the outcome is unknown.
	Hold Event = 25
	// Snooze and HandBack put a running task back without spending a retry: on the handler's wish,
	// and because its process shuts down.
	Snooze   Event = 26
	HandBack Event = 27
	// Retry schedules the next attempt after a failure or time-out; Recover after a lost execution.
	Retry   Event = 28
	Recover Event = 29
	// Bury ends a task that is not tried again (exhausted, permanent, poison).
	Bury Event = 30
	// Rerun, Settle and GiveUp are a person's answers to HELD.
	Rerun  Event = 31
	Settle Event = 32
	GiveUp Event = 33
	// Redrive is a person's retry of a task that ended without success.
	Redrive Event = 34
	// Trigger is a person's "run it now".
	Trigger Event = 35
)

var eventNames = [...]string{"", "submit", "submit_waiting", "submit_claimed", "fire", "fire_skip",
	"release", "parent_skip", "parent_cancel", "reschedule", "claim", "claim_local", "skip",
	"supersede", "expire", "accept", "return", "undeliver", "succeed", "fail", "time_out", "stop",
	"ask_cancel", "cancel", "lose", "hold", "snooze", "hand_back", "retry", "recover", "bury",
	"rerun", "settle", "give_up", "redrive", "trigger"}

// Events lists all events in the order of their numbers.
func Events() []Event {
	all := make([]Event, 0, len(eventNames)-1)
	for e := Event(1); int(e) < len(eventNames); e++ {
		all = append(all, e)
	}
	return all
}

// String returns the snake-case name used in the history and in logs.
func (e Event) String() string {
	if e > 0 && int(e) < len(eventNames) {
		return eventNames[e]
	}
	return fmt.Sprintf("event(%d)", uint8(e))
}

// MarshalText makes events names in JSON.
func (e Event) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText accepts what MarshalText wrote.
func (e *Event) UnmarshalText(b []byte) error {
	for i, n := range eventNames {
		if i > 0 && n == string(b) {
			*e = Event(i)
			return nil
		}
	}
	return &InputError{Field: "event", Reason: fmt.Sprintf("%q is not an event", b)}
}
