package sim

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// event is one line of the trace; it becomes text only if somebody reads it.
type event struct {
	at     time.Duration
	who    string
	format string
	args   []any
}

func (e event) String() string {
	return fmt.Sprintf("%9.3f %-6s %s", e.at.Seconds(), e.who, fmt.Sprintf(e.format, short(e.args)...))
}

// short replaces ids by their last digits, which are random, so that a line fits a screen.
func short(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case task.ID:
			out[i] = shortID(a)
		case []task.Task:
			out[i] = rowsText(a)
		case []*task.Transition:
			out[i] = transitionsText(a)
		default:
			out[i] = a
		}
	}
	return out
}

func shortID(id task.ID) string {
	if id.IsZero() {
		return "-"
	}
	return hex.EncodeToString(id[13:])
}

func rowsText(ts []task.Task) string {
	var b strings.Builder
	for i := range ts {
		t := &ts[i]
		fmt.Fprintf(&b, " [%s %s %q %s", shortID(t.ID), t.Kind, t.Key, t.State)
		if t.State == task.Running {
			fmt.Fprintf(&b, " x%s e%d", shortID(t.ExecutionID), t.Epoch)
		}
		if t.RunAt != task.StoreNow {
			fmt.Fprintf(&b, " at %s", t.RunAt.Go().Format("04:05.000"))
		} else if t.RunIn > 0 {
			fmt.Fprintf(&b, " in %v", t.RunIn)
		}
		if t.OverlapKey != "" {
			fmt.Fprintf(&b, " %s %s", t.Overlap, t.OverlapKey)
		}
		b.WriteByte(']')
	}
	return b.String()
}

func transitionsText(trs []*task.Transition) string {
	var b strings.Builder
	for _, tr := range trs {
		fmt.Fprintf(&b, " [%s v%d %v x%s]", shortID(tr.ID), tr.Version, events(tr),
			shortID(tr.Set.ExecutionID))
	}
	return b.String()
}

// statuses prints the results of an Apply.
func statuses(res []store.Result) string {
	var b strings.Builder
	for _, r := range res {
		fmt.Fprintf(&b, " %s", r.Status)
	}
	return b.String()
}
