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
	// prev returns the last fire before t, or 0.
	prev(t task.Time) task.Time
}

// newPlan compiles the schedule of a job and its bounds.
func newPlan(j *task.Job) (plan, error) {
	p, err := newSchedule(j)
	if err != nil || p == nil || j.StartsAt == 0 && j.EndsAt == 0 {
		return p, err
	}
	end := j.EndsAt
	if end == 0 {
		end = task.MaxTime
	}
	return boundPlan{p, j.StartsAt, end}, nil
}

func newSchedule(j *task.Job) (plan, error) {
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

// Preview returns the next n fires after t by the same code that fires, as if the job were neither
// paused nor told to skip.
func Preview(j *task.Job, t task.Time, n int) ([]task.Time, error) {
	p, err := newPlan(j)
	if err != nil || p == nil {
		return nil, err
	}
	if j.MaxFires > 0 {
		n = int(min(int64(n), j.MaxFires-j.Fires))
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

func (p atPlan) prev(t task.Time) task.Time {
	if task.Time(p) < t {
		return task.Time(p)
	}
	return 0
}

// boundPlan leaves out what lies before start or after end.
type boundPlan struct {
	plan
	start, end task.Time
}

func (p boundPlan) next(t task.Time) task.Time {
	if at := p.plan.next(max(t, p.start-1)); at <= p.end {
		return at
	}
	return 0
}

func (p boundPlan) latest(t, now task.Time) (task.Time, int) {
	return p.plan.latest(max(t, p.start-1), min(now, p.end))
}

func (p boundPlan) prev(t task.Time) task.Time {
	if at := p.plan.prev(min(t, p.end+1)); at >= p.start {
		return at
	}
	return 0
}

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

func (p everyPlan) prev(t task.Time) task.Time {
	k := (int64(t) - 1 - p.anchor) / p.step
	if int64(t) <= p.anchor || k < 1 {
		return 0
	}
	return task.Time(p.anchor + k*p.step)
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

func (p cronPlan) prev(t task.Time) task.Time { return task.FromGo(p.s.Previous((t - 1).Go())) }
