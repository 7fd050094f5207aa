// Package show is how tasks are shown: as tables for a terminal, and in the JSON shapes that
// programs read.
package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/ax-sched/ax/task"
)

// LastLines is how many lines of a log are shown with a task.
const LastLines = 20

// All is all that is known of a task.
type All struct {
	Task       task.Task
	Progress   *task.Progress // nil: no execution has said anything
	Executions []task.Execution
	History    []task.Entry
	Log        []task.LogLine // the last lines
}

// Line is a line as --json prints it.
type Line struct {
	Execution string  `json:"execution_id"`
	Seq       int64   `json:"seq"`
	At        *string `json:"at"`
	Level     string  `json:"level"`
	Text      string  `json:"text"`
}

func logLines(lines []task.LogLine) []Line {
	out := make([]Line, len(lines))
	for i, l := range lines {
		out[i] = Line{Execution: l.ExecutionID.String(), Seq: l.Seq, At: timeJSON(l.At),
			Level: l.Level.String(), Text: l.Text}
	}
	return out
}

// Log prints lines with their time and level. A terminal must not obey what a handler logged.
func Log(w io.Writer, lines []task.LogLine, asJSON bool) error {
	for i, l := range logLines(lines) {
		if asJSON {
			if err := JSON(w, l); err != nil {
				return err
			}
			continue
		}
		text := strings.ReplaceAll(task.Printable(l.Text), "\n", "\n    ")
		if _, err := fmt.Fprintf(w, "%s %-5s %s\n", Time(lines[i].At), l.Level,
			text); err != nil {
			return err
		}
	}
	return nil
}

// Execution is an attempt as --json prints it.
type Execution struct {
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

func execution(x *task.Execution) Execution {
	j := Execution{ID: x.ID.String(), Run: x.Run, Attempt: x.Attempt, Executor: x.Executor,
		Epoch: x.Epoch, Token: x.Token, Outcome: x.Outcome.String(), Class: x.Class(), Error: x.Error,
		StartedAt: timeJSON(x.StartedAt), FinishedAt: timeJSON(x.FinishedAt)}
	if x.StartedAt != 0 && x.FinishedAt != 0 {
		ms := x.Took().Milliseconds()
		j.DurationMS = &ms
	}
	return j
}

// Progress is how far an execution is.
type Progress struct {
	Done      int64   `json:"done"`
	Total     int64   `json:"total"` // 0: not known
	At        *string `json:"at"`
	Execution string  `json:"execution_id"`
}

// Detail is a task with all that is known of it.
type Detail struct {
	Task       Task        `json:"task"`
	Payload    []byte      `json:"payload_base64"`
	Result     []byte      `json:"result_base64"`
	Progress   *Progress   `json:"progress"`
	Output     []byte      `json:"output_base64"`
	Sealed     string      `json:"sealed_with,omitempty"`
	Executions []Execution `json:"executions"`
	History    []Entry     `json:"history"`
	Log        []Line      `json:"log"`
}

// Detail is a task with all that is known of it in its JSON shape.
func (v *All) Detail() Detail {
	j := Detail{Task: Row(&v.Task), Payload: append([]byte{}, v.Task.Payload...),
		Result: v.Task.Result, Executions: make([]Execution, len(v.Executions)),
		History: entries(v.History), Log: logLines(v.Log)}
	for i := range v.Executions {
		j.Executions[i] = execution(&v.Executions[i])
	}
	if p := v.Progress; p != nil {
		j.Progress = &Progress{Done: p.Done, Total: p.Total, At: timeJSON(p.At),
			Execution: p.ExecutionID.String()}
		j.Output = p.Output
	}
	j.Sealed = sealedWith(j.Payload, j.Result, j.Output)
	return j
}
