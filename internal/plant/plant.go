// Package plant puts known faults into the scheduler, to prove that the simulation finds them.
//
// A hook is one line, if plant.On(plant.X) { ... }. In every build without the tag ax_plant On is
// false and the compiler removes the line. With the tag the fault named in the environment variable
// AX_PLANT is there for the life of the process.
package plant

// The faults. Each name says what is wrong with it.
const (
	// StoreIgnoresToken: the store takes writes under any token.
	StoreIgnoresToken = "store-ignores-token"
	// StoreIgnoresDue: the store claims what is not due by its clock.
	StoreIgnoresDue = "store-ignores-due"
	// StoreIgnoresVersion: claims, skips, cancels and recoveries do not compare the version.
	StoreIgnoresVersion = "store-ignores-version"
	// KeyFreedEarly: the overlap key is free before the transition is known to apply.
	KeyFreedEarly = "key-freed-early"
	// KeyKept: the unique key of a task that ended without success is kept.
	KeyKept = "key-kept"
	// WindowIgnored: a key that is kept beyond the life of its task is given to the next one.
	WindowIgnored = "window-ignored"
	// HistoryMissing: moves to a retry write no history row.
	HistoryMissing = "history-missing"
	// CursorKept: a fire does not move the job's cursor.
	CursorKept = "cursor-kept"
	// FireFromNow: the next fire counts from now instead of from the cursor.
	FireFromNow = "fire-from-now"
	// SkipRuns: a fire that was to be skipped runs.
	SkipRuns = "skip-runs"
	// MisfireRuns: fires that are too late run all the same.
	MisfireRuns = "misfire-runs"
	// MisfireUncapped: more missed fires run than the job allows.
	MisfireUncapped = "misfire-uncapped"
	// PauseIgnored: a paused job fires.
	PauseIgnored = "pause-ignored"
	// FireTwice: after a lost answer jobs are fired again from the old cursor.
	FireTwice = "fire-twice"
	// OutcomeUnchecked: an outcome is applied to whatever execution the row has.
	OutcomeUnchecked = "outcome-unchecked"
	// FailureUncounted: a failed attempt does not count.
	FailureUncounted = "failure-uncounted"
	// OverlapIgnored: a claim does not take the overlap key.
	OverlapIgnored = "overlap-ignored"
	// QueueLetsGo: a task of a queue gives its key back while it waits for a retry.
	QueueLetsGo = "queue-lets-go"
	// LineIgnored: a task takes a free key although others wait for it.
	LineIgnored = "line-ignored"
	// LineForgotten: nobody tries the head of a line again.
	LineForgotten = "line-forgotten"
	// OutcomeDropped: outcomes that meet a store error are not tried again.
	OutcomeDropped = "outcome-dropped"
	// NotesDropped: notes that meet a store error are not tried again.
	NotesDropped = "notes-dropped"
	// OutputForgotten: the output of a handler is not the result of its task.
	OutputForgotten = "output-forgotten"
	// ClaimDropped: tasks whose claim meets a store error are not tried again.
	ClaimDropped = "claim-dropped"
	// NotDueDropped: a task that is not due yet by the store's clock is not waited for.
	NotDueDropped = "not-due-dropped"
	// NotDueSpins: it is claimed again at once, until it is due.
	NotDueSpins = "not-due-spins"
	// SuspectsSpin: tasks that wait for a suspect are looked at without end.
	SuspectsSpin = "suspects-spin"
	// StartLate: an execution starts although the executor lease ended during its claim.
	StartLate = "start-late"
	// StartDuplicate: a submit that made no row starts its execution.
	StartDuplicate = "start-duplicate"
	// RecoverByTime: an execution that takes long is taken for lost.
	RecoverByTime = "recover-by-time"
	// LostAtOnce: an executor is lost as soon as its lease ends, whoever could not renew it.
	LostAtOnce = "lost-at-once"
	// HandBackRunning: executions that run are handed back.
	HandBackRunning = "hand-back-running"
	// HeartbeatFirst: a stop gives the executor lease up before the handlers have ended.
	HeartbeatFirst = "heartbeat-first"
	// SlotLeak: a snoozed task keeps its slot.
	SlotLeak = "slot-leak"
	// HoldIgnored: an unknown outcome is retried where a person should decide.
	HoldIgnored = "hold-ignored"
	// CallsHang: a loop waits for ever for a store that does not answer.
	CallsHang = "calls-hang"
)
