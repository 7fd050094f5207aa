package admit

import "github.com/ax-sched/ax/task"

// Waiting returns the number of tasks of each bucket, and the earliest RunAt among those that are
// next of their kind; 0 if there is none.
func (q *Queue) Waiting() (n [lanes]int, oldest task.Time) {
	for b := range q.lane {
		l := &q.lane[b]
		n[b] = l.n
		if l.n == 0 {
			continue
		}
		for _, f := range l.order {
			if !f.empty() && (oldest == 0 || f.first().RunAt < oldest) {
				oldest = f.first().RunAt
			}
		}
	}
	return n, oldest
}
