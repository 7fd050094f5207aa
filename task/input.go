package task

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrTooLarge: more bytes than a row keeps. Such input is refused, never cut.
var ErrTooLarge = errors.New("too large")

// MaxName is the longest kind, key, group, job name or label, in bytes.
const MaxName = 200

// InputError says which field of a caller's input cannot be taken, why, and what would do.
type InputError struct {
	Field  string
	Reason string
	Err    error // a sentinel the caller may match, or nil
}

func (e *InputError) Error() string { return e.Field + ": " + e.Reason }

// Unwrap returns the sentinel.
func (e *InputError) Unwrap() error { return e.Err }

// CheckName checks a short text: not empty unless optional, at most MaxName bytes, valid UTF-8
// without control characters. NUL in particular ends a C string and is refused by PostgreSQL.
func CheckName(field, s string, optional bool) error {
	switch {
	case s == "" && optional:
		return nil
	case s == "":
		return &InputError{Field: field, Reason: "is empty; give it a name"}
	case len(s) > MaxName:
		return &InputError{Field: field,
			Reason: fmt.Sprintf("has %d bytes; at most %d", len(s), MaxName)}
	}
	return CheckText(field, s)
}

// CheckText checks that a text is valid UTF-8 without control characters other than tab and
// line feed.
func CheckText(field, s string) error {
	if !utf8.ValidString(s) {
		return &InputError{Field: field, Reason: "is not valid UTF-8"}
	}
	for i, r := range s {
		if r < ' ' && r != '\t' && r != '\n' || r == 0x7f {
			return &InputError{Field: field,
				Reason: fmt.Sprintf("has the control character %#02x at byte %d; remove it", r, i)}
		}
	}
	return nil
}

// CheckPayload checks the size of a payload; its bytes are the caller's.
func CheckPayload(p []byte) error {
	if len(p) <= MaxPayload {
		return nil
	}
	return &InputError{Field: "payload", Err: ErrTooLarge, Reason: fmt.Sprintf(
		"has %d bytes; at most %d: store it elsewhere and pass its name", len(p), MaxPayload)}
}

// maxLabels is how many labels a task may have.
const maxLabels = 32

// CheckLabels checks the number, the names and the values of labels.
func CheckLabels(ls map[string]string) error {
	if len(ls) > maxLabels {
		return &InputError{Field: "labels",
			Reason: fmt.Sprintf("has %d; at most %d", len(ls), maxLabels)}
	}
	for k, v := range ls {
		if k == "" {
			return &InputError{Field: "labels", Reason: "the name of a label is empty; give it one"}
		}
		if err := CheckName("labels", k, false); err != nil {
			return err
		}
		if err := CheckName("labels."+k, v, true); err != nil {
			return err
		}
	}
	return nil
}

// Masked returns what redact makes of a text; nil is no change. It never gives out what was not
// masked: if redact panics, the text is withheld.
func Masked(s string, redact func(string) string) (out string) {
	if redact == nil || s == "" {
		return s
	}
	defer func() {
		if recover() != nil {
			out = "the text is withheld: Redact panicked"
		}
	}()
	return redact(s)
}

// CutText makes any text storable: invalid UTF-8 becomes U+FFFD, NUL is shown as its symbol, and
// the rest is cut at a character border to at most limit bytes. Recording a failure must never
// fail for the failure's words.
func CutText(s string, limit int) string {
	const more = "..."
	long := len(s) > 2*limit
	if long {
		s = s[:2*limit] // the clean-up below need not read ten megabytes
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.ReplaceAll(s, "\x00", "\u2400")
	if len(s) <= limit-len(more) || len(s) <= limit && !long {
		return s
	}
	cut := max(limit-len(more), 0)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return (s[:cut] + more)[:max(min(cut+len(more), limit), 0)]
}
