package doctor

import (
	"fmt"
	"slices"
	"time"

	"github.com/ax-sched/ax/task"
)

// execution is one attempt as the history tells it.
type execution struct {
	id         task.ID
	attempt    int
	begin, end int // places in the history; end 0: still open
}

// executions reads the attempts of one task. An attempt ends with its report, with the retirement
// of its executor's epoch, or when somebody gives up to wait for it.
func executions(h []task.Entry) (out []execution) {
	find := func(id task.ID) *execution {
		for i := range out {
			if out[i].id == id {
				return &out[i]
			}
		}
		return nil
	}
	for i, en := range h {
		if en.ExecutionID.IsZero() {
			continue
		}
		x := find(en.ExecutionID)
		switch en.Event {
		case task.Claim, task.ClaimLocal, task.SubmitClaimed:
			if x == nil {
				out = append(out, execution{id: en.ExecutionID, attempt: en.Attempt, begin: i})
			}
		case task.Succeed, task.Fail, task.Cancel, task.Snooze, task.HandBack, task.Return,
			task.Undeliver, task.Lose, task.TimeOut, task.Hold:
			if x == nil || en.From == task.Failed || en.From == task.Timeout {
				continue // the second move of one change: Hold after TimeOut
			}
			x.end = i
		}
	}
	return out
}

// mostStep is how far the clock of a database may step back without breaking a promise.
const mostStep = time.Second

// overlap returns the first pair of executions of one run of which the later began before the
// earlier one had ended, by the order of the versions or by the times, which may be wrong by what
// the database's clock may step back.
func overlap(h []task.Entry) (earlier, later int, found bool) {
	xs := executions(h)
	for i, a := range xs {
		for j := i + 1; j < len(xs); j++ {
			b := xs[j]
			if slices.ContainsFunc(h[a.begin:b.begin], func(e task.Entry) bool { return e.NewRun() }) {
				break
			}
			if a.end == 0 || a.end > b.begin || h[b.begin].At.Add(mostStep) < h[a.end].At {
				return a.attempt, b.attempt, true
			}
		}
	}
	return 0, 0, false
}

// histories: executions of one run that were under way at the same time.
func (e *examiner) histories() {
	for _, h := range e.Histories {
		if len(h) == 0 {
			continue
		}
		id := h[0].TaskID.String()
		if a, b, ok := overlap(h); ok {
			e.add(Finding{Code: "execution.overlap", Severity: Error, Count: 1, IDs: []string{id},
				What: fmt.Sprintf("attempt %d of task %s began before attempt %d had ended", b, id, a),
				Why: "this must never be: its effect may have happened twice. The history was edited, " +
					"the database's clock stepped, or it is a bug of ax",
				Do: []string{"check the effect of the task by its id and run",
					"keep this for a report: ax tasks show " + id + " --json"}})
		}
	}
}
