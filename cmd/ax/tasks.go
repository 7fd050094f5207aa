package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/command"
	"github.com/ax-sched/ax/internal/show"
	"github.com/ax-sched/ax/task"
)

type tasksCmd struct {
	List       tasksListCmd       `cmd:"" help:"List tasks, the newest first."`
	Show       tasksShowCmd       `cmd:"" help:"Show a task, its attempts and all its moves."`
	Logs       tasksLogsCmd       `cmd:"" help:"Print what the handlers of a task have logged."`
	Cancel     tasksCancelCmd     `cmd:"" help:"Cancel tasks that have not ended."`
	Retry      tasksRetryCmd      `cmd:"" help:"Run tasks again that ended without success."`
	Trigger    tasksTriggerCmd    `cmd:"" help:"Run tasks now, whatever they wait for."`
	Resolve    tasksResolveCmd    `cmd:"" help:"Decide about tasks in HELD."`
	Reschedule tasksRescheduleCmd `cmd:"" help:"Give scheduled tasks another time."`
}

// with opens the database, calls use and closes it.
func (f dbFlag) with(a *app, use func(s *ax.Scheduler) error) error {
	db, err := f.parse()
	if err != nil {
		return err
	}
	st, err := db.openExisting(a.ctx)
	if err != nil {
		return err
	}
	s, err := ax.New(st, ax.Config{})
	if err == nil {
		err = use(s)
	}
	return errors.Join(err, st.Close())
}

type tasksListCmd struct {
	dbFlag
	State  []string `env:"-" placeholder:"STATE" help:"${list_state}"`
	Kind   string   `env:"-" help:"Only this kind."`
	Key    string   `env:"-" help:"Only this key."`
	Job    string   `env:"-" help:"Only fires of this job."`
	Limit  int      `default:"50" help:"At most this many, 1 to 1000."`
	Before string   `env:"-" placeholder:"ID" help:"${list_before}"`
	JSON   bool     `help:"Print JSON."`
}

// Help shows an example.
func (tasksListCmd) Help() string {
	return `Works while another process runs the tasks. Times are UTC.

Example: ax tasks list --db sqlite:ax.db --state dead,held --limit 20

JSON: items[] (id, run, kind, key, state, ...), next_cursor (for --before; "" at the end).`
}

// Run prints one page.
func (c *tasksListCmd) Run(a *app) error {
	f := ax.Filter{Kind: c.Kind, Key: c.Key, Job: c.Job, Limit: c.Limit}
	if c.Limit < 1 || c.Limit > 1000 {
		return usage("--limit is %d; use 1 to 1000", c.Limit)
	}
	var err error
	if f.States, err = parseStates(c.State); err != nil {
		return err
	}
	if c.Before != "" {
		if f.Before, err = parseID(c.Before); err != nil {
			return fmt.Errorf("--before: %w", err)
		}
	}
	return c.with(a, func(s *ax.Scheduler) error {
		rows, err := s.List(a.ctx, f)
		if err != nil {
			return err
		}
		next := ""
		if len(rows) == c.Limit {
			next = rows[len(rows)-1].ID.String()
		}
		if !c.JSON {
			return show.Table(a.out, rows, next)
		}
		items := make([]show.Task, len(rows))
		for i := range rows {
			items[i] = show.Row(&rows[i])
		}
		return show.JSON(a.out, struct {
			Items []show.Task `json:"items"`
			Next  string      `json:"next_cursor"`
		}{items, next})
	})
}

type tasksShowCmd struct {
	dbFlag
	keysFlag
	ID   string `arg:"" help:"The task's id."`
	JSON bool   `help:"Print JSON."`
}

// Help shows an example.
func (tasksShowCmd) Help() string {
	return `Example: ax tasks show 0193a5b0-7c1e-7d3f-8a60-2b9d4c5e6f70 --db sqlite:ax.db

JSON: task {id, run, kind, ...}, payload_base64, result_base64, progress {done, total, at,
execution_id} or null, output_base64, sealed_with (the id of the key, if one of these three is
encrypted and was not opened), executions[] (execution_id, attempt, outcome, ...), history[]
(version, at, from, to, event, ...), log[] (the last lines: execution_id, seq, at, level, text).`
}

// look reads all that is known of a task.
func look(a *app, s *ax.Scheduler, id ax.ID) (v show.All, err error) {
	if v.Task, err = s.Get(a.ctx, id); err != nil {
		return v, err
	}
	if v.History, err = s.History(a.ctx, id); err != nil {
		return v, err
	}
	v.Executions = task.Executions(v.History)
	p, err := s.Progress(a.ctx, id)
	switch {
	case err == nil:
		v.Progress = &p
	case !errors.Is(err, ax.ErrNotFound):
		return v, err
	}
	v.Log, err = s.Logs(a.ctx, ax.LogFilter{Task: id, Newest: true, Limit: show.LastLines})
	return v, err
}

// Run prints the task, its attempts, its history and the end of its log.
func (c *tasksShowCmd) Run(a *app) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	box, err := c.box()
	if err != nil {
		return err
	}
	return c.with(a, func(s *ax.Scheduler) error {
		v, err := look(a, s, id)
		if err == nil {
			c.reveal(a, box, &v)
		}
		switch {
		case err != nil:
			return err
		case c.JSON:
			return show.JSON(a.out, v.Detail())
		}
		return v.Print(a.out)
	})
}

// actor names who acts, for the history.
func actor() string {
	name := command.Own().Name
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return task.CutText(name, task.MaxName)
}

func parseID(s string) (ax.ID, error) {
	id, err := task.ParseID(s)
	if s == "" || err == nil && id.IsZero() {
		return id, usage("id is empty; give one such as 0193a5b0-7c1e-7d3f-8a60-2b9d4c5e6f70")
	}
	if err != nil {
		return id, usage("%q is no task id, such as 0193a5b0-7c1e-7d3f-8a60-2b9d4c5e6f70", s)
	}
	return id, nil
}
