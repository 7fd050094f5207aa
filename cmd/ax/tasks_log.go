package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// shownLines is how many lines of a log ax tasks show prints.
const shownLines = 20

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
				err = printLog(a.out, page, c.JSON)
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

// logJSON is a line as --json prints it.
type logJSON struct {
	Execution string  `json:"execution_id"`
	Seq       int64   `json:"seq"`
	At        *string `json:"at"`
	Level     string  `json:"level"`
	Text      string  `json:"text"`
}

func logLines(lines []task.LogLine) []logJSON {
	out := make([]logJSON, len(lines))
	for i, l := range lines {
		out[i] = logJSON{Execution: l.ExecutionID.String(), Seq: l.Seq, At: timeJSON(l.At),
			Level: l.Level.String(), Text: l.Text}
	}
	return out
}

// printLog prints lines with their time and level. A terminal must not obey what a handler logged.
func printLog(w io.Writer, lines []task.LogLine, asJSON bool) error {
	for i, l := range logLines(lines) {
		if asJSON {
			if err := printJSON(w, l); err != nil {
				return err
			}
			continue
		}
		text := strings.ReplaceAll(task.Printable(l.Text), "\n", "\n    ")
		if _, err := fmt.Fprintf(w, "%s %-5s %s\n", formatTime(lines[i].At), l.Level,
			text); err != nil {
			return err
		}
	}
	return nil
}

// executionJSON is an attempt as --json prints it.
type executionJSON struct {
	ID         string  `json:"execution_id"`
	Run        int     `json:"run"`
	Attempt    int     `json:"attempt"`
	Executor   string  `json:"executor"`
	Epoch      int64   `json:"epoch"`
	Token      int64   `json:"token"`
	Outcome    string  `json:"outcome"` // "" while it runs, and where nobody knows
	Class      string  `json:"class"`   // of a failure
	Error      string  `json:"error"`
	StartedAt  *string `json:"started_at"`
	FinishedAt *string `json:"finished_at"`
	DurationMS *int64  `json:"duration_ms"`
}

func toExecutionJSON(x *task.Execution) executionJSON {
	j := executionJSON{ID: x.ID.String(), Run: x.Run, Attempt: x.Attempt, Executor: x.Executor,
		Epoch: x.Epoch, Token: x.Token, Outcome: x.Outcome.String(), Class: x.Class(), Error: x.Error,
		StartedAt: timeJSON(x.StartedAt), FinishedAt: timeJSON(x.FinishedAt)}
	if x.StartedAt != 0 && x.FinishedAt != 0 {
		ms := x.Took().Milliseconds()
		j.DurationMS = &ms
	}
	return j
}

type progressJSON struct {
	Done      int64   `json:"done"`
	Total     int64   `json:"total"` // 0: not known
	At        *string `json:"at"`
	Execution string  `json:"execution_id"`
}

// shownJSON is a task with all that is known of it.
type shownJSON struct {
	Task       taskJSON        `json:"task"`
	Payload    []byte          `json:"payload_base64"`
	Result     []byte          `json:"result_base64"`
	Progress   *progressJSON   `json:"progress"`
	Output     []byte          `json:"output_base64"`
	Executions []executionJSON `json:"executions"`
	History    []entryJSON     `json:"history"`
	Log        []logJSON       `json:"log"`
}

func (v *shown) json() shownJSON {
	j := shownJSON{Task: toJSON(&v.task), Payload: append([]byte{}, v.task.Payload...),
		Result: v.task.Result, Executions: make([]executionJSON, len(v.executions)),
		History: entriesJSON(v.history), Log: logLines(v.log)}
	for i := range v.executions {
		j.Executions[i] = toExecutionJSON(&v.executions[i])
	}
	if p := v.progress; p != nil {
		j.Progress = &progressJSON{Done: p.Done, Total: p.Total, At: timeJSON(p.At),
			Execution: p.ExecutionID.String()}
		j.Output = p.Output
	}
	return j
}
