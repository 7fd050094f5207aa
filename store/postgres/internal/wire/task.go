package wire

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ax-sched/ax/task"
)

// Mutable writes the part of rows that a transition replaces: 23 arrays in this order.
func (a *Args) Mutable(d *Dictionary, n int, at func(i int) *task.Mutable) {
	a.Int2s(n, func(i int) int { return int(at(i).State) })
	a.Int2s(n, func(i int) int { return int(at(i).LastOutcome) })
	a.Int2s(n, func(i int) int { return int(at(i).Reason) })
	a.Int4s(n, func(i int) int { return at(i).Run })
	a.Int4s(n, func(i int) int { return at(i).Attempt })
	a.Int4s(n, func(i int) int { return at(i).Failures })
	a.Int4s(n, func(i int) int { return at(i).Dispatches })
	a.Int4s(n, func(i int) int { return at(i).Recoveries })
	a.Int8s(n, func(i int) int64 { return int64(at(i).RunAt) })
	a.Int8s(n, func(i int) int64 {
		if at(i).RunAt != task.StoreNow {
			return 0
		}
		return at(i).RunIn.Microseconds()
	})
	a.Words(d, n, func(i int) string { return at(i).Executor })
	a.Int8s(n, func(i int) int64 { return at(i).Epoch })
	a.IDs(n, func(i int) task.ID { return at(i).ExecutionID })
	a.Int8s(n, func(i int) int64 { return at(i).Token })
	a.Int8s(n, func(i int) int64 { return int64(at(i).DispatchedAt) })
	a.Int8s(n, func(i int) int64 { return int64(at(i).StartedAt) })
	a.Int8s(n, func(i int) int64 { return int64(at(i).FinishedAt) })
	a.Int8s(n, func(i int) int64 { return int64(at(i).LastRetryAt) })
	a.Int8s(n, func(i int) int64 { return int64(at(i).TriggeredAt) })
	a.Int8s(n, func(i int) int64 { return int64(at(i).CancelAsked) })
	a.Int8s(n, func(i int) int64 { return int64(at(i).StopAsked) })
	a.Texts(n, func(i int) string { return Storable(at(i).Error) })
	a.Byteas(n, func(i int) []byte { return at(i).Result })
}

// TaskColumns are read by Row.Task, in this order, after payload and result.
const TaskColumns = `t.id, t.run_at, t.version, t.created_at, t.updated_at, t.epoch, t.token,
       t.dispatched_at, t.started_at, t.finished_at, t.last_retry_at, t.triggered_at,
       t.cancel_asked, t.stop_asked, t.fire_time, t.fire_from, t.timeout, t.execution_id,
       t.job_id, t.run, t.attempt, t.failures, t.dispatches, t.recoveries, t.fire_count,
       t.max_retries, t.state, t.bucket, t.last_outcome, t.reason, t.overlap, t.kind, t.grp, t.key,
       t.job, t.overlap_key, t.executor, t.retry_policy, t.owner_service, t.labels, t.error,
       t.expires_at, t.max_lateness, t.max_lifetime, t.on_unknown`

// Task reads one row of ax_tasks: payload, result and TaskColumns.
func (r *Row) Task() (t task.Task) {
	t.Payload, t.Result = r.Bytes(), r.Bytes()
	t.ID, t.RunAt, t.Version = r.ID(), r.Time(), r.Int8()
	t.CreatedAt, t.UpdatedAt = r.Time(), r.Time()
	t.Epoch, t.Token = r.Int8(), r.Int8()
	t.DispatchedAt, t.StartedAt, t.FinishedAt = r.Time(), r.Time(), r.Time()
	t.LastRetryAt, t.TriggeredAt = r.Time(), r.Time()
	t.CancelAsked, t.StopAsked = r.Time(), r.Time()
	t.FireTime, t.FireFrom = r.Time(), r.Time()
	t.Timeout = time.Duration(r.Int8())
	t.ExecutionID, t.JobID = r.ID(), r.ID()
	t.Run, t.Attempt, t.Failures = r.Int4(), r.Int4(), r.Int4()
	t.Dispatches, t.Recoveries, t.FireCount = r.Int4(), r.Int4(), r.Int4()
	t.MaxRetries = r.Int4()
	t.State, t.Bucket = task.State(r.Int2()), task.Bucket(r.Int2())
	t.LastOutcome, t.Reason = task.Outcome(r.Int2()), task.Reason(r.Int2())
	t.Overlap = task.Overlap(r.Int2())
	t.Kind, t.Group, t.Key, t.Job, t.OverlapKey = r.Text(), r.Text(), r.Text(), r.Text(), r.Text()
	t.Executor, t.RetryPolicy, t.OwnerService = r.Text(), r.Text(), r.Text()
	t.Labels = r.Labels()
	t.Error = r.Text()
	t.ExpiresAt, t.MaxLateness = r.Time(), time.Duration(r.Int8())
	t.MaxLifetime, t.OnUnknown = time.Duration(r.Int8()), task.Unknown(r.Int2())
	return t
}

// Storable makes a text that PostgreSQL takes. What went wrong must be recorded whatever its
// words are, so nothing is refused here.
func Storable(s string) string {
	if Plain(s) {
		return s
	}
	return task.CutText(s, 4*len(s)) // replacing a byte makes three of it: nothing is cut
}

// Plain reports whether a text column can hold s.
func Plain(s string) bool { return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) }
