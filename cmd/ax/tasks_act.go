package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/task"
)

// The verbs, and what each takes: the same as package complete allows.
var (
	cancelVerb = verb{"cancel", "PENDING, SCHEDULED, DISPATCHING, RUNNING or HELD", []task.State{
		task.Pending, task.Scheduled, task.Dispatching, task.Running, task.Held}}
	retryVerb   = verb{"retry", "DEAD, CANCELED or SKIPPED", []task.State{task.Dead}}
	triggerVerb = verb{"trigger", "PENDING, SCHEDULED, SUCCEEDED, DEAD, CANCELED, SKIPPED or HELD",
		[]task.State{task.Scheduled}}
	resolveVerb    = verb{"resolve", "HELD", []task.State{task.Held}}
	rescheduleVerb = verb{"reschedule", "SCHEDULED", []task.State{task.Scheduled}}
)

type tasksCancelCmd struct{ actFlags }

// Help shows an example.
func (tasksCancelCmd) Help() string {
	return `A task that waits ends at once. One that runs is asked to end, and counts as canceled
unless it succeeds all the same.

Example: ax tasks cancel 0193a5b0-7c1e-7d3f-8a60-2b9d4c5e6f70 --reason 'the wrong file'
` + manyHelp
}

// Run cancels.
func (c *tasksCancelCmd) Run(a *app) error {
	return c.run(a, cancelVerb, (*ax.Scheduler).Cancel)
}

type tasksRetryCmd struct{ actFlags }

// Help shows an example.
func (tasksRetryCmd) Help() string {
	return `For tasks that are DEAD, CANCELED or SKIPPED: they become due at once, in a new run with
all their retries. By filter: those that are DEAD, unless --state says otherwise.

Example: ax tasks retry --kind mail --since 2h --reason 'the mail server is back'
` + manyHelp
}

// Run retries.
func (c *tasksRetryCmd) Run(a *app) error { return c.run(a, retryVerb, (*ax.Scheduler).Retry) }

type tasksTriggerCmd struct {
	actFlags
	Again bool `env:"-" help:"${trigger_again}"`
}

// Help shows an example.
func (tasksTriggerCmd) Help() string {
	return `For all tasks but those that run. One that has ended begins a new run. By filter: those
that are SCHEDULED, unless --state says otherwise.

A task that is SUCCEEDED has done its work, and one that is HELD may have: they are refused without
--again, which does the work once more. To decide about HELD use resolve.

Example: ax tasks trigger 0193a5b0-7c1e-7d3f-8a60-2b9d4c5e6f70 --reason 'the customer waits'
` + manyHelp
}

// Run triggers.
func (c *tasksTriggerCmd) Run(a *app) error {
	if states, err := parseStates(c.State); err == nil && !c.Again {
		for _, s := range states {
			if why := twice(s); why != "" {
				return usage("--state: %s: %s", s, why)
			}
		}
	}
	return c.run(a, triggerVerb, c.trigger)
}

// trigger looks at the task first: one that was found waiting may have ended meanwhile. A task that
// succeeds between the look and the act runs again all the same, as by a trigger that came later.
func (c *tasksTriggerCmd) trigger(s *ax.Scheduler, ctx context.Context, id ax.ID, by ax.By) error {
	if !c.Again {
		t, err := s.Get(ctx, id)
		if err != nil {
			return err
		}
		if why := twice(t.State); why != "" {
			return fmt.Errorf("trigger task %s: it is %s: %s", id, t.State, why)
		}
	}
	return s.Trigger(ctx, id, by)
}

// twice says why running a task in the state may repeat its work, or "".
func twice(s task.State) string {
	switch s {
	case task.Succeeded:
		return "it has done its work; --again does it once more"
	case task.Held:
		return "it may have done its work: look first, then use resolve; --again runs it without a " +
			"decision"
	}
	return ""
}

type tasksResolveCmd struct {
	actFlags
	As string `env:"-" required:"" enum:"rerun,succeeded,dead" help:"${resolve_as}"`
}

// Help shows an example.
func (tasksResolveCmd) Help() string {
	return `HELD means that nobody knows how the last attempt ended. Look at its effect first.

Example: ax tasks resolve 0193a5b0-7c1e-7d3f-8a60-2b9d4c5e6f70 --as succeeded --reason 'it is paid'
` + manyHelp
}

// Run resolves.
func (c *tasksResolveCmd) Run(a *app) error {
	return c.run(a, resolveVerb, func(s *ax.Scheduler, ctx context.Context, id ax.ID,
		by ax.By) error {
		return s.Resolve(ctx, id, ax.Answer(c.As), by)
	})
}

type tasksRescheduleCmd struct {
	actFlags
	RunAt string `env:"-" required:"" placeholder:"TIME" help:"${reschedule_at}"`
}

// Help shows an example.
func (tasksRescheduleCmd) Help() string {
	return `Priority, payload and retries stay as they are.

Example: ax tasks reschedule 0193a5b0-7c1e-7d3f-8a60-2b9d4c5e6f70 --run-at 2030-01-31T22:00:00Z \
--reason 'after the closing'
` + manyHelp
}

// Run reschedules.
func (c *tasksRescheduleCmd) Run(a *app) error {
	at, err := instant(c.RunAt, time.Now())
	if err != nil {
		return fmt.Errorf("--run-at: %w", err)
	}
	return c.run(a, rescheduleVerb, func(s *ax.Scheduler, ctx context.Context, id ax.ID,
		by ax.By) error {
		return s.Reschedule(ctx, id, at, by)
	})
}

// instant reads a time, or a duration from now on.
func instant(text string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d), nil
	}
	return time.Time{}, usage("%q is no time such as 2030-01-31T22:00:00Z, and no duration from "+
		"now such as 2h", text)
}
