package task

import "time"

// Task is one unit of work: one row. The fields above Mutable are fixed when it is made.
type Task struct {
	ID      ID
	Kind    string // names the handler
	Key     string // the caller's business key; with Kind unique among live tasks; "" is none
	Unique  Unique // how long Key stays taken beyond that; only in what is inserted, never read back
	Group   string // which executors may run it
	Payload []byte // opaque
	Bucket  Bucket

	JobID     ID     // the job whose fire this is, or zero
	Job       string // its name
	FireTime  Time   // the nominal time of the fire; of a plain task its first RunAt
	FireFrom  Time   // first fire collapsed into this one by the misfire policy, or zero
	FireCount int    // how many fires this row stands for; 0 for a plain task

	Overlap    Overlap // what happens when OverlapKey is busy
	OverlapKey string  // tasks with the same one never run at the same time; "" is none

	MaxRetries   int           // negative: as the kind says
	Timeout      time.Duration // hard time-out of one attempt; 0: as the kind says; NoTimeout: none
	RetryPolicy  string        // JSON of a retry.Policy; "": as the kind says
	OnUnknown    Unknown       // what follows an execution whose end nobody knows
	ExpiresAt    Time          // not started after it: DEAD(expired); 0: never
	MaxLateness  time.Duration // not begun later after RunAt: SKIPPED(late); 0: as the kind says
	MaxLifetime  time.Duration // from assignment to result, else HELD; 0: as the kind says
	OwnerService string        // who to call about this task
	Labels       map[string]string
	CreatedAt    Time

	Mutable
	Version   int64 // what compare-and-set compares: grows by one with each move
	UpdatedAt Time
}

// ByID returns the tasks by their ids; the pointers are into ts.
func ByID(ts []Task) map[ID]*Task {
	m := make(map[ID]*Task, len(ts))
	for i := range ts {
		m[ts[i].ID] = &ts[i]
	}
	return m
}

// NoTimeout as a task's or kind's hard time-out means that an attempt may take for ever.
const NoTimeout time.Duration = -1

// Mutable is the part of a row that transitions replace as a whole. In a value handed to a store,
// a time field may be [StoreNow]; RunAt is then the store's now plus RunIn.
type Mutable struct {
	State       State
	LastOutcome Outcome // how the last attempt ended
	Reason      Reason  // why it rests in DEAD, SKIPPED, CANCELED or HELD
	Run         int     // number of this life of the task, from 1
	Attempt     int     // starts in this run
	Failures    int     // attempts that ended in FAILED or TIMEOUT and count against MaxRetries
	Dispatches  int     // deliveries that surely did not arrive (dispatch_retry_count)
	Recoveries  int     // executions lost with their executor

	RunAt        Time          // when it is due now
	RunIn        time.Duration // only with RunAt == StoreNow, and never stored
	Executor     string        // name of the executor of the last execution
	Epoch        int64         // its epoch; unique over all executors of one installation
	ExecutionID  ID            // the last execution
	Token        int64         // the fencing token it was claimed under
	DispatchedAt Time
	StartedAt    Time
	FinishedAt   Time // when the last execution, or the task, ended
	LastRetryAt  Time // when the last retry was decided
	TriggeredAt  Time // when a person asked to run it now
	CancelAsked  Time // somebody asked to cancel it while it runs (cancel_requested_at)
	StopAsked    Time // it is past its hard time-out (stop_requested_at)
	Error        string
	Result       []byte
}

// Resolve replaces StoreNow by now. Stores that know the time in Go call it; others do the same
// in SQL.
func (m *Mutable) Resolve(now Time) {
	if m.RunAt == StoreNow {
		m.RunAt = now.Add(m.RunIn)
	}
	m.RunIn = 0
	for _, t := range []*Time{&m.DispatchedAt, &m.StartedAt, &m.FinishedAt, &m.LastRetryAt,
		&m.TriggeredAt, &m.CancelAsked, &m.StopAsked} {
		if *t == StoreNow {
			*t = now
		}
	}
}

