package retry

import "errors"

// Class says whether another attempt can help.
type Class string

// The classes of errors. The empty Class counts as ClassRetryable.
const (
	ClassRetryable Class = "retryable"
	ClassPermanent Class = "permanent" // the task is dead at once, whatever max_retries says
)

// Valid reports whether c is one of the classes; the empty one is not.
func (c Class) Valid() bool { return c == ClassRetryable || c == ClassPermanent }

// Classed is an error that knows its class. An error type of the user's own may have this method.
type Classed interface {
	error
	// Class must not change during the life of the error.
	Class() Class
}

// ClassOf is the class of an error: that of the first error in its tree that is Classed, if
// that is valid, else ClassRetryable, because an error nobody foresaw is more often a passing one.
// For nil it is the empty Class.
func ClassOf(err error) Class {
	if err == nil {
		return ""
	}
	var c Classed
	if errors.As(err, &c) && c.Class().Valid() {
		return c.Class()
	}
	return ClassRetryable
}

// Permanent marks an error as one that no retry can cure. Its text and its tree stay as they
// are. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanent{err}
}

type permanent struct{ err error }

func (e *permanent) Error() string { return e.err.Error() }
func (e *permanent) Unwrap() error { return e.err }

// Class makes it a Classed error.
func (e *permanent) Class() Class { return ClassPermanent }
