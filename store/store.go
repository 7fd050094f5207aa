package store

import (
	"context"

	"github.com/ax-sched/ax/task"
)

// Store is what a database gives to a scheduler.
type Store interface {
	Clock
	Fencer
	Inserter
	Applier
	Reader
	Watcher
	JobStore
	KindStore
	Pruner
	// Close releases the store's resources; calls under way end first, later ones give ErrClosed.
	// Closing twice is harmless.
	Close() error
}

// Clock reads the one clock that decides what is due.
type Clock interface {
	// Now returns the store's time.
	Now(ctx context.Context) (task.Time, error)
}

// Fence is the right to write as the leader of a partition. The zero Fence asks for no check: it
// is for writes that need no leader (submits, outcomes, persons).
type Fence struct {
	Partition int
	Token     int64
}

// Fencer keeps the installed token of each partition.
type Fencer interface {
	// Token returns the installed token; 0 if the partition never had a leader.
	Token(ctx context.Context, partition int) (int64, error)
	// Install replaces token seen by seen+1 and returns it, or ErrFenced if the installed one is
	// no longer seen. A candidate reads Token before it campaigns, so that one which was paused
	// in between cannot fence the leader elected meanwhile.
	Install(ctx context.Context, partition int, seen int64, holder string) (int64, error)
}

// Inserted answers one row of an Insert.
type Inserted struct {
	// ID is the new task's id, or that of the task that has the same kind and key.
	ID task.ID
	// Duplicate is set when another task has the kind and key. Repeating an insert with the same id
	// is not a duplicate.
	Duplicate bool
	// State, Version and RunAt are those of the row; zero where the kind and key are kept for a task
	// that was deleted.
	State   task.State
	Version int64
	RunAt   task.Time
	At      task.Time // the store's time of the transaction
}

// Inserter makes tasks.
type Inserter interface {
	// Insert makes the tasks, each with its first history row, in one transaction, and answers in
	// the same order. A task's State is SCHEDULED, or RUNNING where the leader's own process
	// starts it at once: those need the fence, and a stale one refuses the whole call. RunAt may be
	// StoreNow plus RunIn, and so may times of a RUNNING task; CreatedAt, UpdatedAt and Version are
	// set by the store, and so is a FireTime of StoreNow: it becomes the resolved RunAt. Two rows
	// of one call with the same kind and key: the first wins. Tasks that take an overlap key are
	// never inserted as RUNNING.
	//
	// A live task has its (kind, key) in any case. A row with a Unique other than UniqueLive also
	// asks for the kept key: a record of (kind, key), the task and until when, which outlives the
	// row. Where that is kept for another task, and its end is not reached, the row is a duplicate;
	// else it is written or replaced in the same transaction. Rows without a Unique do not look at
	// it. No transition of a task does: what a person runs again has its id.
	Insert(ctx context.Context, f Fence, tasks []task.Task) ([]Inserted, error)
}

// Status is what became of one transition.
type Status uint8

// The results of a transition.
const (
	// Applied: the row moved.
	Applied Status = iota + 1
	// Conflict: the row has another version, state or execution.
	Conflict
	// Gone: there is no such row.
	Gone
	// KeyBusy: another task holds the overlap key.
	KeyBusy
	// NotDue: the store's clock has not reached RunAt.
	NotDue
	// Locked: a foreign transaction holds the row; try again later.
	Locked
)

var statusNames = [...]string{"", "applied", "conflict", "gone", "key_busy", "not_due", "locked"}

// String returns the lower-case name.
func (s Status) String() string { return statusNames[min(int(s), len(statusNames)-1)] }

// Result answers one transition.
type Result struct {
	Status  Status
	Version int64     // the new version if applied
	At      task.Time // the store's time of the transaction
}

// Into brings a row, as it was read, to what an applied transition has made of it.
func (r Result) Into(t *task.Task, tr *task.Transition) {
	t.Mutable = tr.Set
	t.Resolve(r.At)
	t.Version, t.UpdatedAt = r.Version, r.At
}

