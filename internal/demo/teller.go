package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// teller prints the events of the demo, each with the time since its start. It is safe for
// concurrent use.
type teller struct {
	mu    sync.Mutex
	out   io.Writer
	began time.Time
}

func newTeller(out io.Writer) *teller { return &teller{out: out, began: time.Now()} }

func (t *teller) since() time.Duration { return time.Since(t.began) }

// intro prints the first line. An error of the output is nobody's who could do something about it.
func (t *teller) intro(database string) {
	_, _ = fmt.Fprintf(t.out, "A scheduler at work on %s; Ctrl-C stops it.\n\n", database)
}

func (t *teller) say(who, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = fmt.Fprintf(t.out, "%6.2f s  %-10s %s\n", t.since().Seconds(), who,
		fmt.Sprintf(format, args...))
}

// title is the short name of a kind of the demo.
func title(kind string) string { return strings.TrimPrefix(kind, "demo.") }
