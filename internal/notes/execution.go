package notes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Of the log of an execution its first and its last bytes are kept, each as many.
const (
	headBytes = 32 << 10
	ringBytes = 32 << 10
	lineBytes = 48 // about what a line takes without its text
)

// Execution is what one execution says. Its zero value, with C and Task set, has said nothing and
// costs nothing more until it does. It must not be copied.
type Execution struct {
	C    *Collector
	Task *task.Task                 // only its ids are read
	Seal func(output []byte) []byte // encrypts an output that is within the limit; nil: none

	state atomic.Pointer[said]
}

// said is what an execution has said; the lock of the collector guards it. It does not lead to the
// task: what waits for a store that is away must not hold payloads.
type said struct {
	id, task task.ID
	queued   bool
	ended    bool
	bytes    int // what of [said.weight] is counted in Collector.held

	done, total int64
	at          task.Time
	changed     bool // done, total and at wait to be written
	output      []byte
	newOutput   bool // and so does the output

	seq   int64
	head  int            // bytes of lines that were kept as the first ones
	full  bool           // the head takes no more
	lines []task.LogLine // wait to be written
	lost  int            // lines dropped before the first of lines
	last  int64          // the Seq of the last dropped one

	ring     []task.LogLine // the last lines, written at the end
	ringSize int
	left     int   // lines that fell out of the ring
	lastLeft int64 // the Seq of the last of them
}

// open locks the collector and returns what the execution has said. After its end it returns nil
// and locks nothing.
func (e *Execution) open() *said {
	s := e.state.Load()
	if s == nil {
		e.state.CompareAndSwap(nil, &said{id: e.Task.ExecutionID, task: e.Task.ID})
		s = e.state.Load()
	}
	e.C.mu.Lock()
	if s.ended {
		e.C.mu.Unlock()
		return nil
	}
	return s
}

// touch says that progress or output have changed.
func (s *said) touch(now task.Time) {
	s.changed = true
	s.at = max(now, s.at+1) // a clock that steps back must not make it older than what is stored
}

// Progress says how far the execution has come. Negative numbers are 0.
func (e *Execution) Progress(done, total int64) {
	s := e.open()
	if s == nil {
		return
	}
	defer e.C.mu.Unlock()
	s.done, s.total = max(done, 0), max(total, 0)
	s.touch(e.C.cfg.Now())
	e.C.add(s, 0)
}

// ErrEnded: the attempt has ended, so nothing reads its output any more.
var ErrEnded = errors.New("the attempt has ended")

// Output sets the output of the execution: bytes as they are, all else as JSON.
func (e *Execution) Output(v any) error {
	b, ok := v.([]byte)
	if ok {
		b = bytes.Clone(b)
	} else {
		var err error
		if b, err = json.Marshal(v); err != nil {
			return &task.InputError{Field: "output", Reason: err.Error(), Err: err}
		}
	}
	if len(b) > task.MaxOutput {
		return &task.InputError{Field: "output", Err: task.ErrTooLarge, Reason: fmt.Sprintf(
			"has %d bytes; at most %d: store it elsewhere and give its name", len(b), task.MaxOutput)}
	}
	if e.Seal != nil {
		b = e.Seal(b)
	}
	s := e.open()
	if s == nil {
		return ErrEnded
	}
	defer e.C.mu.Unlock()
	s.output, s.newOutput = b, true
	s.touch(e.C.cfg.Now())
	e.C.add(s, 0)
	return nil
}

// line keeps a line of the log.
func (e *Execution) line(level slog.Level, text string) {
	s := e.open()
	if s == nil {
		return
	}
	defer e.C.mu.Unlock()
	if e.C.cfg.Store == nil {
		return
	}
	s.seq++
	l := task.LogLine{Seq: s.seq, At: e.C.cfg.Now(), Level: level, Text: text}
	n := size(&l)
	if !s.full && s.head+n <= headBytes {
		s.head += n
		s.lines = append(s.lines, l)
		e.C.add(s, n)
		return
	}
	s.full = true
	s.ring, s.ringSize = append(s.ring, l), s.ringSize+n
	for s.ringSize > ringBytes {
		s.left++
		s.lastLeft = s.ring[0].Seq
		s.ringSize -= size(&s.ring[0])
		s.ring[0] = task.LogLine{}
		s.ring = s.ring[1:]
	}
}

