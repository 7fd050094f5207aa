package trigger

import (
	"fmt"
	"time"

	"github.com/ax-sched/ax/cron"
	"github.com/ax-sched/ax/task"
)

func bad(field string, err error, format string, args ...any) error {
	return &task.InputError{Field: field, Err: err, Reason: fmt.Sprintf(format, args...)}
}

// Check refuses a definition whose schedule is not one or can never fire, by the code that fires,
// or whose policies contradict each other.
func Check(j *task.Job, now task.Time) error {
	if err := checkPolicies(j); err != nil {
		return err
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
	case j.EndsAt != 0:
		now = max(j.StartsAt, 1) // a service that starts again may put what is over
	}
	fires, err := Preview(j, now, 1)
	switch {
	case err != nil:
		return bad("schedule", err, "%v", err)
	case len(fires) == 0 && s.After == 0 && (j.StartsAt != 0 || j.EndsAt != 0):
		return bad("schedule", cron.ErrNeverFires, "has no fire in the future from starts_at to ends_at")
	case len(fires) == 0 && s.After == 0:
		return bad("schedule", cron.ErrNeverFires, "has no fire in the future")
	}
	return checkJitter(j, now)
}

// checkPolicies refuses what says nothing, or nothing that can be done.
func checkPolicies(j *task.Job) error {
	switch {
	case j.Misfire > task.MisfireAll:
		return bad("misfire", nil, "is %d; use once, skip or all", j.Misfire)
	case j.Misfire == task.MisfireAll && j.Overlap.Latest():
		return bad("misfire", nil, "is all, but with overlap %s a waiting fire gives way to a newer "+
			"one and only the latest would run; use overlap allow or queue, or misfire once",
			j.Overlap)
	case j.MisfireGrace < 0:
		return bad("misfire_grace", nil, "is %s; use 0 or more", j.MisfireGrace)
	case j.MisfireCap < 0 || j.MisfireCap > task.MaxMisfireCap:
		return bad("misfire_cap", nil, "is %d; use 1 to %d, or 0 for %d", j.MisfireCap,
			task.MaxMisfireCap, task.DefaultMisfireCap)
	case j.EndsAt != 0 && j.EndsAt < j.StartsAt:
		return bad("ends_at", nil, "is before starts_at; use a later time")
	case j.MaxFires < 0:
		return bad("max_fires", nil, "is %d; use 1 or more, or 0 for no limit", j.MaxFires)
	case j.Jitter < 0:
		return bad("jitter", nil, "is %s; use 0 or more", j.Jitter)
	case j.Jitter > 0 && (j.Schedule.After != 0 || j.Schedule.At != 0):
		return bad("jitter", nil, "is for schedules that repeat by the clock; remove it")
	}
	return task.CheckOverlap(j.Overlap, j.OverlapKey, true)
}

// looked is how many fires checkJitter compares.
const looked = 32

// checkJitter refuses a jitter as long as the distance of two fires: a fire could become due after
// the next one, which might replace it again and again.
func checkJitter(j *task.Job, now task.Time) error {
	if j.Jitter == 0 {
		return nil
	}
	fires, err := Preview(j, now, looked)
	if err != nil {
		return bad("schedule", err, "%v", err)
	}
	for i := 1; i < len(fires); i++ {
		if d := fires[i].Sub(fires[i-1]); j.Jitter >= d {
			return bad("jitter", nil, "is %s, but two fires are only %s apart; use less than that",
				j.Jitter, d.Round(time.Microsecond))
		}
	}
	return nil
}
