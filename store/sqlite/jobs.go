package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
	"github.com/ax-sched/ax/task"
)

// PutJob implements store.JobStore. A definition put after one of its name was deleted is a new
// one: it has the id of j and begins to fire from now.
func (s *Store) PutJob(ctx context.Context, j task.Job) (task.Job, error) {
	var out task.Job
	err := s.writer.do(ctx, false, 1, func(t *tx) (err error) {
		out, err = t.putJob(j)
		return err
	})
	if err != nil {
		return task.Job{}, fmt.Errorf("put job %q: %w", j.Name, err)
	}
	return out, nil
}

func (t *tx) putJob(j task.Job) (task.Job, error) {
	var old []task.Job
	err := each(t.conn, jobByName, func(q *lite.Stmt) { q.Text(1, j.Name) }, jobInto(&old))
	if err != nil {
		return j, err
	}
	query := insertJob
	if len(old) == 1 {
		j.Keep(&old[0], t.now)
		if j.Same(&old[0]) {
			return j, nil
		}
		query = replaceJob
		j.Version++
	} else {
		var used bool
		used, err = one(t.conn, jobExists, func(q *lite.Stmt) { q.Blob(1, j.ID[:]) }, nothing)
		if err != nil {
			return j, err
		}
		if used || j.ID.IsZero() {
			return j, &task.InputError{Field: "id",
				Reason: "is not set or used by another job; make one with task.NewID"}
		}
		newRow(&j, t.now)
	}
	j.UpdatedAt, j.DeletedAt = t.now, 0
	labels, err := store.FormatLabels(j.Labels)
	if err != nil {
		return j, err
	}
	_, err = t.run(query, func(q *lite.Stmt) { bindJob(q, &j, labels) })
	j.Payload, j.Labels = bytes.Clone(j.Payload), maps.Clone(j.Labels)
	return j, err
}

// newRow fills what j does not set.
func newRow(j *task.Job, now task.Time) {
	j.Version, j.Fires, j.Control = 1, 0, task.Control{}
	if j.Anchor == 0 {
		j.Anchor = now
	}
	if j.CreatedAt == 0 {
		j.CreatedAt = now
	}
	if j.LastFire == 0 {
		j.LastFire = j.Anchor
	}
}

