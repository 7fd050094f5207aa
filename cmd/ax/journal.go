package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/command"
	"github.com/ax-sched/ax/internal/show"
)

// journal prints what happens, one line an event, as text or JSON. It is safe for concurrent use.
type journal struct {
	mu   sync.Mutex
	out  io.Writer
	json bool
	now  func() time.Time
}

// record is an event in JSON.
type record struct {
	At    string `json:"at"`
	Event string `json:"event"`
	Job   string `json:"job"`
	Task  string `json:"task_id"`
	Text  string `json:"text"`
}

// say prints a remark that belongs to no task.
func (j *journal) say(job, format string, args ...any) {
	j.event("note", job, ax.ID{}, fmt.Sprintf(format, args...))
}

// event prints one event. An error of the output is nobody's who could do something about it.
func (j *journal) event(event, job string, id ax.ID, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	at := j.now().UTC().Format(show.Stamp)
	if j.json {
		_ = show.JSON(j.out, record{at, event, job, id.String(), text})
		return
	}
	parts := []string{at}
	if job != "" {
		parts = append(parts, job)
	}
	switch event {
	case "note":
	case "output":
		parts = append(parts, "|")
	default:
		parts = append(parts, event)
	}
	_, _ = fmt.Fprintln(j.out, strings.Join(append(parts, text), " "))
}

// output returns a writer that makes each line an event.
func (j *journal) output(job string, id ax.ID) *command.Lines {
	return command.NewLines(func(text string) { j.event("output", job, id, text) })
}
