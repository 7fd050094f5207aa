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
	j.Version, j.UpdatedAt, j.DeletedAt, j.Fires = 1, now, 0, 0
	j.Control = task.Control{}
	s.jobs[j.ID] = &j
	s.jobNames[j.Name] = j.ID
	return cloneJob(&j), nil
}

// replaceJob changes old to j where they differ, and keeps what belongs to the row.
func (s *Store) replaceJob(now task.Time, old, j *task.Job) task.Job {
	j.Keep(old, now)
	if !j.Same(old) {
		j.Version++
		j.UpdatedAt = now
		*old = *j
	}
	return cloneJob(old)
}

// SteerJob implements store.JobSteerer.
func (s *Store) SteerJob(
	ctx context.Context, id task.ID, version int64, c task.Control,
) (bool, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	j := s.jobs[id]
	if j == nil || j.DeletedAt != 0 || j.Version != version {
		return false, nil
	}
	c.Resolve(now)
	j.Control = c
	j.Version++
	j.UpdatedAt = now
	return true, nil
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
	event := task.Fire
	if f.Task.State == task.Skipped {
		event = task.FireSkip
	} else {
		j.Fires++
	}
	in := s.insert(now, &f.Task, event)
	if j.LastTask = f.Last; f.Last.IsZero() {
		j.LastTask = in.ID
	}
	if !plant.On(plant.CursorKept) {
		j.LastFire = f.Task.FireTime
	}
	return store.FireResult{Status: store.Fired, Row: in}
}
