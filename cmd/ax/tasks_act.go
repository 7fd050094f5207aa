package main

import (
	"context"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/task"
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
	return c.run(a, (*ax.Scheduler).Cancel, task.Pending, task.Scheduled, task.Dispatching,
		task.Running, task.Held)
}

type tasksRetryCmd struct{ actFlags }

// Help shows an example.
func (tasksRetryCmd) Help() string {
	return `For tasks that are DEAD, CANCELED or SKIPPED: they become due at once, in a new run with
all their retries. By filter: those that are DEAD, unless --state says otherwise.

Example: ax tasks retry --kind mail --dry-run --reason 'the mail server is back'
` + manyHelp
}

// Run retries.
func (c *tasksRetryCmd) Run(a *app) error { return c.run(a, (*ax.Scheduler).Retry, task.Dead) }

type tasksTriggerCmd struct{ actFlags }

// Help shows an example.
func (tasksTriggerCmd) Help() string {
	return `For all tasks but those that run. One that has ended begins a new run. By filter: those
that are SCHEDULED, unless --state says otherwise.

Example: ax tasks trigger 0193a5b0-7c1e-7d3f-8a60-2b9d4c5e6f70 --reason 'the customer waits'
` + manyHelp
}

// Run triggers.
func (c *tasksTriggerCmd) Run(a *app) error {
	return c.run(a, (*ax.Scheduler).Trigger, task.Scheduled)
}

type tasksResolveCmd struct {
	actFlags
	As string `required:"" enum:"rerun,succeeded,dead" help:"${resolve_as}"`
}

// Help shows an example.
func (tasksResolveCmd) Help() string {
	return `HELD means that nobody knows how the last attempt ended. Look at its effect first.

Example: ax tasks resolve 0193a5b0-7c1e-7d3f-8a60-2b9d4c5e6f70 --as succeeded --reason 'it is paid'
` + manyHelp
}

// Run resolves.
func (c *tasksResolveCmd) Run(a *app) error {
	return c.run(a, func(s *ax.Scheduler, ctx context.Context, id ax.ID, by ax.By) error {
		return s.Resolve(ctx, id, ax.Answer(c.As), by)
	}, task.Held)
}

type tasksRescheduleCmd struct {
	actFlags
	RunAt time.Time `required:"" placeholder:"TIME" help:"${reschedule_at}"`
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
	return c.run(a, func(s *ax.Scheduler, ctx context.Context, id ax.ID, by ax.By) error {
		return s.Reschedule(ctx, id, c.RunAt, by)
	}, task.Scheduled)
}
