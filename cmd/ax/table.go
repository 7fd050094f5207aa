package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/ax-sched/ax/task"
)

// printTasks prints one line a task.
func printTasks(w io.Writer, rows []task.Task, next string) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "no tasks")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tSTATE\tREASON\tKIND\tKEY OR JOB\tATTEMPT\tRUN AT\tERROR")
	for i := range rows {
		r := &rows[i]
		name := r.Key
		if r.Job != "" {
			name = r.Job
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", r.ID, r.State, dash(r.Reason.String()),
			r.Kind, dash(name), r.Attempt, formatTime(r.RunAt), dash(firstLine(r.Error)))
	}
	if next != "" {
		fmt.Fprintf(t, "\nolder ones: --before %s\n", next)
	}
	return t.Flush()
}

// print prints a task by lines of name and value, its attempts and its history as tables, and the
// end of its log.
func (v *shown) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	v.printTask(t)
	v.printExecutions(t)
	v.printHistory(t)
	if err := t.Flush(); err != nil || len(v.log) == 0 {
		return err
	}
	fmt.Fprintln(w)
	if len(v.log) == shownLines {
		fmt.Fprintf(w, "the last %d lines of the log (ax tasks logs prints all):\n", shownLines)
	}
	return printLog(w, v.log, false)
}

func (v *shown) printTask(t io.Writer) {
	r := &v.task
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(t, "%s\t%s\n", name, value)
		}
	}
	line("id", r.ID.String())
	line("kind", r.Kind)
	line("key", r.Key)
	line("job", r.Job)
	line("state", strings.TrimSpace(r.State.String()+" "+r.Reason.String()))
	if r.Run > 1 {
		line("run", strconv.Itoa(r.Run))
	}
	line("attempt", attempts(r))
	if r.MaxRetries >= 0 {
		line("max retries", strconv.Itoa(r.MaxRetries))
	}
	line("timeout", timeout(r.Timeout))
	line("priority", r.Bucket.String())
	line("group", r.Group)
	line("owner", r.OwnerService)
	line("labels", labels(r.Labels))
	line("created", formatTime(r.CreatedAt))
	line("fire time", formatTime(r.FireTime)+standsFor(r))
	line("run at", formatTime(r.RunAt))
	line("expires", formatTime(r.ExpiresAt))
	line("triggered", formatTime(r.TriggeredAt))
	line("started", formatTime(r.StartedAt))
	line("finished", formatTime(r.FinishedAt))
	line("executor", r.Executor)
	line("payload", payload(r.Payload))
	if r.Result != nil {
		line("result", payload(r.Result))
	}
	if p := v.progress; p != nil {
		if said := p.String(); said != "" {
			line("progress", said+", said at "+formatTime(p.At))
		}
		if p.Output != nil && !bytes.Equal(p.Output, r.Result) {
			line("output", payload(p.Output))
		}
	}
	line("error", strings.ReplaceAll(r.Error, "\n", "\n\t"))
}

func (v *shown) printExecutions(t io.Writer) {
	if len(v.executions) == 0 {
		return
	}
	fmt.Fprintln(t)
	fmt.Fprintln(t, "RUN\tATTEMPT\tEXECUTOR\tSTARTED\tTOOK\tOUTCOME\tEXECUTION\tERROR")
	for i := range v.executions {
		x := &v.executions[i]
		took := ""
		if x.StartedAt != 0 && x.FinishedAt != 0 {
			took = x.Took().Round(time.Millisecond).String()
		}
		fmt.Fprintf(t, "%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", x.Run, x.Attempt, dash(x.Executor),
			dash(formatTime(x.StartedAt)), dash(took), dash(x.Outcome.String()), x.ID,
			dash(firstLine(x.Error)))
	}
}

func (v *shown) printHistory(t io.Writer) {
	fmt.Fprintln(t)
	fmt.Fprintln(t, "VERSION\tAT\tFROM\tTO\tEVENT\tREASON\tATTEMPT\tBY\tDETAIL")
	for _, e := range v.history {
		from := "-"
		if e.From != task.None {
			from = e.From.String()
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Version, formatTime(e.At), from,
			e.To, e.Event, dash(e.Reason.String()), dash(positive(e.Attempt)), dash(e.Actor),
			dash(firstLine(e.Detail)))
	}
}

func attempts(r *task.Task) string {
	s := strconv.Itoa(r.Attempt)
	if r.Failures > 0 {
		s += fmt.Sprintf(", %d failed", r.Failures)
	}
	if r.Recoveries > 0 {
		s += fmt.Sprintf(", %d lost", r.Recoveries)
	}
	return s
}

// timeout is "" where the kind decides.
func timeout(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < 0:
		return "none"
	}
	return d.String()
}

func labels(m map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, name+"="+m[name])
	}
	return strings.Join(out, ", ")
}

func positive(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// payload shows short text as it is and says the size of anything else.
func payload(p []byte) string {
	const most = 200
	if len(p) > most || !utf8.Valid(p) || strings.ContainsFunc(string(p), func(r rune) bool {
		return r < ' ' || r == 0x7f
	}) {
		return fmt.Sprintf("%d bytes (--json prints them)", len(p))
	}
	return string(p)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// firstLine shortens a text for a table.
func firstLine(s string) string {
	const most = 80
	line, _, more := strings.Cut(s, "\n")
	line = strings.ReplaceAll(line, "\t", " ")
	if utf8.RuneCountInString(line) > most {
		line, more = string([]rune(line)[:most]), true
	}
	if more {
		line += " ..."
	}
	return line
}

// standsFor says which earlier fires were collapsed into this one.
func standsFor(t *task.Task) string {
	if t.FireCount < 2 {
		return ""
	}
	return fmt.Sprintf(" for %d fires since %s", t.FireCount, formatTime(t.FireFrom))
}
