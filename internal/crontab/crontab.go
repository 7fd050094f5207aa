// Package crontab reads files in the form of crontab(5): comments, environment lines, five time
// fields or a macro, and a command; in the form of /etc/cron.d with a user between them.
//
// It is pure but for the time zone database: it looks at no file, no user and no clock. Two things
// go beyond the manual: "@every 10s" and what package cron knows in a field (L, W, #, H, ranges
// that wrap).
package crontab

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// Options say how a file is read.
type Options struct {
	// Name is the first part of the names of its jobs, normally the file's base name.
	Name string
	// System expects a user after the time fields, as in /etc/crontab and /etc/cron.d.
	System bool
}

// File is what a crontab says.
type File struct {
	Entries []Entry
	Notes   []Line // what is legal but not done, or perhaps not meant
}

// Entry is one line that starts a command.
type Entry struct {
	Line int // from 1
	// Name is Options.Name and a hash of what the line says. It stays the same wherever in the
	// file the line stands; of two equal lines the second has ":2" at its end.
	Name     string
	Schedule string // five fields, or a macro; "" with Reboot
	Reboot   bool   // once, when the scheduler starts
	Zone     string // of CRON_TZ; "" is the reader's default
	User     string // only in the system form
	Command  string // for the shell, without what follows an unescaped %
	Input    string // for its standard input: what follows, each further % a new line
	Env      []Var  // the environment lines above it; of equal names the last
}

// Var is one environment line.
type Var struct{ Name, Value string }

// Line is a remark about one line of a file.
type Line struct {
	Number int // from 1
	Text   string
}

// String puts the number in front.
func (l Line) String() string { return fmt.Sprintf("line %d: %s", l.Number, l.Text) }

// Error lists everything that is wrong with a file, in the order of lines.
type Error struct{ Lines []Line }

func (e *Error) Error() string {
	s := make([]string, len(e.Lines))
	for i, l := range e.Lines {
		s[i] = l.String()
	}
	return strings.Join(s, "\n")
}

// Digest identifies what an entry runs: user, command and input.
func (e *Entry) Digest() string { return hash(e.User, e.Command, e.Input) }

// key identifies the whole entry among the lines of a file, short enough for a name.
func (e *Entry) key() string {
	at := e.Schedule
	if e.Reboot {
		at = "@reboot"
	}
	return hash(at, e.Zone, e.User, e.Command, e.Input)[:8]
}

// hash writes the length before each part, so that no two lists of parts look the same.
func hash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p)))) // a hash takes everything
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}