// Applier is the one verb that changes states.
type Applier interface {
	// Apply applies each transition on its own condition, all in one transaction with their
	// history rows and keys, and answers in the same order. A refused row does not disturb the
	// others. A stale fence refuses the whole call with ErrFenced; an illegal transition refuses
	// the whole call with task.ErrIllegal before anything is written. Two transitions of one task
	// in one call are refused as illegal. Any number of rows may be handed over; they are cut into
	// transactions of a fitting size in the order of their ids, and an error after the first
	// of them leaves those applied: the caller repeats, and finds Conflict where it had succeeded.
	Apply(ctx context.Context, f Fence, trs []*task.Transition) ([]Result, error)
}

// Reader reads tasks.
type Reader interface {
	// Tasks returns the rows with these ids, whole, in any order; missing ones are left out.
	Tasks(ctx context.Context, ids []task.ID) ([]task.Task, error)
	// ByKey returns the live task with this kind and key, or ErrNotFound.
	ByKey(ctx context.Context, kind, key string) (task.Task, error)
	// List returns tasks without payload and result, the newest first (by id, descending).
	List(ctx context.Context, q Query) ([]task.Task, error)
	// History returns a task's entries in the order of their versions.
	History(ctx context.Context, id task.ID) ([]task.Entry, error)
	// Count returns the number of tasks in each resting state. It stops at limit of each: that
	// number means so many or more. States without tasks may be left out. A limit of 0 counts all
	// of them, which reads the whole table: not for a loop.
	Count(ctx context.Context, limit int64) (map[task.State]int64, error)
}

// Query selects tasks; zero fields select all.
type Query struct {
	States []task.State
	Kind   string
	Key    string
	Job    string  // by name
	Before task.ID // only ids smaller than this: the last id of the page before
	Limit  int     // at most this many; 0 is 100, more than 1,000 is 1,000
}

// Mark is a position in the order (RunAt, ID).
type Mark struct {
	RunAt task.Time
	ID    task.ID
}

// Less reports whether m comes before n.
func (m Mark) Less(n Mark) bool {
	if m.RunAt != n.RunAt {
		return m.RunAt < n.RunAt
	}
	return string(m.ID[:]) < string(n.ID[:])
}

// Cursor asks for the scheduled tasks of one group and bucket after a mark, up to an instant
// (inclusive), in the order of (RunAt, ID).
type Cursor struct {
	Group  string
	Bucket task.Bucket
	After  Mark
	Until  task.Time
	Limit  int // at least 1
}

// Due is what the wheel needs to know of a scheduled task.
type Due struct {
	Mark
	Kind string
}

// Watcher reads what a leader and an executor must look at again and again; every query is
// answered from an index, whatever the number of finished rows.
type Watcher interface {
	// Due answers each cursor with its page, in one round trip, and the store's time.
	Due(ctx context.Context, cs []Cursor) ([][]Due, task.Time, error)
	// Live returns tasks in DISPATCHING or RUNNING without payload and result, by id ascending.
	Live(ctx context.Context, q LiveQuery) ([]task.Task, error)
}

// Hinter is an extra of stores that can tell a process of what another one has submitted.
type Hinter interface {
	// Listen calls hint with the earliest RunAt of what was made due soon by some process, until
	// ctx ends (nil) or the connection is lost. The caller listens again after an error, and first
	// looks into the table. hint must return quickly. A hint is a reason to look earlier, never
	// more.
	Listen(ctx context.Context, hint func(earliest task.Time)) error
}

// Expirer is an extra of stores that find what has expired, from an index that holds only tasks
// with an ExpiresAt which wait.
type Expirer interface {
	// Expired returns tasks in PENDING or SCHEDULED whose ExpiresAt has passed by the store's clock,
	// unless a person has triggered them since (TriggeredAt after ExpiresAt), without payload and
	// result, the earliest ExpiresAt first, at most limit of them.
	Expired(ctx context.Context, limit int) ([]task.Task, error)
}

// LiveQuery selects live tasks.
type LiveQuery struct {
	Epoch int64 // of this executor epoch only; 0: of all
	Asked bool  // only those somebody asked to cancel
	After task.ID
	Limit int // 0 is 1,000
}

