package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/postgres/internal/wire"
	"github.com/ax-sched/ax/task"
)

// PutJob implements store.JobStore. A definition put after one of its name was deleted is a new
// one: it has the id of j and fires from now on.
func (s *Store) PutJob(ctx context.Context, j task.Job) (put task.Job, err error) {
	if err := storableJob(&j); err != nil {
		return task.Job{}, fmt.Errorf("put job %q: %w", j.Name, err)
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return task.Job{}, err
	}
	defer leave()
	err = s.txOnJobs(ctx, s.readers, func(c *conn) error {
		put, err = s.putJob(ctx, c, j)
		return err
	})
	if code(err) == codeUnique {
		err = errJobID
	}
	if err != nil {
		return task.Job{}, fmt.Errorf("put job %q: %w", j.Name, explain(err))
	}
	return put, nil
}

// txOnJobs is tx for what holds definitions. Who else holds one is a leader that fires it or
// somebody who changes it, and soon done, so a lock is waited for several times: each try takes
// lockTimeout.
func (s *Store) txOnJobs(ctx context.Context, l line, fn func(c *conn) error) (err error) {
	for range 10 {
		if err = s.tx(ctx, l, fn); code(err) != codeLocked {
			break
		}
	}
	return err
}

var errJobID = &task.InputError{Field: "id",
	Reason: "is not set or used by another job; make one with task.NewID"}

// storableJob refuses texts that a column cannot hold.
func storableJob(j *task.Job) error {
	for _, f := range [...]struct{ name, text string }{
		{"name", j.Name}, {"cron", j.Schedule.Cron}, {"zone", j.Schedule.Zone}, {"kind", j.Kind},
		{"group", j.Group}, {"retry policy", j.RetryPolicy}, {"owner service", j.OwnerService},
		{"overlap key", j.OverlapKey},
	} {
		if !wire.Plain(f.text) {
			return &task.InputError{Field: f.name, Reason: "has a NUL or is not valid UTF-8"}
		}
	}
	return nil
}

// putJob makes or replaces a definition. The name is locked, so that two programs that put it at
// once make one definition.
func (s *Store) putJob(ctx context.Context, c *conn, j task.Job) (task.Job, error) {
	a := &args{}
	a.Text("ax job " + s.schema + " " + j.Name)
	if err := c.call(ctx, lockName, a, nil); err != nil {
		return task.Job{}, err
	}
	var now task.Time
	if err := c.call(ctx, readClock, &args{}, func(r *row) { now = r.Time() }); err != nil {
		return task.Job{}, err
	}
	var old *task.Job
	a = &args{}
	a.Text(j.Name)
	if err := c.call(ctx, lockJob, a, func(r *row) { old = r.job() }); err != nil {
		return task.Job{}, err
	}
	if old != nil {
		return s.replaceJob(ctx, c, now, old, j)
	}
	if j.ID.IsZero() {
		return task.Job{}, errJobID
	}
	j.Version, j.UpdatedAt, j.DeletedAt, j.Fires = 1, now, 0, 0
	j.Control = task.Control{}
	setIfZero(&j.Anchor, now)
	setIfZero(&j.CreatedAt, now)
	setIfZero(&j.LastFire, j.Anchor)
	a = jobArgs(&j)
	a.Int8(int64(j.Anchor))
	a.Int8(int64(j.LastFire))
	a.ID(j.LastTask)
	a.Int8(int64(j.CreatedAt))
	a.Int8(int64(j.UpdatedAt))
	return j, c.call(ctx, insertJob, a, nil)
}

func setIfZero(t *task.Time, v task.Time) {
	if *t == 0 {
		*t = v
	}
}

// replaceJob changes old to j where they differ, and keeps what belongs to the row.
func (s *Store) replaceJob(
	ctx context.Context, c *conn, now task.Time, old *task.Job, j task.Job,
) (task.Job, error) {
	j.Keep(old, now)
	if j.Same(old) {
		return *old, nil
	}
	j.Version++
	j.UpdatedAt = now
	a := jobArgs(&j)
	a.Int8(int64(j.UpdatedAt))
	a.Int8(int64(j.LastFire))
	a.Int8(j.Fires)
	a.Int8(int64(j.SkipUntil))
	a.Text(j.SkipBy)
	a.Text(j.SkipReason)
	return j, c.call(ctx, updateJob, a, nil)
}

