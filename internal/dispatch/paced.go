package dispatch

import "github.com/ax-sched/ax/task"

// paced reports whether a task may be claimed as far as the rate of retries goes, and counts it; if
// not, at is when it is tried again. One that waits for its overlap key is slow enough.
func (d *Dispatcher) paced(t *task.Task) (at task.Time, ok bool) {
	again := t.LastOutcome == task.OutFailed || t.LastOutcome == task.OutTimeout
	asked := t.TriggeredAt > t.LastRetryAt // a person wants it now
	first := t.Attempt == 0
	if waits(t) || !first && (!again || asked) {
		return 0, true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if first {
		d.retries.First(d.cfg.Now())
		return 0, true
	}
	return d.retries.Again(d.cfg.Now())
}

// Delayed returns how often the rate of retries has put one off.
func (d *Dispatcher) Delayed() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.retries.Delayed()
}
