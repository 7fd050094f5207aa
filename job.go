package ax

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ax-sched/ax/internal/trigger"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/seal"
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
	if t.IsZero() {
		t = time.Unix(0, 0) // "not set" is no instant either
	}
	return Schedule{s: task.Schedule{At: task.FromGo(t)}, err: task.CheckInstant("schedule.at", t)}
}

// Overlap says what happens to a task that is due while another one with its overlap key runs. The
// default of jobs is [Skip], that of tasks [Queue].
type Overlap int

// The overlap policies.
const (
	// Skip does not run the new task: SKIPPED(overlap). A fire of a job that only waits is replaced
	// by a newer one: SKIPPED(superseded), or DEAD(superseded) if it has failed.
	Skip Overlap = iota + 1
	// Allow runs fires side by side.
	Allow
	// Queue waits for the key and keeps it over retries and snoozes until the run ends, so that
	// tasks of one key run one after the other, in the order of fire time (of a task: its first
	// RunAt) and id; give them one priority, or the first to get a slot may be one of a higher. One
	// that is HELD, or whose handler never ends, holds up those behind it.
	Queue
	// Replace asks the running task to end, which is CANCELED unless it succeeds all the same, and
	// starts when it has ended. Of several that wait the newest runs, the others are SKIPPED or DEAD
	// (superseded). One that is HELD is left to a person, and waited for.
	Replace
)

// Misfire says what happens to fires that were missed: while nobody scheduled, while the job was
// paused, or because a clock has jumped. Whatever it says, each fire time has its record.
type Misfire = task.Misfire

// The misfire policies. The default runs the latest missed fire, whose task stands for the others.
// MisfireAll needs [Allow] or [Queue].
const (
	MisfireOnce = task.MisfireOnce
	MisfireSkip = task.MisfireSkip // later than MisfireGrace: one task SKIPPED(misfire)
	MisfireAll  = task.MisfireAll  // but only the latest MisfireCap run, in their order
)

// JobSpec defines a job. Name, Schedule and Kind or Args are required.
type JobSpec struct {
	// Name identifies the job: putting it again replaces the definition.
	Name     string
	Schedule Schedule
	Kind     string
	Payload  []byte
	Args     Args // sets Kind and Payload, as in NewTask
	Overlap  Overlap
	// OverlapKey is shared with other jobs and tasks that must not run at the same time. Default: a
	// key of the job's own.
	OverlapKey string
	// Misfire says what happens to missed fires; see [MisfireOnce]. MisfireGrace is how late
	// MisfireSkip still runs one (default 5 s), MisfireCap how many MisfireAll runs (default 100).
	Misfire      Misfire
	MisfireGrace time.Duration
	MisfireCap   int
	// Jitter makes a fire due up to this long after its fire time. How long depends on nothing but
	// the job's name and the fire time. It must be less than the distance of two fires.
	Jitter time.Duration
	// StartsAt, EndsAt and MaxFires bound the fires: none before, none after, none after so many
	// that were to run. Not set: no bound.
	StartsAt, EndsAt time.Time
	MaxFires         int
	Priority         Priority
	// Timeout, MaxRetries and Retry replace those of the kind where set.
	Timeout    time.Duration
	MaxRetries *int
	Retry      *retry.Policy
	// AtMostOnce, OnUnknown, MaxLateness and MaxLifetime are those of the job's tasks, as in NewTask.
	// A fire that is late by MaxLateness is SKIPPED(late), whatever Misfire says.
	AtMostOnce               bool
	OnUnknown                Unknown
	MaxLateness, MaxLifetime time.Duration
	Service                  string
	Labels                   map[string]string
}

// PutJob makes the job or replaces its definition. Any number of replicas may put the same job:
// it stays one definition with one record for each fire time. A replaced schedule starts anew; it
// owes no fires of the past. A paused job stays paused.
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
		return err // the stores say whose it is
	}
	s.engine.Load().JobsChanged()
	return nil
}

// PauseJob stops the fires of a job until somebody resumes it, or until an instant unless that is
// zero. Tasks of earlier fires go on. Pausing again replaces the pause.
func (s *Scheduler) PauseJob(ctx context.Context, name string, until time.Time, by By) error {
	return s.desk().Pause(ctx, act(name, by), until)
}

// ResumeJob lets a paused job fire again. Its misfire policy decides about the fires of the pause,
// as it does after downtime. Resuming a job that is not paused changes nothing.
func (s *Scheduler) ResumeJob(ctx context.Context, name string, by By) error {
	return s.desk().Resume(ctx, act(name, by))
}

