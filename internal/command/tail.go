package command

import (
	"bytes"
	"strings"
)

// tailBytes is how much of a command's output its error shows.
const tailBytes = 1024

// tail keeps the end of what is written to it.
type tail struct {
	buf []byte
	cut bool
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if n := len(t.buf) - tailBytes; n > 0 {
		t.buf = append(t.buf[:0], t.buf[n:]...)
		t.cut = true
	}
	return len(p), nil
}

// String returns whole lines where there are some, without blanks at both ends.
func (t *tail) String() string {
	b := t.buf
	if i := bytes.IndexByte(b, '\n'); t.cut && i >= 0 && i < len(b)-1 {
		b = b[i+1:]
	}
	s := strings.TrimSpace(strings.ToValidUTF8(string(b), "\uFFFD"))
	if t.cut && s != "" {
		s = "... " + s
	}
	return s
}
