package wire

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Fill puts values into a statement. Bytes are written as hexadecimal digits: then there is nothing
// to escape, whatever the character set and the mode of the session, and the server takes them as
// bytes. There are no prepared statements: they cost a round trip each, and a server's count of
// them is limited over all its clients.
func Fill(text string, a *Args) string {
	n := len(text)
	for i := range a.vals {
		n += 12 + 2*len(a.vals[i].bytes)
	}
	f := filler{Args: a, out: make([]byte, 0, n)}
	for text != "" {
		open := strings.IndexByte(text, '{')
		if open < 0 {
			f.plain(text)
			break
		}
		f.plain(text[:open])
		inner, rest, _ := strings.Cut(text[open+1:], "}")
		row, between, ok := strings.Cut(inner, "|")
		if !ok {
			between = ", "
		}
		for i := range f.rows[f.group] {
			if i > 0 {
				f.out = append(f.out, between...)
			}
			f.plain(row)
		}
		f.group++
		text = rest
	}
	if f.next != len(a.vals) || f.group != len(a.rows) {
		panic(fmt.Sprintf("%d of %d values and %d of %d rows used in %.60s", f.next, len(a.vals),
			f.group, len(a.rows), text))
	}
	return string(f.out)
}

type filler struct {
	*Args
	out         []byte
	next, group int
}

// plain writes text with its values.
func (f *filler) plain(text string) {
	for {
		before, after, more := strings.Cut(text, "?")
		f.out = append(f.out, before...)
		if !more {
			return
		}
		v := &f.vals[f.next]
		f.next++
		switch v.kind {
		case isNum:
			f.out = strconv.AppendInt(f.out, v.num, 10)
		case isBytes:
			f.out = append(f.out, 'x', '\'')
			f.out = hex.AppendEncode(f.out, []byte(v.bytes))
			f.out = append(f.out, '\'')
		default:
			f.out = append(f.out, "NULL"...)
		}
		text = after
	}
}
