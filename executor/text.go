package executor

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/ax-sched/ax/task"
)

const (
	// maxPanicValue is what is kept of the value given to panic: a huge one must not push the stack
	// out of the text that a row keeps.
	maxPanicValue = 1 << 10
	// maxFrames is how many frames of a stack are read, from the innermost.
	maxFrames = 64
)

// panicText describes a panic: its value, then the frames from where it happened out to where the
// handler was called. Addresses are left out, so that equal panics have equal texts. It is called
// by the deferred function that recovers.
func (l *Local) panicText(p any) string {
	pcs := make([]uintptr, maxFrames)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	var b strings.Builder
	b.WriteString("panic: " + task.CutText(l.redact(fmt.Sprint(p)), maxPanicValue))
	inside := false // of the panic: what is above is the recovery
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			inside = true
		case strings.HasSuffix(f.Function, "/executor.(*Local).call"):
			return b.String()
		case inside && !strings.HasPrefix(f.Function, "runtime."):
			fmt.Fprintf(&b, "\n%s\n\t%s:%d", f.Function, f.File, f.Line)
		}
	}
	return b.String()
}

// redact masks a text before anything is cut off: half a secret would not be recognised.
func (l *Local) redact(s string) string { return task.Masked(s, l.cfg.Redact) }
