package show

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

// Table prints one line a task.
func Table(w io.Writer, rows []task.Task, next string) error {
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
			r.Kind, dash(name), r.Attempt, Time(r.RunAt), dash(FirstLine(r.Error)))
	}
	if next != "" {
		fmt.Fprintf(t, "\nolder ones: --before %s\n", next)
	}
	return t.Flush()
}

// Print prints a task by lines of name and value, its attempts and its history as tables, and the
// end of its log.
func (v *All) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	v.printTask(t)
	v.printExecutions(t)
	v.printHistory(t)
	if err := t.Flush(); err != nil || len(v.Log) == 0 {
		return err
	}
	fmt.Fprintln(w)
	if len(v.Log) == LastLines {
		fmt.Fprintf(w, "the last %d lines of the log (ax tasks logs prints all):\n", LastLines)
	}
	return Log(w, v.Log, false)
}

func (v *All) printTask(t io.Writer) {
	r := &v.Task
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
	line("created", Time(r.CreatedAt))
	line("fire time", Time(r.FireTime)+StandsFor(r))
	line("run at", Time(r.RunAt))
	line("expires", Time(r.ExpiresAt))
	line("triggered", Time(r.TriggeredAt))
	line("started", Time(r.StartedAt))
	line("finished", Time(r.FinishedAt))
	line("executor", r.Executor)
	line("payload", payload(r.Payload))
	if r.Result != nil {
		line("result", payload(r.Result))
	}
	if p := v.Progress; p != nil {
		if said := p.String(); said != "" {
			line("progress", said+", said at "+Time(p.At))
		}
		if p.Output != nil && !bytes.Equal(p.Output, r.Result) {
			line("output", payload(p.Output))
		}
	}
	line("error", strings.ReplaceAll(r.Error, "\n", "\n\t"))
}

func (v *All) printExecutions(t io.Writer) {
	if len(v.Executions) == 0 {
		return
	}
	fmt.Fprintln(t)
	fmt.Fprintln(t, "RUN\tATTEMPT\tEXECUTOR\tSTARTED\tTOOK\tOUTCOME\tEXECUTION\tERROR")
	for i := range v.Executions {
		x := &v.Executions[i]
		took := ""
		if x.StartedAt != 0 && x.FinishedAt != 0 {
			took = x.Took().Round(time.Millisecond).String()
		}
		fmt.Fprintf(t, "%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", x.Run, x.Attempt, dash(x.Executor),
			dash(Time(x.StartedAt)), dash(took), dash(x.Outcome.String()), x.ID,
			dash(FirstLine(x.Error)))
	}
}

func (v *All) printHistory(t io.Writer) {
	fmt.Fprintln(t)
	fmt.Fprintln(t, "VERSION\tAT\tFROM\tTO\tEVENT\tREASON\tATTEMPT\tBY\tDETAIL")
	for _, e := range v.History {
		from := "-"
		if e.From != task.None {
			from = e.From.String()
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Version, Time(e.At), from,
			e.To, e.Event, dash(e.Reason.String()), dash(positive(e.Attempt)), dash(e.Actor),
			dash(FirstLine(e.Detail)))
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

// payload shows short text as it is and says what anything else is.
func payload(p []byte) string {
	const most = 200
	if id := sealedWith(p); id != "" {
		return fmt.Sprintf("sealed with key %s (--keys-file FILE shows it)", id)
	}
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

// FirstLine shortens a text for a table.
func FirstLine(s string) string {
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

// StandsFor says which earlier fires were collapsed into this one.
func StandsFor(t *task.Task) string {
	if t.FireCount < 2 {
		return ""
	}
	return fmt.Sprintf(" for %d fires since %s", t.FireCount, Time(t.FireFrom))
}
