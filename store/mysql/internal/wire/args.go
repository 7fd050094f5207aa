// Package wire puts values into statements and reads them from rows of MySQL and MariaDB, and knows
// the errors and the addresses of these servers.
package wire

import (
	"github.com/ax-sched/ax/task"
)

// Verb is the text of a statement as written in queries.go: a question mark stands for a value, and
// what is in braces is repeated for each row of a call, with a comma in between, or with what
// follows a bar.
type Verb string

// Args are the values of a statement in their order.
type Args struct {
	vals []value
	rows []int // how often each pair of braces is repeated
}

// value is a number, bytes, or NULL.
type value struct {
	kind  uint8
	num   int64
	bytes string
}

const (
	isNull uint8 = iota
	isNum
	isBytes
)

// Int writes a number.
func (a *Args) Int(n int64) { a.vals = append(a.vals, value{kind: isNum, num: n}) }

// IntOrNull writes NULL for 0.
func (a *Args) IntOrNull(n int64) {
	if n == 0 {
		a.vals = append(a.vals, value{})
		return
	}
	a.Int(n)
}

// Time writes an instant.
func (a *Args) Time(t task.Time) { a.Int(int64(t)) }

// Text writes bytes.
func (a *Args) Text(s string) { a.vals = append(a.vals, value{kind: isBytes, bytes: s}) }

// Bytes writes NULL for nil.
func (a *Args) Bytes(b []byte) {
	if b == nil {
		a.vals = append(a.vals, value{})
		return
	}
	a.Text(string(b))
}

// ID writes NULL for the zero id.
func (a *Args) ID(id task.ID) {
	if id.IsZero() {
		a.vals = append(a.vals, value{})
		return
	}
	a.Text(string(id[:]))
}

// IDs writes the list of ids of one pair of braces.
func (a *Args) IDs(ids []task.ID) {
	a.Rows(len(ids))
	for i := range ids {
		a.Text(string(ids[i][:]))
	}
}

// Rows says how often the next pair of braces is repeated.
func (a *Args) Rows(n int) { a.rows = append(a.rows, n) }

// Mutable writes a changing part in the order of the statements.
func (a *Args) Mutable(m *task.Mutable) {
	for _, n := range [...]int64{int64(m.State), int64(m.RunAt), int64(m.LastOutcome),
		int64(m.Reason), int64(m.Run), int64(m.Attempt), int64(m.Failures), int64(m.Dispatches),
		int64(m.Recoveries)} {
		a.Int(n)
	}
	a.Text(m.Executor)
	a.Int(m.Epoch)
	a.ID(m.ExecutionID)
	a.Int(m.Token)
	for _, t := range [...]task.Time{m.DispatchedAt, m.StartedAt, m.FinishedAt, m.LastRetryAt,
		m.TriggeredAt, m.CancelAsked, m.StopAsked} {
		a.Time(t)
	}
	a.Text(m.Error)
	a.Bytes(m.Result)
}

// Entry writes a row of the history.
func (a *Args) Entry(
	id task.ID, version int64, at task.Time, mv *task.Move, m *task.Mutable,
) {
	a.ID(id)
	a.Int(version)
	a.Time(at)
	for _, n := range [...]int64{int64(mv.From), int64(mv.To), int64(mv.Event), int64(mv.Reason),
		int64(m.Attempt), m.Epoch, m.Token} {
		a.Int(n)
	}
	a.Text(m.Executor)
	a.ID(m.ExecutionID)
	a.Text(task.CutText(mv.Actor, 1<<16-1))
	a.Text(mv.Detail)
}

// Job writes the columns after the id.
func (a *Args) Job(j *task.Job, labels string) {
	a.Text(j.Name)
	a.Text(j.Name)
	a.Int(j.Version)
	a.Text(j.Schedule.Cron)
	a.Text(j.Schedule.Zone)
	a.Int(int64(j.Schedule.Every))
	a.Int(int64(j.Schedule.After))
	a.Time(j.Schedule.At)
	a.Text(j.Kind)
	a.Text(j.Group)
	a.Bytes(j.Payload)
	for _, n := range [...]int64{int64(j.Bucket), int64(j.Overlap), int64(j.Misfire),
		int64(j.MaxRetries), int64(j.Timeout)} {
		a.Int(n)
	}
	a.Text(j.RetryPolicy)
	a.Text(j.OwnerService)
	a.Text(labels)
	a.Time(j.Anchor)
	a.Time(j.LastFire)
	a.ID(j.LastTask)
	a.Time(j.CreatedAt)
	a.Time(j.UpdatedAt)
	a.Time(j.DeletedAt)
	a.Text(j.OverlapKey)
	for _, n := range [...]int64{int64(j.MisfireGrace), int64(j.MisfireCap), int64(j.Jitter),
		int64(j.StartsAt), int64(j.EndsAt), j.MaxFires, j.Fires} {
		a.Int(n)
	}
	a.Control(&j.Control)
	a.Int(int64(j.OnUnknown))
	a.Int(int64(j.MaxLateness))
	a.Int(int64(j.MaxLifetime))
}

// Control writes seven columns.
func (a *Args) Control(c *task.Control) {
	a.Time(c.PausedAt)
	a.Time(c.PausedUntil)
	a.Text(c.PausedBy)
	a.Text(c.PauseReason)
	a.Time(c.SkipUntil)
	a.Text(c.SkipBy)
	a.Text(c.SkipReason)
}
