package wire

import (
	"bytes"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Row reads the columns of one row from left to right. The first error stays.
type Row struct {
	cols []sql.RawBytes
	next int
	err  error
}

func (r *Row) raw() []byte {
	r.next++
	return r.cols[r.next-1]
}

// Int reads a number; NULL is 0.
func (r *Row) Int() int64 {
	b := r.raw()
	if b == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("column %d: %w", r.next, err)
	}
	return n
}

// Time reads an instant.
func (r *Row) Time() task.Time { return task.Time(r.Int()) }

// Duration reads a duration.
func (r *Row) Duration() time.Duration { return time.Duration(r.Int()) }

// Text reads a text; NULL is "".
func (r *Row) Text() string { return string(r.raw()) }

// Bytes reads a copy; NULL is nil.
func (r *Row) Bytes() []byte { return bytes.Clone(r.raw()) }

// ID reads an id; NULL is the zero id.
func (r *Row) ID() (id task.ID) {
	copy(id[:], r.raw())
	return id
}

// Labels reads labels.
func (r *Row) Labels() map[string]string {
	labels, err := store.ParseLabels(r.Text())
	if err != nil && r.err == nil {
		r.err = err
	}
	return labels
}

// Mutable reads the changing part of a task.
func (r *Row) Mutable() task.Mutable {
	return task.Mutable{
		State: task.State(r.Int()), RunAt: r.Time(), LastOutcome: task.Outcome(r.Int()),
		Reason: task.Reason(r.Int()), Run: int(r.Int()), Attempt: int(r.Int()),
		Failures: int(r.Int()), Dispatches: int(r.Int()), Recoveries: int(r.Int()),
		Executor: r.Text(), Epoch: r.Int(), ExecutionID: r.ID(), Token: r.Int(),
		DispatchedAt: r.Time(), StartedAt: r.Time(), FinishedAt: r.Time(), LastRetryAt: r.Time(),
		TriggeredAt: r.Time(), CancelAsked: r.Time(), StopAsked: r.Time(), Error: r.Text(),
		Result: r.Bytes(),
	}
}

// Task reads a row of one of the statements that select whole tasks.
func (r *Row) Task() task.Task {
	return task.Task{
		Mutable: r.Mutable(), Version: r.Int(), UpdatedAt: r.Time(), ID: r.ID(), Group: r.Text(),
		Bucket: task.Bucket(r.Int()), Kind: r.Text(), ExpiresAt: r.Time(), Key: r.Text(),
		JobID: r.ID(), Job: r.Text(), FireTime: r.Time(), FireFrom: r.Time(),
		FireCount: int(r.Int()), Overlap: task.Overlap(r.Int()), OverlapKey: r.Text(),
		MaxRetries: int(r.Int()), Timeout: r.Duration(), RetryPolicy: r.Text(),
		OwnerService: r.Text(), Labels: r.Labels(), CreatedAt: r.Time(),
		OnUnknown: task.Unknown(r.Int()), MaxLateness: r.Duration(), MaxLifetime: r.Duration(),
		Payload: r.Bytes(),
	}
}

// Job reads a definition.
func (r *Row) Job() task.Job {
	return task.Job{
		ID: r.ID(), Name: r.Text(), Version: r.Int(),
		Schedule: task.Schedule{Cron: r.Text(), Zone: r.Text(), Every: r.Duration(),
			After: r.Duration(), At: r.Time()},
		Kind: r.Text(), Group: r.Text(), Payload: r.Bytes(), Bucket: task.Bucket(r.Int()),
		Overlap: task.Overlap(r.Int()), Misfire: task.Misfire(r.Int()), MaxRetries: int(r.Int()),
		Timeout: r.Duration(), RetryPolicy: r.Text(), OwnerService: r.Text(), Labels: r.Labels(),
		Anchor: r.Time(), LastFire: r.Time(), LastTask: r.ID(), CreatedAt: r.Time(),
		UpdatedAt: r.Time(), DeletedAt: r.Time(), OverlapKey: r.Text(),
		MisfireGrace: r.Duration(), MisfireCap: int(r.Int()), Jitter: r.Duration(),
		StartsAt: r.Time(), EndsAt: r.Time(), MaxFires: r.Int(), Fires: r.Int(),
		Control: task.Control{PausedAt: r.Time(), PausedUntil: r.Time(), PausedBy: r.Text(),
			PauseReason: r.Text(), SkipUntil: r.Time(), SkipBy: r.Text(), SkipReason: r.Text()},
		OnUnknown: task.Unknown(r.Int()), MaxLateness: r.Duration(), MaxLifetime: r.Duration(),
	}
}
