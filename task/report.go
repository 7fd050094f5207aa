package task

import "time"

// Report is what an executor says about an execution that ended.
type Report struct {
	ID        ID
	Execution ID
	Outcome   Outcome // OutSucceeded, OutFailed, OutTimeout, OutSnoozed, OutReleased, OutCanceled
	Permanent bool    // of a failure: no retry can help
	Stopped   bool    // it was told to stop because it was past its hard time-out
	// InTx: the handler completed the task in a transaction of its own; whether that was committed
	// only the row tells.
	InTx      bool
	Unstarted bool // the claim is recorded, but no handler was called
	// Interrupted, of a release: not the handler asked for it but the end of its process, and how
	// far the handler came is not known.
	Interrupted bool
	// Took is how long the handler ran, or had run when it was given up.
	Took time.Duration
	// Delay is how long a snoozed task waits; of a failure with HasDelay it replaces the backoff.
	Delay    time.Duration
	HasDelay bool
	Error    string // already cut to MaxError
	Result   []byte
}

// Limits of what one row keeps.
const (
	MaxPayload = 256 << 10 // bytes; refused at submit, never cut
	MaxResult  = 256 << 10 // bytes; a larger result fails the attempt, it is never cut
	// MaxStored is the largest payload or result that a store must keep: those limits are for what
	// callers write and read, and encryption adds a few bytes.
	MaxStored = 257 << 10
	MaxError  = 4 << 10 // bytes; longer texts are cut at a character
)

// Counts is the outcome that is recorded for an attempt whose report says o. canceled: somebody has
// asked to cancel the task; stopped: the attempt was told to stop because of its hard time-out;
// interrupted: its context ended because its process stops or was declared lost, so an error after
// that is not the handler's own.
func (o Outcome) Counts(canceled, stopped, interrupted bool) Outcome {
	switch {
	case o == OutSucceeded, o == OutCanceled:
		return o
	case canceled:
		return OutCanceled
	case stopped:
		return OutTimeout
	case o == OutFailed && interrupted:
		return OutReleased
	}
	return o
}
