package trigger

import (
	"errors"
	"fmt"
	"time"

	"github.com/ax-sched/ax/cron"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

func isFenced(err error) bool { return errors.Is(err, store.ErrFenced) }

// plan is a schedule whose fires depend on nothing but time.
type plan interface {
	// next returns the first fire after t, or 0.
	next(t task.Time) task.Time
	// latest returns the last fire after t and not after now, and how many lie between. It is
	// called only when there is one.
	latest(t, now task.Time) (last task.Time, n int)
}

// newPlan compiles the schedule of a job.
func newPlan(j *task.Job) (plan, error) {
	s := j.Schedule
	switch {
	case s.Cron != "":
		return newCronPlan(j)
	case s.Every >= time.Microsecond:
		return everyPlan{int64(j.Anchor), s.Every.Microseconds()}, nil
	case s.At > 0:
		return atPlan(s.At), nil
	case s.After > 0:
		return nil, nil // Jobs computes it from the end of the last task
	}
	return nil, errors.New("schedule: none is set")
}

// Check refuses a schedule that is not one or can never fire, by the code that fires.
func Check(j *task.Job, now task.Time) error {
	bad := func(field string, err error, format string, args ...any) error {
		return &task.InputError{Field: field, Err: err, Reason: fmt.Sprintf(format, args...)}
	}
	s := j.Schedule
	switch {
	case s == task.Schedule{}:
		return bad("schedule", nil, "is empty; use a cron expression, an interval or an instant")
	case s.Every != 0 && (s.Every < time.Second || s.Every%time.Microsecond != 0):
		return bad("schedule.every", nil, "is %s; use whole microseconds from 1s", s.Every)
	case s.After != 0 && s.After < time.Millisecond:
		return bad("schedule.after", nil, "is %s; use 1ms or more", s.After)
	case s.At != 0:
		now = 0 // an instant that has just passed fires at once
	}
	fires, err := Preview(j, now, 1)
	switch {
	case err != nil:
		return bad("schedule", err, "%v", err)
	case len(fires) == 0 && s.After == 0:
		return bad("schedule", cron.ErrNeverFires, "has no fire in the future")
	}
	return nil
}

// Preview returns the next n fires after t by the same code that fires.
func Preview(j *task.Job, t task.Time, n int) ([]task.Time, error) {
	p, err := newPlan(j)
	if err != nil || p == nil {
		return nil, err
	}
	var out []task.Time
	for len(out) < n {
		if t = p.next(t); t == 0 {
			break
		}
		out = append(out, t)
	}
	return out, nil
}

type atPlan task.Time

func (p atPlan) next(t task.Time) task.Time {
	if t < task.Time(p) {
		return task.Time(p)
	}
	return 0
}

func (p atPlan) latest(t, now task.Time) (task.Time, int) { return p.next(t), 1 }

// everyPlan fires at anchor + k*step, k >= 1.
type everyPlan struct{ anchor, step int64 }

func (p everyPlan) next(t task.Time) task.Time {
	k := max(int64(t)-p.anchor, 0)/p.step + 1
	if k > (int64(task.MaxTime)-p.anchor)/p.step {
		return 0
	}
	return task.Time(p.anchor + k*p.step)
}

func (p everyPlan) latest(t, now task.Time) (task.Time, int) {
	first := p.next(t)
	n := (int64(now) - int64(first)) / p.step
	return first + task.Time(n*p.step), int(n) + 1
}

type cronPlan struct{ s *cron.Schedule }

func newCronPlan(j *task.Job) (plan, error) {
	zone := time.UTC
	if j.Schedule.Zone != "" {
		var err error
		if zone, err = time.LoadLocation(j.Schedule.Zone); err != nil {
			return nil, fmt.Errorf("schedule.tz: %w", err)
		}
	}
	s, err := cron.Parse(j.Schedule.Cron, cron.In(zone), cron.Seed(j.Name),
		cron.Anchor(j.Anchor.Go()))
	if err != nil {
		return nil, err
	}
	return cronPlan{s}, nil
}

func (p cronPlan) next(t task.Time) task.Time { return task.FromGo(p.s.Next(t.Go())) }

func (p cronPlan) latest(t, now task.Time) (task.Time, int) {
	last, n := p.s.Latest(t.Go(), now.Go())
	return task.FromGo(last), int(n)
}
