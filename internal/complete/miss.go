package complete

import "github.com/ax-sched/ax/task"

// expires is until when the task may start, or 0. Who retries or triggers a task that has expired
// knows that, and wants it to run.
func expires(t *task.Task) task.Time {
	if t.TriggeredAt > t.ExpiresAt {
		return 0
	}
	return t.ExpiresAt
}

// Miss ends a task that is due and must not start any more: it has expired, or nothing of it was
// begun within its max lateness. nil: it may start. A failed task is never late: it would be hidden
// among the skipped ones.
func Miss(t *task.Task, p Policy, now task.Time) *task.Transition {
	if tr := Expire(t, now); tr != nil {
		return tr
	}
	late := p.MaxLateness > 0 && now.Sub(t.RunAt) > p.MaxLateness
	if !late || t.Attempt > 0 || t.State != task.Scheduled {
		return nil
	}
	return Skip(t, task.Late)
}

// Expire ends a task that waits past its ExpiresAt, or returns nil.
func Expire(t *task.Task, now task.Time) *task.Transition {
	at := expires(t)
	if at == 0 || now <= at || t.State != task.Pending && t.State != task.Scheduled {
		return nil
	}
	tr := task.Begin(t)
	tr.Set.Reason, tr.Set.FinishedAt = task.Expired, task.StoreNow
	return tr.Then(task.Expire, task.Expired, "").Keys(t)
}

// Overlong holds an execution that has given no result within its task's max lifetime, or returns
// nil. It may still run, so the task keeps its keys, and a late report counts.
func Overlong(t *task.Task, p Policy, now task.Time) *task.Transition {
	if p.MaxLifetime <= 0 || !t.State.Live() || now.Sub(t.DispatchedAt) <= p.MaxLifetime {
		return nil
	}
	tr := task.Begin(t)
	tr.Execution, tr.Set.LastOutcome = t.ExecutionID, task.OutTimeout
	hold(tr, task.Overlong, "no result within its max lifetime")
	return tr.Keys(t)
}
