package doctor

import (
	"fmt"

	"github.com/ax-sched/ax/internal/trigger"
	"github.com/ax-sched/ax/task"
)

// missed returns the fire of a job that should have its record by now, or 0.
func (e *examiner) missed(j *task.Job) task.Time {
	if j.Paused(e.Now) {
		return 0
	}
	next, err := trigger.Preview(j, j.LastFire, 1)
	if err != nil || len(next) == 0 {
		return 0
	}
	if at := next[0]; e.Now.Sub(at) > lateAfter {
		return at
	}
	return 0
}

func (e *examiner) jobs() {
	skipped := map[string]int{}
	for i := range e.Skipped {
		t := &e.Skipped[i]
		if t.Job != "" && t.Reason == task.Overlapped && e.Now.Sub(t.UpdatedAt) < recently {
			skipped[t.Job]++
		}
	}
	for i := range e.Jobs {
		j := &e.Jobs[i]
		e.schedule(&j.Job)
		e.failing(j)
		if n := skipped[j.Name]; n >= skippedFires {
			e.add(Finding{Code: "job.skipping", Severity: Warning, Count: n, IDs: []string{j.Name},
				What: fmt.Sprintf("%d fires of job %s did not run in the last day, because the one "+
					"before still ran", n, j.Name),
				Why: "its run takes longer than the time between two fires",
				Do:  []string{"ax tasks list --job " + j.Name, "fire less often, or make it faster"}})
		}
		if j.Paused(e.Now) && j.PausedUntil == 0 && e.Now.Sub(j.PausedAt) > pausedFor {
			why := ""
			if j.PauseReason != "" {
				why = fmt.Sprintf(": %q", j.PauseReason)
			}
			e.add(Finding{Code: "job.paused", Severity: Warning, Count: 1, IDs: []string{j.Name},
				What: fmt.Sprintf("job %s has been paused for %s by %s%s", j.Name, e.age(j.PausedAt),
					j.PausedBy, why),
				Why: "it does not fire until somebody resumes it",
				Do:  []string{"ax jobs resume " + j.Name + " --reason '...'"}})
		}
	}
}

// schedule: a job that cannot fire, or does not.
func (e *examiner) schedule(j *task.Job) {
	if _, err := trigger.Preview(j, j.LastFire, 1); err != nil {
		e.add(Finding{Code: "job.invalid", Severity: Error, Count: 1, IDs: []string{j.Name},
			What: fmt.Sprintf("job %s cannot fire: %v", j.Name, err),
			Why:  "its schedule cannot be read by this version",
			Do:   []string{"put the job again with a schedule that `ax cron next` takes"}})
		return
	}
	next := e.missed(j)
	if next == 0 || e.Known && !e.Leader.Held() {
		return // without a leader one finding says it
	}
	e.add(Finding{Code: "job.late", Severity: Error, Count: 1, IDs: []string{j.Name},
		What: fmt.Sprintf("job %s should have fired %s ago and did not", j.Name, e.age(next)),
		Why:  "the leader records each fire within seconds, also one that a policy skips",
		Do:   []string{"look into the log of " + e.Leader.Holder + " for errors of this job"}})
}

// failing: the latest fires have all ended badly.
func (e *examiner) failing(j *Job) {
	bad, lastError := 0, ""
	var ids []task.ID
	for i := range j.Last {
		t := &j.Last[i]
		if t.State == task.Succeeded {
			break // before that it has worked
		}
		if t.State != task.Dead && (t.State.Final() || t.Failures == 0) {
			continue // skipped, canceled or not begun: says nothing
		}
		bad++
		ids = append(ids, t.ID)
		if lastError == "" {
			lastError = t.Error
		}
	}
	if bad < failingFires {
		return
	}
	what := fmt.Sprintf("the last %d fires of job %s have failed", bad, j.Name)
	if lastError != "" {
		what += ": " + task.CutText(lastError, 200)
	}
	e.add(Finding{Code: "job.failing", Severity: Error, Count: bad, IDs: some(ids), What: what,
		Why: "a job that never succeeds does nothing, however often it fires",
		Do: []string{"ax tasks show " + ids[0].String(),
			"ax tasks retry " + ids[0].String() + " --reason '...'"}})
}
