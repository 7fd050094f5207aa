package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ax-sched/ax"
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
	at := j.now().UTC().Format(stamp)
	if j.json {
		_ = printJSON(j.out, record{at, event, job, id.String(), text})
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

// maxOutputLine is where a line of output that has no end is broken.
const maxOutputLine = 8 << 10

// output returns a writer that makes each line an event.
func (j *journal) output(job string, id ax.ID) *outputLines {
	return &outputLines{journal: j, job: job, id: id}
}

// outputLines cuts output into lines. It is for one writer at a time.
type outputLines struct {
	journal *journal
	job     string
	id      ax.ID
	rest    []byte
}

// Write never fails.
func (o *outputLines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			o.rest = append(o.rest, p...)
			if len(o.rest) >= maxOutputLine {
				o.flush()
			}
			break
		}
		o.rest = append(o.rest, p[:i]...)
		o.print()
		p = p[i+1:]
	}
	return n, nil
}

// flush prints what has no end of line.
func (o *outputLines) flush() {
	if len(o.rest) > 0 {
		o.print()
	}
}

func (o *outputLines) print() {
	text := strings.ToValidUTF8(strings.TrimSuffix(string(o.rest), "\r"), "\uFFFD")
	o.rest = o.rest[:0]
	o.journal.event("output", o.job, o.id, text)
}
