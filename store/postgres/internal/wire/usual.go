package wire

import "github.com/ax-sched/ax/task"

// Usual reports whether an insert with the parameters of UsualTask can store t: it sets nothing but
// what most submits set.
func Usual(t *task.Task) bool {
	return t.State == task.Scheduled && t.JobID.IsZero() && t.Job == "" && t.FireFrom == 0 &&
		t.FireCount == 0 && t.ExpiresAt == 0 && t.MaxLateness == 0 && t.MaxLifetime == 0 &&
		t.OnUnknown == 0 && onlyDue(&t.Mutable)
}

// onlyDue reports whether m is that of a task which has never been moved.
func onlyDue(m *task.Mutable) bool {
	return m.LastOutcome == 0 && m.Reason == 0 && m.Attempt == 0 && m.Failures == 0 &&
		m.Dispatches == 0 && m.Recoveries == 0 && m.Executor == "" && m.Epoch == 0 &&
		m.ExecutionID.IsZero() && m.Token == 0 && m.DispatchedAt == 0 && m.StartedAt == 0 &&
		m.FinishedAt == 0 && m.LastRetryAt == 0 && m.TriggeredAt == 0 && m.CancelAsked == 0 &&
		m.StopAsked == 0 && m.Error == "" && m.Result == nil
}

// UsualTask writes the 18 parameters of an insert of such a task. The channel is that of the hint,
// or "".
func (a *Args) UsualTask(t *task.Task, channel string) {
	a.ID(t.ID)
	a.Text(t.Kind)
	a.Text(t.Group)
	a.TextOrNull(t.Key)
	a.Bytes(t.Payload)
	a.Int2(int16(t.Bucket))
	a.Int8OrNull(int64(t.FireTime))
	if t.RunAt == task.StoreNow {
		a.Int8OrNull(0)
	} else {
		a.Int8(int64(t.RunAt))
	}
	a.Int8(t.RunIn.Microseconds())
	a.Int2(int16(t.Overlap))
	a.TextOrNull(t.OverlapKey)
	a.Int4(t.MaxRetries)
	a.Int8OrNull(int64(t.Timeout))
	a.TextOrNull(t.RetryPolicy)
	a.TextOrNull(t.OwnerService)
	a.Labels(t.Labels)
	a.Int4(t.Run)
	a.TextOrNull(channel)
}
