package memory

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ax-sched/ax/internal/plant"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// PutJob implements store.JobStore. A definition put after one of its name was deleted is a new
// one: it has the id of j and begins to fire from now.
func (s *Store) PutJob(ctx context.Context, j task.Job) (task.Job, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return task.Job{}, err
	}
	defer s.mu.Unlock()
	j = cloneJob(&j)
	if id, ok := s.jobNames[j.Name]; ok {
		return s.replaceJob(now, s.jobs[id], &j), nil
	}
	if j.ID.IsZero() || s.jobs[j.ID] != nil {
		return task.Job{}, fmt.Errorf("put job %q: %w", j.Name, &task.InputError{Field: "id",
			Reason: "is not set or used by another job; make one with task.NewID"})
	}
	for _, d := range []struct{ at, usual *task.Time }{
		{&j.Anchor, &now}, {&j.CreatedAt, &now}, {&j.LastFire, &j.Anchor},
	} {
		if *d.at == 0 {
			*d.at = *d.usual
		}
	}
	j.Version, j.UpdatedAt, j.DeletedAt = 1, now, 0
	s.jobs[j.ID] = &j
	s.jobNames[j.Name] = j.ID
	return cloneJob(&j), nil
}

// replaceJob changes old to j where they differ, and keeps what belongs to the row.
func (s *Store) replaceJob(now task.Time, old, j *task.Job) task.Job {
	j.ID, j.Version, j.Anchor, j.CreatedAt = old.ID, old.Version, old.Anchor, old.CreatedAt
	j.LastFire, j.LastTask = old.LastFire, old.LastTask
	j.UpdatedAt, j.DeletedAt = old.UpdatedAt, 0
	if old.Schedule != j.Schedule {
		j.LastFire = max(j.LastFire, now) // the new schedule owes no fires of the past
	}
	if !sameDefinition(old, j) {
		j.Version++
		j.UpdatedAt = now
		*old = *j
	}
	return cloneJob(old)
}

// sameDefinition compares what a person writes; nil and empty are the same.
func sameDefinition(a, b *task.Job) bool {
	return a.Schedule == b.Schedule && a.Kind == b.Kind && a.Group == b.Group &&
		bytes.Equal(a.Payload, b.Payload) && a.Bucket == b.Bucket && a.Overlap == b.Overlap &&
		a.Misfire == b.Misfire && a.MaxRetries == b.MaxRetries && a.Timeout == b.Timeout &&
		a.RetryPolicy == b.RetryPolicy && a.OwnerService == b.OwnerService &&
		maps.Equal(a.Labels, b.Labels)
}

// DeleteJob implements store.JobStore. The version grows, so a fire under way is refused.
func (s *Store) DeleteJob(ctx context.Context, name string) error {
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	id, ok := s.jobNames[name]
	if !ok {
		return fmt.Errorf("delete job %q: %w", name, store.ErrNotFound)
	}
	j := s.jobs[id]
	j.Version++
	j.UpdatedAt, j.DeletedAt = now, now
	delete(s.jobNames, name)
	return nil
}

// Jobs implements store.JobStore.
func (s *Store) Jobs(ctx context.Context, since task.Time) ([]task.Job, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	out := []task.Job{}
	for _, j := range s.jobs {
		if j.UpdatedAt >= since {
			out = append(out, cloneJob(j))
		}
	}
	slices.SortFunc(out, func(a, b task.Job) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return out, nil
}

func cloneJob(j *task.Job) task.Job {
	c := *j
	c.Payload = bytes.Clone(j.Payload)
	c.Labels = maps.Clone(j.Labels)
	return c
}

// Fire implements store.JobStore. Fires are taken in the order given.
func (s *Store) Fire(
	ctx context.Context, f store.Fence, fires []store.Fire,
) ([]store.FireResult, error) {
	for i := range fires {
		if err := store.CheckFire(&fires[i], store.CheckInsert); err != nil {
			return nil, fmt.Errorf("fire %d of %d: %w", i+1, len(fires), err)
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
	out := make([]store.FireResult, len(fires))
	for i := range fires {
		out[i] = s.fire(now, &fires[i])
	}
	return out, nil
}

// fire records one fire unless its time or its definition has passed.
func (s *Store) fire(now task.Time, f *store.Fire) store.FireResult {
	j := s.jobs[f.JobID]
	if j == nil || j.DeletedAt != 0 || j.Version != f.Version {
		return store.FireResult{Status: store.JobChanged}
	}
	if f.Task.FireTime <= j.LastFire {
		return store.FireResult{Status: store.AlreadyFired}
	}
	if f.Replace != nil {
		s.apply(now, f.Replace)
	}
	in := s.insert(now, &f.Task, task.Fire)
	j.LastTask = in.ID
	if !plant.On(plant.CursorKept) {
		j.LastFire = f.Task.FireTime
	}
	return store.FireResult{Status: store.Fired, Row: in}
}
