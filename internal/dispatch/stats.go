package dispatch

import "github.com/ax-sched/ax/task"

// Queue returns how many due tasks of each bucket wait for a slot, and the earliest RunAt among
// them; 0 if none waits.
func (d *Dispatcher) Queue() (n [task.Low + 1]int, oldest task.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, oldest = d.queue.Waiting()
	for _, it := range d.suspects {
		n[it.Bucket]++
		if oldest == 0 || it.RunAt < oldest {
			oldest = it.RunAt
		}
	}
	return n, oldest
}
