package memory

import (
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// keptKeys are the keys that stay taken beyond the life of their task.
type keptKeys struct {
	byKey map[unique]keptKey
	byEnd map[store.Mark]unique // of those that have an end, by (until, id)
	ends  index                 // the marks of byEnd
}

// keptKey is the task that has a key, and until when; 0 is for ever.
type keptKey struct {
	id    task.ID
	until task.Time
}

// holder returns the task for which the key of t is kept at an instant.
func (k *keptKeys) holder(now task.Time, t *task.Task) (task.ID, bool) {
	h, ok := k.byKey[unique{t.Kind, t.Key}]
	return h.id, ok && (h.until == 0 || now < h.until)
}

// keep keeps the key of t, which is made now, in the place of one whose end has passed.
func (k *keptKeys) keep(now task.Time, t *task.Task) {
	u, h := unique{t.Kind, t.Key}, keptKey{t.ID, t.Unique.Until(now)}
	k.drop(u)
	if k.byKey == nil {
		k.byKey, k.byEnd = make(map[unique]keptKey), make(map[store.Mark]unique)
	}
	k.byKey[u] = h
	if h.until != 0 {
		k.byEnd[h.mark()] = u
		k.ends.add(h.mark())
	}
}

func (h keptKey) mark() store.Mark { return store.Mark{RunAt: h.until, ID: h.id} }

func (k *keptKeys) drop(u unique) {
	h, ok := k.byKey[u]
	if !ok {
		return
	}
	delete(k.byKey, u)
	if h.until != 0 {
		delete(k.byEnd, h.mark())
		k.ends.remove(h.mark())
	}
}

// prune removes keys whose end has passed, at most limit of them, and says how many.
func (k *keptKeys) prune(now task.Time, limit int) int {
	var over []store.Mark
	k.ends.ascend(store.Mark{}, func(m store.Mark) bool {
		if m.RunAt > now || len(over) == limit {
			return false
		}
		over = append(over, m)
		return true
	})
	for _, m := range over {
		k.drop(k.byEnd[m])
	}
	return len(over)
}

// keptFor answers the insert of t, whose key is kept for a task that may be deleted. A repeat of
// that task's own insert is no duplicate.
func (s *Store) keptFor(now task.Time, t *task.Task, id task.ID) store.Inserted {
	in := store.Inserted{ID: id, At: now}
	if r := s.rows[id]; r != nil {
		in = inserted(now, r)
	}
	in.Duplicate = id != t.ID
	return in
}
