package trigger

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/ax-sched/ax/task"
)

// What a person says about a job: each function changes its control, or says why not.

// pause stops the fires of a job; a second pause replaces the first.
func pause(j *task.Job, until, now task.Time, a Act) error {
	if until != 0 && until <= now {
		return &task.InputError{Field: "until", Reason: "has passed; use a later time, or " +
			"none, to pause until somebody resumes it"}
	}
	j.PausedAt, j.PausedUntil, j.PausedBy, j.PauseReason = task.StoreNow, until, a.Actor, a.Reason
	return nil
}

// resume lets a job fire again. What it has missed is decided by its misfire policy.
func resume(j *task.Job) {
	j.PausedAt, j.PausedUntil, j.PausedBy, j.PauseReason = 0, 0, "", ""
}

// skip says that the next fire does not run, and returns its time.
func skip(j *task.Job, now task.Time, a Act) (task.Time, error) {
	if j.Schedule.After > 0 {
		return 0, &task.InputError{Field: "schedule", Reason: "is the end of a task, so the time " +
			"of the next fire is not known; pause the job instead"}
	}
	next, err := Preview(j, max(j.LastFire, now), 1)
	if err != nil {
		return 0, err
	}
	if len(next) == 0 {
		return 0, &task.InputError{Field: "schedule", Reason: "has no fire any more"}
	}
	j.SkipUntil, j.SkipBy, j.SkipReason = next[0], a.Actor, a.Reason
	return next[0], nil
}

// skipped says in words who did not want a fire.
func skipped(j *task.Job) string {
	who := j.SkipBy
	if who == "" {
		who = "somebody"
	}
	if j.SkipReason == "" {
		return "skipped by " + who
	}
	return task.CutText(fmt.Sprintf("skipped by %s: %s", who, j.SkipReason), task.MaxError)
}

// Upcoming returns the next n fires that will run, as far as time alone decides: not those that
// are to be skipped, and none while the job is paused.
func Upcoming(j *task.Job, now task.Time, n int) ([]task.Time, error) {
	from := max(j.LastFire, now)
	if j.Paused(now) {
		if j.PausedUntil == 0 {
			return nil, nil
		}
		from = max(from, j.PausedUntil-1)
	}
	out, err := Preview(j, from, n)
	i := slices.Index(out, j.SkipUntil)
	if i < 0 {
		return out, err
	}
	more, err := Preview(j, out[len(out)-1], 1) // one that is skipped does not count as a fire
	return append(slices.Delete(out, i, i+1), more...), err
}

// manual builds the task of a run that a person has asked for. It is no fire: the cursor stays, and
// its fire time is when it was asked for.
func manual(j *task.Job, id task.ID) task.Task {
	t := newTask(j, id)
	t.State, t.Run, t.RunAt = task.Scheduled, 1, task.StoreNow
	t.FireTime, t.TriggeredAt = task.StoreNow, task.StoreNow
	return t
}

// runID is the id of the task that a run key of a job stands for: a repeated call finds the row of
// the first. Its time part is that of the job, because a time of the call would differ.
func runID(j *task.Job, key string) task.ID {
	sum := sha256.Sum256(append(j.ID[:], key...))
	return task.NewID(int64(j.CreatedAt)/1000, [10]byte(sum[:10]))
}
