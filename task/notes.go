package task

import "log/slog"

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

// LogLine is one line of the log of an execution.
type LogLine struct {
	TaskID      ID
	ExecutionID ID
	Seq         int64 // ascending within the execution; gaps say nothing
	At          Time
	Level       slog.Level
	Text        string // the message and its attributes, as slog's text handler writes them
}