// SteerJob implements store.JobSteerer.
func (s *Store) SteerJob(
	ctx context.Context, id task.ID, version int64, c task.Control,
) (done bool, err error) {
	err = s.writer.do(ctx, false, 1, func(t *tx) error {
		set := c
		set.Resolve(t.now)
		n, err := t.run(steerJob, func(q *lite.Stmt) {
			q.Blob(1, id[:])
			q.Int(2, version)
			q.Int(3, int64(t.now))
			bindControl(q, 4, &set)
		})
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
	err := s.writer.do(ctx, false, 1, func(t *tx) error {
		n, err := t.run(deleteJob, func(q *lite.Stmt) {
			q.Text(1, name)
			q.Int(2, int64(t.now))
		})
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
	err := s.readers.do(ctx, func(c *lite.Conn) error {
		return each(c, jobsSince, func(q *lite.Stmt) { q.Int(1, int64(since)) }, jobInto(&out))
	})
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	return out, nil
}

func bindJob(q *lite.Stmt, j *task.Job, labels string) {
	q.Blob(1, j.ID[:])
	q.Text(2, j.Name)
	q.Int(3, j.Version)
	q.Text(4, j.Schedule.Cron)
	q.Text(5, j.Schedule.Zone)
	q.Int(6, int64(j.Schedule.Every))
	q.Int(7, int64(j.Schedule.After))
	q.Int(8, int64(j.Schedule.At))
	q.Text(9, j.Kind)
	q.Text(10, j.Group)
	q.Blob(11, j.Payload)
	q.Int(12, int64(j.Bucket))
	q.Int(13, int64(j.Overlap))
	q.Int(14, int64(j.Misfire))
	q.Int(15, int64(j.MaxRetries))
	q.Int(16, int64(j.Timeout))
	q.Text(17, j.RetryPolicy)
	q.Text(18, j.OwnerService)
	q.Text(19, labels)
	q.Int(20, int64(j.Anchor))
	q.Int(21, int64(j.LastFire))
	bindID(q, 22, &j.LastTask)
	q.Int(23, int64(j.CreatedAt))
	q.Int(24, int64(j.UpdatedAt))
	q.Int(25, int64(j.DeletedAt))
	q.Text(26, j.OverlapKey)
	q.Int(27, int64(j.MisfireGrace))
	q.Int(28, int64(j.MisfireCap))
	q.Int(29, int64(j.Jitter))
	q.Int(30, int64(j.StartsAt))
	q.Int(31, int64(j.EndsAt))
	q.Int(32, j.MaxFires)
	q.Int(33, j.Fires)
	bindControl(q, 34, &j.Control)
	q.Int(41, int64(j.OnUnknown))
	q.Int(42, int64(j.MaxLateness))
	q.Int(43, int64(j.MaxLifetime))
}

// bindControl binds seven columns from place n on.
func bindControl(q *lite.Stmt, n int, c *task.Control) {
	q.Int(n, int64(c.PausedAt))
	q.Int(n+1, int64(c.PausedUntil))
	q.Text(n+2, c.PausedBy)
	q.Text(n+3, c.PauseReason)
	q.Int(n+4, int64(c.SkipUntil))
	q.Text(n+5, c.SkipBy)
	q.Text(n+6, c.SkipReason)
}

// jobInto returns a reader that appends definitions.
func jobInto(out *[]task.Job) func(*lite.Stmt) error {
	return func(q *lite.Stmt) error {
		labels, err := store.ParseLabels(q.ColText(18))
		*out = append(*out, task.Job{
			ID: readID(q, 0), Name: q.ColText(1), Version: q.ColInt(2),
			Schedule: task.Schedule{Cron: q.ColText(3), Zone: q.ColText(4),
				Every: time.Duration(q.ColInt(5)), After: time.Duration(q.ColInt(6)),
				At: task.Time(q.ColInt(7))},
			Kind: q.ColText(8), Group: q.ColText(9), Payload: q.ColBlob(10),
			Bucket: task.Bucket(q.ColInt(11)), Overlap: task.Overlap(q.ColInt(12)),
			Misfire: task.Misfire(q.ColInt(13)), MaxRetries: int(q.ColInt(14)),
			Timeout: time.Duration(q.ColInt(15)), RetryPolicy: q.ColText(16),
			OwnerService: q.ColText(17), Labels: labels, Anchor: task.Time(q.ColInt(19)),
			LastFire: task.Time(q.ColInt(20)), LastTask: readID(q, 21),
			CreatedAt: task.Time(q.ColInt(22)), UpdatedAt: task.Time(q.ColInt(23)),
			DeletedAt: task.Time(q.ColInt(24)), OverlapKey: q.ColText(25),
			MisfireGrace: time.Duration(q.ColInt(26)), MisfireCap: int(q.ColInt(27)),
			Jitter: time.Duration(q.ColInt(28)), StartsAt: task.Time(q.ColInt(29)),
			EndsAt: task.Time(q.ColInt(30)), MaxFires: q.ColInt(31), Fires: q.ColInt(32),
			Control: task.Control{PausedAt: task.Time(q.ColInt(33)),
				PausedUntil: task.Time(q.ColInt(34)), PausedBy: q.ColText(35),
				PauseReason: q.ColText(36), SkipUntil: task.Time(q.ColInt(37)),
				SkipBy: q.ColText(38), SkipReason: q.ColText(39)},
			OnUnknown:   task.Unknown(q.ColInt(40)),
			MaxLateness: time.Duration(q.ColInt(41)),
			MaxLifetime: time.Duration(q.ColInt(42)),
		})
		return err
	}
}
