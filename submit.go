package ax

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ax-sched/ax/internal/kinds"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/seal"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// NewTask is a task to submit. Only Kind or Args is required.
type NewTask struct {
	// ID makes a repeated Submit harmless: the same id is the same task. Default: a new one.
	ID ID
	// Kind names the handler.
	Kind string
	// Key is the caller's business key. Among live tasks of the kind it is unique: a second submit
	// answers Duplicate with the id of the first. Empty: no uniqueness.
	Key string
	// Unique keeps Key taken beyond that: [UniqueFor] a window from when the task was made, or
	// [UniqueForever]. Default: [UniqueLive].
	//
	// Two submits that both have such a scope make one task within that of the first, whatever
	// became of it: failed, canceled or deleted. One without looks at live tasks only, and keeps
	// nothing: give all submits of a key the same. Retry and Trigger are refused by live tasks only.
	Unique Unique
	// Payload is handed to the handler byte for byte; at most 256 KiB.
	Payload []byte
	// Args is a typed payload: it sets Kind and, as JSON, Payload; leave those two empty then.
	Args Args
	// Delay and RunAt say when the task is due; neither: at once. A delay is added to the store's
	// time when the row is written, so a wrong clock here moves nothing.
	Delay time.Duration
	RunAt time.Time
	// Priority is NORMAL unless set.
	Priority Priority
	// Timeout, MaxRetries and Retry replace those of the kind where set. Use [Int] for MaxRetries.
	Timeout    time.Duration
	MaxRetries *int
	Retry      *retry.Policy
	// AtMostOnce never runs the handler again by itself: no retries, and what nobody knows the end
	// of becomes HELD, where a person decides. OnUnknown alone says the latter: [HoldUnknown] or
	// [RetryUnknown]. Default: as the kind says.
	AtMostOnce bool
	OnUnknown  Unknown
	// ExpiresAt ends the task as DEAD(expired) if no attempt has started by then; no retry starts
	// after it. Default: never.
	ExpiresAt time.Time
	// MaxLateness ends it as SKIPPED(late) if it is not begun within so long of when it was due;
	// MaxLifetime makes it HELD if an attempt gives no result within so long of its start, looked
	// at every Config.Sweep. Default: as the kind says.
	MaxLateness, MaxLifetime time.Duration
	// OverlapKey is shared by tasks and jobs that must never run at the same time, in any process.
	// Overlap says what happens when it is busy, and needs one. Default: [Queue].
	OverlapKey string
	Overlap    Overlap
	// Service is who to call about this task. Default: Config.Service.
	Service string
	// Labels are for people and searches.
	Labels map[string]string
}

// Int returns a pointer to n, for optional fields.
func Int(n int) *int { return &n }

// Result answers a submit.
type Result struct {
	// ID is the task's id; of a duplicate that of the task that has the key. Where the retention has
	// deleted that, Get of it gives [ErrNotFound].
	ID ID
	// Duplicate is set when another task has the kind and key; nothing was made.
	Duplicate bool
	// State is that of the task when the row was written or found, and NONE of a deleted one.
	State State
}

// Unique is how long a task keeps its key; see [NewTask].
type Unique = task.Unique

// The scopes of a key beside windows.
const (
	UniqueLive    = task.UniqueLive    // until the task has ended
	UniqueForever = task.UniqueForever // also after it was deleted; its key is never removed
)

// UniqueFor is a window: until d after the task was made, by the store's clock, and until it has
// ended. It begins with each task and is not aligned: with 12 hours, of submits at 11:59 and 12:01
// the second is a duplicate, and one at 23:59 makes the next task. The submit refuses a d of less
// than a second or more than 3,650 days.
func UniqueFor(d time.Duration) Unique { return task.UniqueFor(d) }

// maxSubmit is how many rows one transaction of SubmitMany makes.
const maxSubmit = 1000

// Submit makes a task. When it returns without an error the task is committed and will not be
// lost. It works before and without Run. Where another open transaction has the same kind and key
// (see SubmitTx) it waits for its end, as long as ctx lets it. An error means that the task may or
// may not exist: repeat with the same ID, or rely on Key.
func (s *Scheduler) Submit(ctx context.Context, n NewTask) (Result, error) {
	row, err := s.newRow(ctx, &n)
	if err != nil {
		return Result{}, fmt.Errorf("submit: %w", err)
	}
	// A repeated id might meet its own first row, which another execution has started.
	// What may have expired is for the claim to decide.
	if n.ID.IsZero() && row.RunIn == 0 && row.RunAt == task.StoreNow && row.ExpiresAt == 0 {
		in, done, err := s.engine.Load().Insert(ctx, row)
		switch {
		case err != nil:
			return Result{}, fmt.Errorf("submit: %w", err)
		case done:
			return result(in), nil
		}
	}
	res, err := s.insert(ctx, []task.Task{row})
	if err != nil {
		return Result{}, err
	}
	return res[0], nil
}

// Delay submits a task of the kind that is due after d.
func (s *Scheduler) Delay(ctx context.Context, kind, key string, d time.Duration,
	payload []byte) (Result, error) {
	return s.Submit(ctx, NewTask{Kind: kind, Key: key, Delay: d, Payload: payload})
}