// Fire is one fire of a job: the record that makes it happen exactly once.
type Fire struct {
	JobID   task.ID
	Version int64 // of the definition it was computed from
	// Task is inserted as SCHEDULED, or as SKIPPED where a policy does not run the fire; it has no
	// Key. Its FireTime becomes the job's cursor.
	Task task.Task
	// Last is what the job's LastTask becomes; zero is Task.ID. A fire that does not run leaves the
	// task of the one before it there.
	Last task.ID
	// Replace, if not nil, moves the job's waiting fire out of the way in the same transaction.
	// Its condition may fail without harm: then that fire has started.
	Replace *task.Transition
}

// FireStatus is what became of one fire.
type FireStatus uint8

// The results of a fire.
const (
	// Fired: the task was inserted and the job's cursor moved.
	Fired FireStatus = iota + 1
	// AlreadyFired: the cursor has reached this fire time; nothing was written.
	AlreadyFired
	// JobChanged: the definition has another version or was deleted; nothing was written.
	JobChanged
)

// FireResult answers one fire.
type FireResult struct {
	Status FireStatus
	Row    Inserted
}

// JobStore keeps job definitions.
type JobStore interface {
	// PutJob makes or replaces the definition with j.Name. ID, Anchor, LastFire, LastTask, Fires,
	// CreatedAt and the Control of an existing one stay, see [task.Job.Keep]; of a new one Anchor
	// and CreatedAt are the store's now and LastFire is Anchor, unless j sets them. Where the fire
	// times change, LastFire becomes the store's now if that is later, so that they owe nothing
	// of the past. Putting an equal definition changes nothing.
	// Concurrent puts of one name make one definition. It returns the row as it is now.
	PutJob(ctx context.Context, j task.Job) (task.Job, error)
	// DeleteJob ends the definition with this name, or returns ErrNotFound. Its tasks remain.
	DeleteJob(ctx context.Context, name string) error
	// Jobs returns definitions, deleted ones too, whose UpdatedAt is at or after since, by id.
	// A fire does not change UpdatedAt.
	Jobs(ctx context.Context, since task.Time) ([]task.Job, error)
	// Fire records fires in one transaction: for each, the task, the cursor (which only grows),
	// LastTask, Fires if it is to run, and the replaced fire. It answers in the same order; a stale
	// fence refuses all.
	Fire(ctx context.Context, f Fence, fires []Fire) ([]FireResult, error)
}

// JobSteerer is an extra of stores that keep what persons say about jobs: pauses and skips.
type JobSteerer interface {
	// SteerJob replaces the control of a definition, if it still has this version and was not
	// deleted; false says that it has not. Its version and UpdatedAt grow, so that a fire under way
	// is refused. A PausedAt of StoreNow is the store's time.
	SteerJob(ctx context.Context, id task.ID, version int64, c task.Control) (bool, error)
}

// KindStore keeps the options of handlers.
type KindStore interface {
	// PutKinds makes or replaces the options of kinds.
	PutKinds(ctx context.Context, ks []task.Kind) error
	// Kinds returns all of them.
	Kinds(ctx context.Context) ([]task.Kind, error)
}

// Prune selects finished tasks to delete.
type Prune struct {
	// After and Until bound the ids that are looked at: those after After up to and including
	// Until. A zero Until is no bound.
	After, Until task.ID
	// Limit is how many tasks are looked at, whatever their state; 0 is 500, more than 1,000 is
	// 1,000.
	Limit int
	// Keep says how long a task stays, counted from UpdatedAt: a final row changes no more.
	Keep Retention
}

// Pruned is what became of a Prune.
type Pruned struct {
	Deleted int
	// Keys is how many kept keys were removed because their end has passed, Limit at most: as many
	// as Limit say that there may be more.
	Keys int
	// Next is where to go on: the After of the next Prune. It is zero when nothing is left to look
	// at.
	Next task.ID
}

// Pruner deletes what has been finished for long enough.
type Pruner interface {
	// Prune looks at one page of tasks in the order of their ids and deletes those that have stayed
	// long enough by the store's clock, each in one transaction with its history. A task that is
	// not final, that came back from a final state meanwhile, or that a foreign transaction holds
	// stays. Jobs keep their cursors, and keys kept beyond their task stay until their end: those
	// over it are removed, wherever the page is. A stale fence gives ErrFenced and deletes nothing.
	// The work of a call is bounded by Limit, however many tasks there are.
	Prune(ctx context.Context, f Fence, p Prune) (Pruned, error)
}
