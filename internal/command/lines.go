package command

import (
	"bytes"
	"strings"
)

// MaxLine is where a line of output that has no end is broken, in bytes.
const MaxLine = 8 << 10

// Lines cuts output into lines. It is for one writer at a time.
type Lines struct {
	each func(line string)
	rest []byte
}

// NewLines returns a writer that hands each line to the function, without its end and as UTF-8.
func NewLines(each func(line string)) *Lines { return &Lines{each: each} }

// Write never fails.
func (l *Lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.rest = append(l.rest, p...)
			if len(l.rest) >= MaxLine {
				l.Flush()
			}
			break
		}
		l.rest = append(l.rest, p[:i]...)
		l.hand()
		p = p[i+1:]
	}
	return n, nil
}

// Flush hands on what has no end of line.
func (l *Lines) Flush() {
	if len(l.rest) > 0 {
		l.hand()
	}
}

func (l *Lines) hand() {
	text := strings.ToValidUTF8(strings.TrimSuffix(string(l.rest), "\r"), "\uFFFD")
	l.rest = l.rest[:0]
	l.each(text)
}
