package task

import (
	"fmt"
	"log/slog"
	"strings"
)

// Limits of what handlers may say while they run.
const (
	MaxOutput  = MaxResult // bytes of an output; refused, never cut
	MaxLogLine = 4 << 10   // bytes of a line in a log; longer ones are cut at a character
)

// Progress is how far the last execution of a task that said so has come, and its output so far.
// A failed attempt leaves it as it was, until another one says something.
type Progress struct {
	TaskID      ID
	ExecutionID ID
	Done, Total int64  // in units of the handler's own; a Total of 0 is not known
	Output      []byte // nil: none so far
	At          Time   // when the execution last said something, by its process
}

// String is "3 of 4 (75 %)", "3" where the total is not known, and "" where nothing was said of it.
func (p *Progress) String() string {
	switch {
	case p.Done == 0 && p.Total == 0:
		return ""
	case p.Total == 0:
		return fmt.Sprint(p.Done)
	}
	return fmt.Sprintf("%d of %d (%.0f %%)", p.Done, p.Total,
		100*float64(p.Done)/float64(p.Total))
}

// LogLine is one line of the log of an execution.
type LogLine struct {
	TaskID      ID
	ExecutionID ID
	Seq         int64 // ascending within the execution; gaps say nothing
	At          Time
	Level       slog.Level
	Text        string // the message and its attributes, as slog's text handler writes them
}

// Printable shows control characters other than tab and line feed by their symbols: a terminal must
// not obey what a handler has logged.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ':
			return r + 0x2400
		case r >= 0x7f && r < 0xa0:
			return 0xfffd
		}
		return r
	}, s)
}