func size(l *task.LogLine) int { return len(l.Text) + lineBytes }

// End says that the execution has ended, and returns its output. What it says later is not kept.
func (e *Execution) End() []byte {
	if e.state.CompareAndSwap(nil, silent) {
		return nil
	}
	s := e.open()
	if s == nil {
		return nil
	}
	defer e.C.mu.Unlock()
	if s.left > 0 {
		s.lines = append(s.lines, task.LogLine{Seq: s.lastLeft, At: e.C.cfg.Now(),
			Level: slog.LevelWarn, Text: fmt.Sprintf("%d lines were left out here: of the log of an "+
				"execution the first %d KiB and the last %d are kept", s.left, headBytes>>10,
				ringBytes>>10)})
	}
	s.lines = append(s.lines, s.ring...)
	more := s.ringSize > 0
	s.ring, s.ringSize, s.ended = nil, 0, true
	if more {
		e.C.add(s, 0)
	}
	if s.queued {
		e.C.weigh(s)
		raise(e.C.hurry)
		e.C.shrink()
	}
	return s.output
}

// silent is the state of executions that have ended without a word.
var silent = &said{ended: true}

// The rest is called with the lock of the collector held.

// take returns what waits to be written.
func (s *said) take(now func() task.Time) taken {
	t := taken{s: s, bytes: s.bytes, lost: s.lost, note: store.Note{
		Progress: task.Progress{TaskID: s.task, ExecutionID: s.id, Done: s.done, Total: s.total,
			At: s.at},
		Changed: s.changed, NewOutput: s.newOutput, Lines: s.lines}}
	if s.newOutput {
		t.note.Output = s.output
	}
	if s.lost > 0 {
		t.note.Lines = append([]task.LogLine{{Seq: s.last, At: now(), Level: slog.LevelWarn,
			Text: fmt.Sprintf("%d lines were dropped here: the store did not take them in time",
				s.lost)}}, s.lines...)
	}
	s.settle()
	return t
}

// settle says that nothing waits to be written.
func (s *said) settle() {
	s.queued, s.changed, s.newOutput, s.lines, s.lost, s.bytes = false, false, false, nil, 0, 0
}

// weight is how many bytes can be dropped: of an execution that runs its lines, of one that has
// ended all that waits.
func (s *said) weight() (n int) {
	for i := range s.lines {
		n += size(&s.lines[i])
	}
	if s.ended && s.queued {
		n += entryBytes
		if s.newOutput {
			n += len(s.output)
		}
	}
	return n
}

// restore puts back what was not written.
func (t *taken) restore() {
	s, lines := t.s, t.note.Lines
	if t.lost > 0 {
		lines = lines[1:]
	}
	s.lines = append(lines[:len(lines):len(lines)], s.lines...)
	s.lost += t.lost
	s.changed = s.changed || t.note.Changed
	s.newOutput = s.newOutput || t.note.NewOutput
}

// dropLines drops the lines that wait, and returns how many they were and how many bytes.
func (s *said) dropLines() (n, freed int) {
	if n = len(s.lines); n == 0 {
		return 0, 0
	}
	for i := range s.lines {
		freed += size(&s.lines[i])
	}
	s.last = s.lines[n-1].Seq
	s.lost += n
	s.lines = nil
	freed = min(freed, s.bytes)
	s.bytes -= freed
	return n, freed
}

// forget drops all that waits, and returns how many things that was and how many bytes.
func (s *said) forget() (n, freed int) {
	n, freed = len(s.lines), s.bytes
	if s.newOutput {
		n++
	}
	s.settle()
	return n, freed
}
