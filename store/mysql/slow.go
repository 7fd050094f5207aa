package mysql

import (
	"context"
	"sync"
	"time"

	"github.com/ax-sched/ax/store/mysql/internal/wire"
	"github.com/ax-sched/ax/task"
)

// slowPause is how long a caller in the slow lane leaves the connection to others.
const slowPause = 50 * time.Millisecond

// insertSlow inserts for a caller whose key is open in a foreign transaction: again and again, with
// a short wait each time, until that transaction ends or the caller's context does. It takes a
// reader's connection, so neither other inserts nor claims wait for it.
func (s *Store) insertSlow(ctx context.Context, c *insertCall) error {
	s.slowKeys.add(c.tasks)
	defer s.slowKeys.remove(c.tasks)
	for {
		err := s.insertOn(ctx, s.slow, []*insertCall{c})
		if wire.Number(err) != wire.NumLockWait {
			return err
		}
		if err := wire.Pause(ctx, slowPause); err != nil {
			return err
		}
	}
}

// slowKeys counts the keys that callers in the slow lane wait for, so that the next insert of the
// same key does not stop a batch again.
type slowKeys struct {
	mu     sync.Mutex
	counts map[uniqueKey]int
}

// meet reports whether one of the tasks has such a key.
func (k *slowKeys) meet(tasks []task.Task) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.counts) == 0 {
		return false
	}
	for i := range tasks {
		if t := &tasks[i]; t.Key != "" && k.counts[uniqueKey{t.Kind, t.Key}] > 0 {
			return true
		}
	}
	return false
}

func (k *slowKeys) add(tasks []task.Task) { k.count(tasks, 1) }

func (k *slowKeys) remove(tasks []task.Task) { k.count(tasks, -1) }

func (k *slowKeys) count(tasks []task.Task, by int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range tasks {
		t := &tasks[i]
		if t.Key == "" {
			continue
		}
		u := uniqueKey{t.Kind, t.Key}
		if k.counts == nil {
			k.counts = make(map[uniqueKey]int)
		}
		if k.counts[u] += by; k.counts[u] == 0 {
			delete(k.counts, u)
		}
	}
}
