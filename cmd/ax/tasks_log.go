package main

import (
	"fmt"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/internal/show"
	"github.com/ax-sched/ax/store"
)

// followEvery is how often --follow looks. A line is in the database about a second after it was
// logged, so after the end of a task it looks for as long again.
const followEvery = time.Second

type tasksLogsCmd struct {
	dbFlag
	ID        string `arg:"" help:"The task's id."`
	Execution string `env:"-" placeholder:"ID" help:"Only this attempt, as ax tasks show names it."`
	Last      int    `env:"-" placeholder:"N" help:"Only the last lines, 1 to 1000."`
	Follow    bool   `env:"-" short:"f" help:"Wait for more, until the task has ended."`
	JSON      bool   `help:"Print JSON."`
}

// Help shows an example.
func (tasksLogsCmd) Help() string {
	return `What handlers log with ax.Logger, from Config.LogLevel on, is stored about a second
later. Of each attempt the first 32 KiB are kept and, from its end on, the last 32 KiB.

Example: ax tasks logs 0193a5b0-7c1e-7d3f-8a60-2b9d4c5e6f70 --db sqlite:ax.db --follow

JSON: one line for each: execution_id, seq, at, level, text.`
}

// Run prints the log.
func (c *tasksLogsCmd) Run(a *app) error {
	q := ax.LogFilter{Limit: 1000}
	var err error
	if q.Task, err = parseID(c.ID); err != nil {
		return err
	}
	if c.Execution != "" {
		if q.Execution, err = parseID(c.Execution); err != nil {
			return fmt.Errorf("--execution: %w", err)
		}
	}
	if c.Last < 0 || c.Last > 1000 {
		return usage("--last is %d; use 1 to 1000", c.Last)
	}
	if c.Last > 0 {
		q.Newest, q.Limit = true, c.Last
	}
	return c.with(a, func(s *ax.Scheduler) error { return c.follow(a, s, q) })
}

// follow prints page after page.
func (c *tasksLogsCmd) follow(a *app, s *ax.Scheduler, q ax.LogFilter) error {
	over := 0 // how often the task had ended before the log was read
	silent := true
	for {
		t, err := s.Get(a.ctx, q.Task)
		if err != nil {
			return err
		}
		if t.State.Final() {
			over++
		}
		for more := true; more; {
			page, err := s.Logs(a.ctx, q)
			if err == nil {
				err = show.Log(a.out, page, c.JSON)
			}
			if err != nil {
				return err
			}
			more = len(page) == q.Limit && !q.Newest
			q.Newest, q.Limit = false, 1000
			if n := len(page); n > 0 {
				silent = false
				q.After = store.LogMark{Execution: page[n-1].ExecutionID, Seq: page[n-1].Seq}
			}
		}
		if c.Follow && over <= 2 && clock.Sleep(a.ctx, followEvery) {
			continue
		}
		if silent && !c.JSON {
			_, err = fmt.Fprintln(a.out, "no lines")
		}
		return err
	}
}