// SteerJob implements store.JobSteerer.
func (s *Store) SteerJob(
	ctx context.Context, id task.ID, version int64, c task.Control,
) (bool, error) {
	for _, t := range [...]string{c.PausedBy, c.PauseReason, c.SkipBy, c.SkipReason} {
		if !wire.Plain(t) {
			return false, fmt.Errorf("steer job: %w", &task.InputError{Field: "reason",
				Reason: "has a NUL or is not valid UTF-8"})
		}
	}
	a := &args{}
	a.ID(id)
	a.Int8(version)
	a.Int8(int64(c.PausedAt))
	a.Int8(int64(c.PausedUntil))
	a.Text(c.PausedBy)
	a.Text(c.PauseReason)
	a.Int8(int64(c.SkipUntil))
	a.Text(c.SkipBy)
	a.Text(c.SkipReason)
	done := false
	err := s.read(ctx, "steer job", steerJob, a, func(*row) { done = true })
	return done, err
}

// jobArgs writes what insertJob and updateJob have in common: $1 to $29.
func jobArgs(j *task.Job) *args {
	a := &args{}
	a.ID(j.ID)
	a.Text(j.Name)
	a.Int8(j.Version)
	a.Text(j.Schedule.Cron)
	a.Text(j.Schedule.Zone)
	a.Int8(int64(j.Schedule.Every))
	a.Int8(int64(j.Schedule.After))
	a.Int8(int64(j.Schedule.At))
	a.Text(j.Kind)
	a.Text(j.Group)
	a.Bytes(j.Payload)
	a.Int2(int16(j.Bucket))
	a.Int2(int16(j.Overlap))
	a.Int2(int16(j.Misfire))
	a.Int4(j.MaxRetries)
	a.Int8(int64(j.Timeout))
	a.Text(j.RetryPolicy)
	a.Text(j.OwnerService)
	a.Labels(j.Labels)
	a.Text(j.OverlapKey)
	a.Int8(int64(j.MisfireGrace))
	a.Int4(j.MisfireCap)
	a.Int8(int64(j.Jitter))
	a.Int8(int64(j.StartsAt))
	a.Int8(int64(j.EndsAt))
	a.Int8(j.MaxFires)
	a.Int2(int16(j.OnUnknown))
	a.Int8(int64(j.MaxLateness))
	a.Int8(int64(j.MaxLifetime))
	return a
}

// job reads jobColumns.
func (r *row) job() *task.Job {
	j := &task.Job{ID: r.ID(), Name: r.Text(), Version: r.Int8()}
	j.Schedule.Cron, j.Schedule.Zone = r.Text(), r.Text()
	j.Schedule.Every, j.Schedule.After = time.Duration(r.Int8()), time.Duration(r.Int8())
	j.Schedule.At = r.Time()
	j.Kind, j.Group, j.Payload = r.Text(), r.Text(), r.Bytes()
	j.Bucket, j.Overlap = task.Bucket(r.Int2()), task.Overlap(r.Int2())
	j.Misfire = task.Misfire(r.Int2())
	j.MaxRetries, j.Timeout = r.Int4(), time.Duration(r.Int8())
	j.RetryPolicy, j.OwnerService, j.Labels = r.Text(), r.Text(), r.Labels()
	j.OverlapKey, j.MisfireGrace, j.MisfireCap = r.Text(), time.Duration(r.Int8()), r.Int4()
	j.Jitter, j.StartsAt, j.EndsAt = time.Duration(r.Int8()), r.Time(), r.Time()
	j.MaxFires, j.OnUnknown = r.Int8(), task.Unknown(r.Int2())
	j.MaxLateness, j.MaxLifetime = time.Duration(r.Int8()), time.Duration(r.Int8())
	j.Anchor, j.LastFire, j.LastTask = r.Time(), r.Time(), r.ID()
	j.CreatedAt, j.UpdatedAt, j.DeletedAt = r.Time(), r.Time(), r.Time()
	j.Fires, j.PausedAt, j.PausedUntil = r.Int8(), r.Time(), r.Time()
	j.PausedBy, j.PauseReason = r.Text(), r.Text()
	j.SkipUntil, j.SkipBy, j.SkipReason = r.Time(), r.Text(), r.Text()
	return j
}

// DeleteJob implements store.JobStore.
func (s *Store) DeleteJob(ctx context.Context, name string) error {
	found := false
	if wire.Plain(name) {
		a := &args{}
		a.Text(name)
		err := s.read(ctx, "delete job", deleteJob, a, func(*row) { found = true })
		if err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("delete job %q: %w", name, store.ErrNotFound)
	}
	return nil
}

// Jobs implements store.JobStore.
func (s *Store) Jobs(ctx context.Context, since task.Time) ([]task.Job, error) {
	out := []task.Job{}
	a := &args{}
	a.Int8(int64(since))
	err := s.read(ctx, "read jobs", readJobs, a, func(r *row) { out = append(out, *r.job()) })
	return out, err
}
