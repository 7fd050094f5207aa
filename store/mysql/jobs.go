package mysql

import (
	"bytes"
	"context"
	"fmt"
	"maps"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
	"github.com/ax-sched/ax/task"
)

var _ store.JobSteerer = (*Store)(nil)

// PutJob implements store.JobStore. A definition put after one of its name was deleted is a new
// one: it has the id of j and begins to fire from now.
func (s *Store) PutJob(ctx context.Context, j task.Job) (out task.Job, err error) {
	err = fitsJob(&j)
	if err == nil {
		err = s.jobTx(ctx, func(c *conn) (err error) {
			out, err = c.putJob(ctx, j)
			return err
		})
	}
	if err != nil {
		return task.Job{}, fmt.Errorf("put job %q: %w", j.Name, err)
	}
	return out, nil
}

// jobTx runs a transaction on definitions.
func (s *Store) jobTx(ctx context.Context, fn func(c *conn) error) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return wire.Explain(s.tx(ctx, s.claimer, store.Fence{}, fn))
}

func fitsJob(j *task.Job) error {
	for _, f := range [...]struct {
		name, text string
		most       int
	}{
		{"name", j.Name, longName}, {"kind", j.Kind, longName}, {"group", j.Group, longName},
		{"cron", j.Schedule.Cron, longText}, {"zone", j.Schedule.Zone, longText},
		{"overlap key", j.OverlapKey, longText}, {"owner service", j.OwnerService, longText},
		{"retry policy", j.RetryPolicy, 1<<16 - 1},
	} {
		if err := wire.Fits(f.name, f.text, f.most); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) putJob(ctx context.Context, j task.Job) (task.Job, error) {
	var old []task.Job
	a := &args{}
	a.Text(j.Name)
	if err := c.Each(ctx, jobByName, a, func(r *row) { old = append(old, r.Job()) }); err != nil {
		return j, err
	}
	v := insertJob
	if len(old) == 1 {
		j.Keep(&old[0], c.Now)
		if j.Same(&old[0]) {
			return j, nil
		}
		v = replaceJob
		j.Version++
	} else {
		if err := c.newJob(ctx, &j); err != nil {
			return j, err
		}
	}
	j.UpdatedAt, j.DeletedAt = c.Now, 0
	labels, err := store.FormatLabels(j.Labels)
	if err != nil {
		return j, err
	}
	a = &args{}
	if v == insertJob {
		a.ID(j.ID)
	}
	a.Job(&j, labels)
	if v == replaceJob {
		a.ID(j.ID)
	}
	_, err = c.Exec(ctx, v, a)
	j.Payload, j.Labels = bytes.Clone(j.Payload), maps.Clone(j.Labels)
	return j, err
}

// newJob fills what j does not set.
func (c *conn) newJob(ctx context.Context, j *task.Job) error {
	used := j.ID.IsZero()
	if !used {
		a := &args{}
		a.ID(j.ID)
		if err := c.Each(ctx, jobExists, a, func(*row) { used = true }); err != nil {
			return err
		}
	}
	if used {
		return &task.InputError{Field: "id",
			Reason: "is not set or used by another job; make one with task.NewID"}
	}
	j.Version, j.Fires, j.Control = 1, 0, task.Control{}
	if j.Anchor == 0 {
		j.Anchor = c.Now
	}
	if j.CreatedAt == 0 {
		j.CreatedAt = c.Now
	}
	if j.LastFire == 0 {
		j.LastFire = j.Anchor
	}
	return nil
}

// SteerJob implements store.JobSteerer.
func (s *Store) SteerJob(
	ctx context.Context, id task.ID, version int64, set task.Control,
) (done bool, err error) {
	err = s.jobTx(ctx, func(c *conn) error {
		set := set
		set.Resolve(c.Now)
		a := &args{}
		a.Time(c.Now)
		a.Control(&set)
		a.Text(string(id[:]))
		a.Int(version)
		n, err := c.Exec(ctx, steerJob, a)
		done = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("steer job: %w", err)
	}
	return done, nil
}

// DeleteJob implements store.JobStore. The version grows, so a fire under way is refused.
func (s *Store) DeleteJob(ctx context.Context, name string) error {
	err := s.jobTx(ctx, func(c *conn) error {
		a := &args{}
		a.Time(c.Now)
		a.Time(c.Now)
		a.Text(name)
		n, err := c.Exec(ctx, deleteJob, a)
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("delete job %q: %w", name, err)
	}
	return nil
}

// Jobs implements store.JobStore.
func (s *Store) Jobs(ctx context.Context, since task.Time) ([]task.Job, error) {
	out := []task.Job{}
	a := &args{}
	a.Time(since)
	err := s.read(ctx, "read jobs", jobsSince, a, func(r *row) { out = append(out, r.Job()) })
	return out, err
}
