package batch

import (
	"sync"

	"github.com/ax-sched/ax/task"
)

// Apart counts the keys whose callers wait apart from the batches because a foreign transaction has
// them open, so that the next insert of the same key does not stop a batch again. The zero value is
// empty; it is safe for concurrent use.
type Apart struct {
	mu     sync.Mutex
	counts map[uniqueKey]int
}

type uniqueKey struct{ kind, key string }

// Meets reports whether one of the tasks has such a key.
func (a *Apart) Meets(tasks []task.Task) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.counts) == 0 {
		return false
	}
	for i := range tasks {
		if t := &tasks[i]; t.Key != "" && a.counts[uniqueKey{t.Kind, t.Key}] > 0 {
			return true
		}
	}
	return false
}

// Add counts the keys of tasks, until Remove.
func (a *Apart) Add(tasks []task.Task) { a.count(tasks, 1) }

// Remove ends an Add of the same tasks.
func (a *Apart) Remove(tasks []task.Task) { a.count(tasks, -1) }

func (a *Apart) count(tasks []task.Task, by int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range tasks {
		t := &tasks[i]
		if t.Key == "" {
			continue
		}
		u := uniqueKey{t.Kind, t.Key}
		if a.counts == nil {
			a.counts = make(map[uniqueKey]int)
		}
		if a.counts[u] += by; a.counts[u] == 0 {
			delete(a.counts, u)
		}
	}
}