// SkipNext says that the next fire of a job shall not run, and returns its time: it is recorded as
// SKIPPED(request). Until then a repeated call changes nothing. Fires before it that are late go by
// the misfire policy. [ErrConflict]: it is made already, or an earlier one that is to be skipped
// has no record yet.
func (s *Scheduler) SkipNext(ctx context.Context, name string, by By) (time.Time, error) {
	return s.desk().SkipNext(ctx, act(name, by))
}

// JobRun says how TriggerJob runs a job; the zero value is usable.
type JobRun = trigger.Run

// TriggerJob runs a job now, also a paused one, beside its schedule: the fires stay as they are.
// The task has the job's overlap key, so with [Skip] it does not run beside another.
func (s *Scheduler) TriggerJob(ctx context.Context, name string, run JobRun, by By) (Result,
	error) {
	d, who := s.desk(), act(name, by)
	t, err := d.Manual(ctx, who, run, s.newID())
	if err != nil {
		return Result{}, err
	}
	if run.Payload != nil {
		t.Payload = s.cfg.Seal.Seal(seal.Payload(t.Kind), t.Payload)
	}
	in, err := d.Insert(ctx, who, t)
	return result(in), err
}

func (s *Scheduler) desk() *trigger.Desk {
	e := s.engine.Load()
	return &trigger.Desk{Store: s.store, Logger: s.cfg.Logger, Conflict: ErrConflict,
		Changed: e.JobsChanged, Made: e.Made}
}

func act(job string, by By) trigger.Act {
	return trigger.Act{Job: job, Actor: by.Actor, Reason: by.Reason}
}

// Jobs returns the definitions in the order in which they were made. What it cannot decrypt is left
// as it is.
func (s *Scheduler) Jobs(ctx context.Context) ([]task.Job, error) {
	js, err := s.desk().Jobs(ctx)
	for i := range js {
		js[i].Payload = s.cfg.Seal.Reveal(seal.Payload(js[i].Kind), js[i].Payload)
	}
	return js, err
}

// job checks a spec and builds its row.
func (s *Scheduler) job(spec *JobSpec) (task.Job, error) {
	t, err := s.row(NewTask{Kind: spec.Kind, Payload: spec.Payload, Args: spec.Args,
		Priority: spec.Priority, Timeout: spec.Timeout, MaxRetries: spec.MaxRetries,
		Retry: spec.Retry, AtMostOnce: spec.AtMostOnce, OnUnknown: spec.OnUnknown,
		MaxLateness: spec.MaxLateness, MaxLifetime: spec.MaxLifetime, Service: spec.Service,
		Labels: spec.Labels})
	err = errors.Join(task.CheckName("name", spec.Name, false), err, spec.Schedule.err,
		task.CheckInstant("starts_at", spec.StartsAt), task.CheckInstant("ends_at", spec.EndsAt))
	if err != nil {
		return task.Job{}, err
	}
	j := task.Job{ID: t.ID, Name: spec.Name, Schedule: spec.Schedule.s, Kind: t.Kind,
		Group: t.Group, Bucket: t.Bucket, OverlapKey: spec.OverlapKey, Misfire: spec.Misfire,
		Payload:      s.cfg.Seal.SealSame(seal.Payload(t.Kind), spec.Name, t.Payload),
		MisfireGrace: spec.MisfireGrace, MisfireCap: spec.MisfireCap, Jitter: spec.Jitter,
		StartsAt: task.FromGo(spec.StartsAt), EndsAt: task.FromGo(spec.EndsAt),
		MaxFires: int64(spec.MaxFires), Timeout: t.Timeout, Labels: t.Labels,
		MaxRetries: t.MaxRetries, RetryPolicy: t.RetryPolicy, OnUnknown: t.OnUnknown,
		MaxLateness: t.MaxLateness, MaxLifetime: t.MaxLifetime, OwnerService: t.OwnerService}
	if j.Overlap, err = task.ParseOverlap(int(cmp.Or(spec.Overlap, Skip))); err != nil {
		return task.Job{}, err
	}
	if j.Schedule.At != 0 {
		j.LastFire = j.Schedule.At - 1 // else the cursor of a new job stands at now, maybe past it
	}
	return j, trigger.Check(&j, s.now())
}

// NextFires returns the next n fire times of a job that depend on nothing but time, computed by
// the function that fires them: without those to be skipped, and none while the job is paused.
func (s *Scheduler) NextFires(j task.Job, n int) ([]time.Time, error) {
	ts, err := trigger.Upcoming(&j, s.now(), n)
	if err != nil {
		return nil, fmt.Errorf("next fires of job %q: %w", j.Name, err)
	}
	return task.GoTimes(ts), nil
}
