package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Tasks implements store.Reader. The rows come in the order of ids; a repeated id gives one row.
func (s *Store) Tasks(ctx context.Context, ids []task.ID) ([]task.Task, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	seen := make(map[task.ID]bool, len(ids))
	out := make([]task.Task, 0, len(ids))
	for _, id := range ids {
		if r := s.rows[id]; r != nil && !seen[id] {
			seen[id] = true
			out = append(out, clone(&r.Task))
		}
	}
	return out, nil
}

// ByKey implements store.Reader.
func (s *Store) ByKey(ctx context.Context, kind, key string) (task.Task, error) {
	if _, err := s.begin(ctx); err != nil {
		return task.Task{}, err
	}
	defer s.mu.Unlock()
	id, ok := s.unique[unique{kind, key}]
	if !ok {
		return task.Task{}, store.ErrNotFound
	}
	return clone(&s.rows[id].Task), nil
}

// List implements store.Reader. It looks at every row from the newest on until the page is full.
func (s *Store) List(ctx context.Context, q store.Query) ([]task.Task, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	limit := page(q.Limit, 100, 1000)
	out := []task.Task{}
	visit := func(m store.Mark) bool {
		if r := s.rows[m.ID]; selects(&q, &r.Task) {
			out = append(out, light(&r.Task))
		}
		return len(out) < limit
	}
	if q.Before.IsZero() {
		s.ids.walkDown(len(s.ids.chunks)-1, visit)
	} else {
		s.ids.descend(store.Mark{ID: q.Before}, visit)
	}
	return out, nil
}

// selects reports whether the query wants t.
func selects(q *store.Query, t *task.Task) bool {
	return (len(q.States) == 0 || slices.Contains(q.States, t.State)) &&
		(q.Kind == "" || q.Kind == t.Kind) &&
		(q.Key == "" || q.Key == t.Key) &&
		(q.Job == "" || q.Job == t.Job)
}

// page bounds a limit: 0 or less is usual, more than most is most.
func page(n, usual, most int) int {
	if n <= 0 {
		return usual
	}
	return min(n, most)
}

// light copies t without payload and result.
func light(t *task.Task) task.Task {
	c := *t
	c.Payload, c.Result = nil, nil
	c.Labels = maps.Clone(t.Labels)
	return c
}

// History implements store.Reader.
func (s *Store) History(ctx context.Context, id task.ID) ([]task.Entry, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	r := s.rows[id]
	if r == nil {
		return nil, nil
	}
	return slices.Clone(r.log), nil
}

// Count implements store.Reader. States without a task are left out.
func (s *Store) Count(ctx context.Context, limit int64) (map[task.State]int64, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	out := make(map[task.State]int64)
	for state, n := range s.count {
		if limit > 0 {
			n = min(n, limit)
		}
		if n > 0 {
			out[state] = n
		}
	}
	return out, nil
}