// HoldsKey reports whether the row keeps its overlap key: while an execution may run, when nobody
// knows whether it does, and with [OverlapQueue] from the first attempt of a run to its end.
func (t *Task) HoldsKey() bool {
	if t.OverlapKey == "" {
		return false
	}
	begun := t.State == Scheduled && t.Attempt > 0
	return t.State.Live() || t.State == Held || begun && t.Overlap == OverlapQueue
}

// Unknown says what happens when nobody knows how an execution ended: it was lost with its
// executor, or did not end after its hard time-out.
type Unknown uint8

// The policies for unknown outcomes. The numbers are stored and never change their meaning.
const (
	// UnknownByKind: as the kind says, which says UnknownRetry unless told otherwise.
	UnknownByKind Unknown = 0
	// UnknownRetry runs the task again, so it may run twice.
	UnknownRetry Unknown = 1
	// UnknownHold moves it to HELD: a person decides, or a late report does. With no retries it
	// makes the delivery at most once.
	UnknownHold Unknown = 2
)

// String returns the lower-case name; UnknownByKind gives "".
func (u Unknown) String() string {
	switch u {
	case UnknownRetry:
		return "retry"
	case UnknownHold:
		return "hold"
	}
	return ""
}

// Outcome is how an attempt ended.
type Outcome uint8

// The outcomes. The numbers are stored and never change their meaning.
const (
	NoOutcome    Outcome = 0
	OutSucceeded Outcome = 1
	OutFailed    Outcome = 2
	OutTimeout   Outcome = 3
	OutLost      Outcome = 4
	OutSnoozed   Outcome = 5
	OutReleased  Outcome = 6
	OutCanceled  Outcome = 7
)

var outcomeNames = [...]string{"", "succeeded", "failed", "timeout", "lost", "snoozed", "released",
	"canceled"}

// String returns the lower-case name; NoOutcome gives "".
func (o Outcome) String() string { return outcomeNames[min(int(o), len(outcomeNames)-1)] }

// MarshalText makes outcomes names in JSON.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Reason says why a task rests where it does.
type Reason uint8

// The reasons. The numbers are stored and never change their meaning.
const (
	NoReason      Reason = 0
	Exhausted     Reason = 1  // DEAD: no retry left
	Permanent     Reason = 2  // DEAD: the handler said that no retry can help
	Poison        Reason = 3  // DEAD: its executions took their executor down
	Undeliverable Reason = 4  // DEAD: no executor took it
	Expired       Reason = 5  // DEAD: not started before ExpiresAt
	Superseded    Reason = 6  // SKIPPED or DEAD: a newer fire replaced it
	GivenUp       Reason = 7  // DEAD: a person gave it up
	Overlapped    Reason = 8  // SKIPPED: its overlap key was busy
	Misfired      Reason = 9  // SKIPPED: the job's misfire policy
	ByParent      Reason = 10 // SKIPPED: an edge's policy
	Late          Reason = 11 // SKIPPED: past its max lateness
	ByRequest     Reason = 12 // CANCELED or SKIPPED: somebody asked
	ByHandler     Reason = 13 // CANCELED: the handler said so
	Lost          Reason = 14 // HELD, and in the history: the executor's epoch was retired
	Unreported    Reason = 15 // HELD: past its hard time-out, and it does not end
	Interrupted   Reason = 16 // HELD: ended by a shutdown, and nobody knows how far it came
	Overlong      Reason = 17 // HELD: no result within its max lifetime
)

var reasonNames = [...]string{"", "exhausted", "permanent", "poison", "undeliverable", "expired",
	"superseded", "given_up", "overlap", "misfire", "parent", "late", "request", "handler", "lost",
	"unreported", "interrupted", "overlong"}

// String returns the lower-case name; NoReason gives "".
func (r Reason) String() string { return reasonNames[min(int(r), len(reasonNames)-1)] }

// MarshalText makes reasons names in JSON.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
