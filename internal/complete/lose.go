package complete

import (
	"time"

	"github.com/ax-sched/ax/task"
)

// When an executor dies, nobody knows which of its tasks took it down, or whether any did. All of
// them come back: the first time at once, the second time as suspects. An executor has one place
// for a suspect, so when it dies again the one that held the place is the likely cause, and only
// that one is DEAD(poison). A suspect keeps the place for SuspectTime at most. What runs longer has
// shown that it does not take its executor down, and comes back as a suspect however often its
// executors die later.

// MaxRecoveries is how often a task comes back after its executor died under it: once at once,
// then as a suspect.
const MaxRecoveries = 2

// SuspectTime is how long a suspect keeps the place for suspects. A task that takes its process
// down does it within seconds, and a slow one needs no more than a minute to read its input and
// run out of memory. The default hard time-out is half of it, so that most suspects end in their
// place. Longer, and the suspects that a crash of everything leaves behind, which start one after
// the other, would wait too long for those that take hours.
const SuspectTime = time.Minute

// suspectDelay is the pause before a suspect runs again.
const suspectDelay = time.Second

// Suspect reports whether the task may be what takes executors down: an executor gives its one
// place for suspects to it before it runs it.
func Suspect(t *task.Task) bool { return t.Recoveries >= MaxRecoveries }

// Lose recovers the executions of one retired epoch, whose executor died at end or before by the
// store's clock. If a suspect was in its place then, only that one is counted; the others come back
// as they were. If none was, all are counted that are not suspects yet. Tasks whose policy holds
// unknown outcomes do not come back: a person decides.
func Lose(rows []task.Task, end task.Time, policy func(*task.Task) Policy) []*task.Transition {
	held := holder(rows, end)
	out := make([]*task.Transition, 0, len(rows))
	for i := range rows {
		t := &rows[i]
		out = append(out, lose(t, policy(t), t == held || held == nil && !Suspect(t)))
	}
	return out
}

// holder returns the suspect that was in its place when the executor died, or nil. It is the one
// that started last: the place was free then, so the others had left it. In doubt it is none: the
// executor may have died when the time was over and the place empty.
func holder(rows []task.Task, end task.Time) *task.Task {
	var last *task.Task
	for i := range rows {
		if t := &rows[i]; Suspect(t) && (last == nil || began(t) > began(last)) {
			last = t
		}
	}
	if last == nil || end.Sub(began(last)) > SuspectTime {
		return nil
	}
	return last
}

// began is when the last execution started, as far as the row knows.
func began(t *task.Task) task.Time { return max(t.DispatchedAt, t.StartedAt) }

func lose(t *task.Task, p Policy, count bool) *task.Transition {
	const words = "its executor is gone"
	tr := task.Begin(t)
	m := &tr.Set
	m.FinishedAt, m.LastOutcome, m.Error = task.StoreNow, task.OutLost, words
	switch {
	case t.CancelAsked != 0 && !p.once():
		m.Reason = task.ByRequest
		return tr.Then(task.Cancel, task.ByRequest, words).Keys(t)
	case p.holds():
		hold(tr, task.Lost, words)
		return tr.Keys(t)
	}
	tr.Then(task.Lose, task.Lost, words)
	if count {
		m.Recoveries++
	}
	if count && m.Recoveries > MaxRecoveries {
		m.Reason = task.Poison
		return tr.Then(task.Bury, task.Poison, "").Keys(t)
	}
	m.RunAt, m.RunIn = task.StoreNow, 0
	how := ""
	if m.Recoveries >= MaxRecoveries {
		m.RunIn, how = suspectDelay, "as a suspect"
	}
	return tr.Then(task.Recover, 0, how).Keys(t)
}
