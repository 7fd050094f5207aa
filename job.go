package ax

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ax-sched/ax/internal/trigger"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
)

// Schedule says when a job fires. Make one with [Cron], [CronIn], [Every], [After] or [At].
type Schedule struct {
	s   task.Schedule
	err error
}

// Cron is a cron expression in UTC, or in the zone of its CRON_TZ= prefix. See package cron for
// the rules; the letter H spreads load by the job's name.
func Cron(expr string) Schedule { return Schedule{s: task.Schedule{Cron: expr}} }

// CronIn is a cron expression in an IANA zone such as "Europe/Berlin".
func CronIn(zone, expr string) Schedule {
	return Schedule{s: task.Schedule{Cron: expr, Zone: zone}}
}

// Every fires at fixed distances of at least one second, counted from when the job was made.
// Restarts do not move them.
func Every(d time.Duration) Schedule { return Schedule{s: task.Schedule{Every: d}} }

// After fires d after the task of the last fire has ended, whatever its end; first d after the
// job was made.
func After(d time.Duration) Schedule { return Schedule{s: task.Schedule{After: d}} }

// At fires once. An instant that has passed when the job is made fires at once; one that has passed
// when it replaces another schedule never fires.
func At(t time.Time) Schedule {
	if !task.ValidTime(t) {
		return Schedule{err: &InputError{Field: "schedule.at", Reason: fmt.Sprintf(
			"is %s; use a time from 1970 to 9999", t.UTC().Format(time.RFC3339))}}
	}
	return Schedule{s: task.Schedule{At: task.FromGo(t)}}
}

// Overlap says what happens when a fire is due while the task of an earlier one still runs.
type Overlap int

// The overlap policies.
const (
	// Skip, the default, does not run the new fire: SKIPPED(overlap). A fire that only waits is
	// replaced by a newer one: SKIPPED(superseded).
	Skip Overlap = iota
	// Allow runs fires side by side.
	Allow
)

// JobSpec defines a job. Name, Schedule and Kind are required.
type JobSpec struct {
	// Name identifies the job: putting it again replaces the definition.
	Name     string
	Schedule Schedule
	Kind     string
	Payload  []byte
	Overlap  Overlap
	Priority Priority
	// Timeout, MaxRetries and Retry replace those of the kind where set.
	Timeout    time.Duration
	MaxRetries *int
	Retry      *retry.Policy
	Service    string
	Labels     map[string]string
}

// PutJob makes the job or replaces its definition. Any number of replicas may put the same job:
// it stays one definition with one record for each fire time. A replaced schedule starts anew; it
// owes no fires of the past. Of fires missed while nobody scheduled, the latest one runs and
// stands for the others.
func (s *Scheduler) PutJob(ctx context.Context, spec JobSpec) error {
	j, err := s.job(&spec)
	if err != nil {
		return fmt.Errorf("put job %q: %w", spec.Name, err)
	}
	if _, err := s.store.PutJob(ctx, j); err != nil {
		return fmt.Errorf("put job %q: %w", spec.Name, err)
	}
	s.engine.Load().JobsChanged()
	return nil
}

// DeleteJob ends a job, or returns [ErrNotFound]. Tasks of its fires remain.
func (s *Scheduler) DeleteJob(ctx context.Context, name string) error {
	if err := s.store.DeleteJob(ctx, name); err != nil {
		return fmt.Errorf("delete job %q: %w", name, err)
	}
	s.engine.Load().JobsChanged()
	return nil
}

// Jobs returns the definitions in the order in which they were made.
func (s *Scheduler) Jobs(ctx context.Context) ([]task.Job, error) {
	all, err := s.store.Jobs(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	live := all[:0]
	for _, j := range all {
		if j.DeletedAt == 0 {
			live = append(live, j)
		}
	}
	return live, nil
}

// job checks a spec and builds its row.
func (s *Scheduler) job(spec *JobSpec) (task.Job, error) {
	err := errors.Join(
		task.CheckName("name", spec.Name, false),
		s.check(&NewTask{Kind: spec.Kind, Payload: spec.Payload, Priority: spec.Priority,
			Timeout: spec.Timeout, MaxRetries: spec.MaxRetries, Retry: spec.Retry,
			Service: spec.Service, Labels: spec.Labels}),
		checkOverlap(spec.Overlap), spec.Schedule.err,
	)
	if err != nil {
		return task.Job{}, err
	}
	j := task.Job{ID: s.newID(), Name: spec.Name, Schedule: spec.Schedule.s, Kind: spec.Kind,
		Group: s.cfg.Group, Payload: spec.Payload, Bucket: spec.Priority.OrNormal(),
		Overlap: task.OverlapSkip, Timeout: spec.Timeout, Labels: spec.Labels}
	if spec.Overlap == Allow {
		j.Overlap = task.OverlapAllow
	}
	if j.MaxRetries, j.RetryPolicy, j.OwnerService, err = s.own(spec.MaxRetries, spec.Retry,
		spec.Service); err != nil {
		return task.Job{}, err
	}
	if j.Schedule.At != 0 {
		j.LastFire = j.Schedule.At - 1 // else the cursor of a new job stands at now, maybe past it
	}
	return j, trigger.Check(&j, s.now())
}

func checkOverlap(o Overlap) error {
	if o != Skip && o != Allow {
		return &InputError{Field: "overlap", Reason: fmt.Sprintf("is %d; use ax.Skip or ax.Allow", o)}
	}
	return nil
}

// NextFires returns the next n fire times of a job that depend on nothing but time, computed by
// the function that fires them.
func (s *Scheduler) NextFires(j task.Job, n int) ([]time.Time, error) {
	ts, err := trigger.Preview(&j, max(j.LastFire, s.now()), n)
	if err != nil {
		return nil, fmt.Errorf("next fires of job %q: %w", j.Name, err)
	}
	out := make([]time.Time, len(ts))
	for i, t := range ts {
		out[i] = t.Go()
	}
	return out, nil
}