// DelayFunc is Delay in one line with the handler, which is registered if the kind has none here.
// The handler must take everything from its task: it may run in another process, after a restart.
// It must be registered again at start-up; until then such tasks wait.
func (s *Scheduler) DelayFunc(ctx context.Context, kind, key string, d time.Duration,
	payload []byte, h Handler) (Result, error) {
	if s.kinds.Find(kind) == nil {
		if err := s.register(kind, h, nil); err != nil && !errors.Is(err, ErrDuplicateKind) {
			return Result{}, fmt.Errorf("handle %q: %w", kind, err)
		}
	}
	return s.Delay(ctx, kind, key, d, payload)
}

// SubmitMany makes many tasks, up to 1,000 in one transaction, and answers in the same order. All
// are checked before the first is written. After an error the tasks of earlier transactions exist.
func (s *Scheduler) SubmitMany(ctx context.Context, ns []NewTask) ([]Result, error) {
	rows, err := s.rows(ctx, ns)
	if err != nil {
		return nil, err
	}
	out := make([]Result, 0, len(rows))
	for part := range slices.Chunk(rows, maxSubmit) {
		res, err := s.insert(ctx, part)
		if err != nil {
			return out, err
		}
		out = append(out, res...)
	}
	return out, nil
}

// rows checks new tasks and builds their rows.
func (s *Scheduler) rows(ctx context.Context, ns []NewTask) ([]task.Task, error) {
	rows := make([]task.Task, len(ns))
	for i, n := range ns {
		var err error
		if rows[i], err = s.newRow(ctx, &n); err != nil {
			return nil, fmt.Errorf("submit: task %d: %w", i, err)
		}
	}
	return rows, nil
}

// insert writes rows as SCHEDULED and tells the trigger of this process.
func (s *Scheduler) insert(ctx context.Context, rows []task.Task) ([]Result, error) {
	ins, err := s.store.Insert(ctx, store.Fence{}, rows)
	if err != nil {
		return nil, fmt.Errorf("submit: %w", err)
	}
	s.engine.Load().Made(rows, ins)
	return results(ins), nil
}

func results(ins []store.Inserted) []Result {
	out := make([]Result, len(ins))
	for i, in := range ins {
		out[i] = result(in)
	}
	return out
}

func result(in store.Inserted) Result {
	return Result{ID: in.ID, Duplicate: in.Duplicate, State: in.State}
}

// newRow is row for a task that is submitted.
func (s *Scheduler) newRow(ctx context.Context, n *NewTask) (task.Task, error) {
	if err := kinds.Fill(n.Args, &n.Kind, &n.Payload); err != nil {
		return task.Task{}, err
	}
	n.Args = nil
	if f := s.cfg.BeforeSubmit; f != nil {
		n.Labels = maps.Clone(n.Labels)
		if err := f(ctx, n); err != nil {
			return task.Task{}, err
		}
	}
	t, err := s.row(*n)
	t.Payload = s.cfg.Seal.Seal(seal.Payload(t.Kind), t.Payload)
	return t, err
}

// row checks a new task and builds its row. The payload is still the caller's, to be sealed.
func (s *Scheduler) row(n NewTask) (task.Task, error) {
	if err := kinds.Fill(n.Args, &n.Kind, &n.Payload); err != nil {
		return task.Task{}, err
	}
	t := task.Task{ID: n.ID, Kind: n.Kind, Key: n.Key, Unique: n.Unique, Group: s.cfg.Group,
		Payload: n.Payload, Bucket: n.Priority.OrNormal(), FireTime: task.StoreNow,
		Timeout: n.Timeout, Labels: n.Labels, OnUnknown: n.OnUnknown,
		ExpiresAt: task.FromGo(n.ExpiresAt), MaxLateness: n.MaxLateness, MaxLifetime: n.MaxLifetime,
		OwnerService: cmp.Or(n.Service, s.cfg.Service), OverlapKey: n.OverlapKey}
	var errs [5]error
	if n.AtMostOnce {
		if n.MaxRetries != nil && *n.MaxRetries > 0 || n.OnUnknown == RetryUnknown {
			errs[0] = &InputError{Field: "at_most_once",
				Reason: "does not go with retries; leave MaxRetries and OnUnknown out"}
		}
		n.MaxRetries, t.OnUnknown = Int(0), HoldUnknown
	}
	if s.cfg.RequireKind && s.kinds.Find(n.Kind) == nil {
		errs[1] = &InputError{Field: "kind", Err: ErrUnknownKind,
			Reason: fmt.Sprintf("%q has no handler in this process", n.Kind)}
	}
	t.MaxRetries, t.RetryPolicy, errs[2] = kinds.Own(n.MaxRetries, n.Retry, s.cfg.Logger)
	if n.OverlapKey != "" || n.Overlap != 0 {
		if t.Overlap, errs[4] = task.ParseOverlap(int(cmp.Or(n.Overlap, Queue))); errs[4] != nil {
			t.OverlapKey = "" // one complaint is enough
		}
	}
	errs[3] = errors.Join(task.CheckDue(n.Delay, n.RunAt), task.CheckExpires(n.ExpiresAt, n.RunAt))
	if err := errors.Join(t.CheckInput(), errors.Join(errs[:]...)); err != nil {
		return task.Task{}, err
	}
	t.Labels = maps.Clone(t.Labels) // the handler may run while the caller uses its own again
	if t.ID.IsZero() {
		t.ID = s.newID()
	}
	t.State, t.Run = task.Scheduled, 1
	t.RunAt, t.RunIn = task.StoreNow, n.Delay
	if !n.RunAt.IsZero() {
		t.RunAt, t.RunIn = task.FromGo(n.RunAt), 0
	}
	return t, nil
}
