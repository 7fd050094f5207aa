package cron

import (
	"errors"
	"fmt"
)

// ErrNeverFires is the reason of an expression without a single fire time, such as 30 February.
// Test for it with [errors.Is].
var ErrNeverFires = errors.New("never fires")

// ParseError says why an expression was refused.
type ParseError struct {
	Expr string // the whole expression, cut to 80 bytes
	// Field is "second", "minute", "hour", "day of month", "month", "weekday", "year", "zone",
	// "period" or "anchor" (of @every), or "expression".
	Field  string
	Value  string // the refused part, cut to 80 bytes
	Reason string // what is wrong and what to write instead
	Err    error  // ErrNeverFires or nil
}

// Error names the expression, the field, the refused part and the fix.
func (e *ParseError) Error() string {
	if e.Value == "" || e.Value == e.Expr {
		return fmt.Sprintf("cron %q: %s: %s", e.Expr, e.Field, e.Reason)
	}
	return fmt.Sprintf("cron %q: %s %q: %s", e.Expr, e.Field, e.Value, e.Reason)
}

// Unwrap returns the sentinel behind the error, if there is one.
func (e *ParseError) Unwrap() error { return e.Err }

// refuse makes a ParseError without the expression; Parse adds it.
func refuse(field, value, format string, args ...any) *ParseError {
	return &ParseError{Field: field, Value: clip(value), Reason: fmt.Sprintf(format, args...)}
}

// clip bounds what an error repeats of its input.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most]
	}
	return s
}
