package memory

import (
	"bytes"
	"context"
	"fmt"
	"maps"

	"github.com/ax-sched/ax/internal/plant"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Insert implements store.Inserter.
func (s *Store) Insert(
	ctx context.Context, f store.Fence, tasks []task.Task,
) ([]store.Inserted, error) {
	for i := range tasks {
		if err := store.CheckInsert(&tasks[i]); err != nil {
			return nil, fmt.Errorf("insert task %d of %d: %w", i+1, len(tasks), err)
		}
	}
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := s.check(f); err != nil {
		return nil, err
	}
	out := make([]store.Inserted, len(tasks))
	for i := range tasks {
		event := task.Submit
		if tasks[i].State == task.Running {
			event = task.SubmitClaimed
		}
		out[i] = s.insert(now, &tasks[i], event)
	}
	return out, nil
}

// insert makes a row with its first history entry, unless its id or its key exists.
func (s *Store) insert(now task.Time, t *task.Task, event task.Event) store.Inserted {
	if r := s.rows[t.ID]; r != nil {
		return inserted(now, r)
	}
	if id, busy := s.unique[unique{t.Kind, t.Key}]; busy && t.Key != "" {
		in := inserted(now, s.rows[id])
		in.Duplicate = true
		return in
	}
	if t.Unique != task.UniqueLive {
		if id, kept := s.kept.holder(now, t); kept && !plant.On(plant.WindowIgnored) {
			return s.keptFor(now, t, id)
		}
		s.kept.keep(now, t)
	}
	r := &row{Task: clone(t)}
	r.Unique = task.UniqueLive // is not stored
	r.Resolve(now)
	if r.FireTime == task.StoreNow {
		r.FireTime = r.RunAt
	}
	r.CreatedAt, r.Version = now, 0
	s.rows[r.ID] = r
	s.ids.add(store.Mark{ID: r.ID})
	s.record(now, r, task.Move{Event: event, From: task.None, To: r.State, Reason: r.Reason})
	s.link(r)
	return inserted(now, r)
}

func inserted(now task.Time, r *row) store.Inserted {
	return store.Inserted{ID: r.ID, State: r.State, Version: r.Version, RunAt: r.RunAt, At: now}
}

// record writes one move into the history of r and counts it.
func (s *Store) record(now task.Time, r *row, m task.Move) {
	r.Version++
	r.UpdatedAt = now
	if plant.On(plant.HistoryMissing) && m.Event == task.Retry {
		return
	}
	r.log = append(r.log, task.Entry{
		TaskID: r.ID, Version: r.Version, At: now, From: m.From, To: m.To, Event: m.Event,
		Actor: m.Actor, Reason: m.Reason, ExecutionID: r.ExecutionID, Attempt: r.Attempt,
		Executor: r.Executor, Epoch: r.Epoch, Token: r.Token, Detail: m.Detail,
	})
}

// link enters r, as it is now, into what is looked up by state.
func (s *Store) link(r *row) {
	s.count[r.State]++
	switch {
	case r.State == task.Scheduled:
		q := queue{r.Group, r.Bucket}
		if s.due[q] == nil {
			s.due[q] = &index{}
		}
		s.due[q].add(store.Mark{RunAt: r.RunAt, ID: r.ID})
	case r.State.Live():
		s.live.add(store.Mark{ID: r.ID})
	}
	if mayExpire(r) {
		s.expires.add(store.Mark{RunAt: r.ExpiresAt, ID: r.ID})
	}
	if r.Key != "" && !r.State.Final() {
		s.unique[unique{r.Kind, r.Key}] = r.ID
	}
}

// mayExpire reports whether r waits and has an end of waiting that no person has lifted.
func mayExpire(r *row) bool {
	return r.ExpiresAt != 0 && r.TriggeredAt <= r.ExpiresAt &&
		(r.State == task.Pending || r.State == task.Scheduled)
}

// unlink is the reverse of link: call it before r changes.
func (s *Store) unlink(r *row) {
	s.count[r.State]--
	switch {
	case r.State == task.Scheduled:
		s.due[queue{r.Group, r.Bucket}].remove(store.Mark{RunAt: r.RunAt, ID: r.ID})
	case r.State.Live():
		s.live.remove(store.Mark{ID: r.ID})
	}
	if mayExpire(r) {
		s.expires.remove(store.Mark{RunAt: r.ExpiresAt, ID: r.ID})
	}
	if r.Key != "" && !r.State.Final() && !(plant.On(plant.KeyKept) && r.Failures > 0) {
		delete(s.unique, unique{r.Kind, r.Key})
	}
}

// clone copies t with everything it points to, so that neither side sees the other's changes.
func clone(t *task.Task) task.Task {
	c := *t
	c.Payload = bytes.Clone(t.Payload)
	c.Result = bytes.Clone(t.Result)
	c.Labels = maps.Clone(t.Labels)
	return c
}
