package dispatch

import "github.com/ax-sched/ax/task"

// pace says what a claim counts as, for the rate of retries.
type pace uint8

const (
	unpaced pace = iota
	first        // attempt of a task
	again        // after a failure
)

// paceOf says what a claim of the task counts as. Recoveries do not count, nor what a person has
// asked for.
func paceOf(t *task.Task) pace {
	failed := t.LastOutcome == task.OutFailed || t.LastOutcome == task.OutTimeout
	switch {
	case t.Attempt == 0:
		return first
	case failed && t.TriggeredAt <= t.LastRetryAt:
		return again
	}
	return unpaced
}

// paced reports whether the rate of retries lets a claim through, which it counts then; if not, at
// is when the task is tried again.
func (d *Dispatcher) paced(p pace) (at task.Time, ok bool) {
	if p == unpaced {
		return 0, true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if p == first {
		d.retries.First(d.cfg.Now())
		return 0, true
	}
	return d.retries.Again(d.cfg.Now())
}

// unpace takes back what was counted for a claim that came to nothing.
func (d *Dispatcher) unpace(p pace) {
	if p == unpaced {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.retries.Undo(d.cfg.Now(), p == first)
}

// Delayed returns how often the rate of retries has put one off.
func (d *Dispatcher) Delayed() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.retries.Delayed()
}
