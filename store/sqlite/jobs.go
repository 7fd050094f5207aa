package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/internal/sqlstore"
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
		keepRow(&j, &old[0], t.now)
		if sameDefinition(&j, &old[0]) {
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
	labels, err := sqlstore.FormatLabels(j.Labels)
	if err != nil {
		return j, err
	}
	_, err = t.run(query, func(q *lite.Stmt) { bindJob(q, &j, labels) })
	j.Payload, j.Labels = bytes.Clone(j.Payload), maps.Clone(j.Labels)
	return j, err
}

// keepRow takes over what a put does not change. A new schedule owes no fires of the past.
func keepRow(j, old *task.Job, now task.Time) {
	j.ID, j.Version, j.Anchor, j.CreatedAt = old.ID, old.Version, old.Anchor, old.CreatedAt
	j.LastFire, j.LastTask = old.LastFire, old.LastTask
	j.UpdatedAt, j.DeletedAt = old.UpdatedAt, 0
	if j.Schedule != old.Schedule {
		j.LastFire = max(j.LastFire, now)
	}
}

// newRow fills what j does not set.
func newRow(j *task.Job, now task.Time) {
	j.Version = 1
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
}

// jobInto returns a reader that appends definitions.
func jobInto(out *[]task.Job) func(*lite.Stmt) error {
	return func(q *lite.Stmt) error {
		labels, err := sqlstore.ParseLabels(q.ColText(18))
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
			DeletedAt: task.Time(q.ColInt(24)),
		})
		return err
	}
}
