package task

import (
	"errors"
	"fmt"
	"time"
)

// CheckInput reports each field of a new row that a caller has set to what cannot be taken.
func (t *Task) CheckInput() error {
	return errors.Join(CheckName("kind", t.Kind, false), CheckName("key", t.Key, true),
		CheckName("service", t.OwnerService, true), CheckPayload(t.Payload), CheckBucket(t.Bucket),
		CheckTimeout(t.Timeout), CheckLabels(t.Labels), CheckUnknown(t.OnUnknown),
		CheckSpan("max_lateness", t.MaxLateness), CheckSpan("max_lifetime", t.MaxLifetime),
		CheckOverlap(t.Overlap, t.OverlapKey, false), CheckUnique(t.Unique, t.Key))
}

// CheckDue checks when a task shall run: after a delay, at an instant, or, with neither, at once.
func CheckDue(delay time.Duration, at time.Time) error {
	switch {
	case delay < 0:
		return &InputError{Field: "delay", Reason: fmt.Sprintf("is %s; use 0 or more", delay)}
	case delay > 0 && !at.IsZero():
		return &InputError{Field: "run_at", Reason: "is set together with delay; set one of them"}
	case !at.IsZero() && !ValidTime(at):
		return &InputError{Field: "run_at", Reason: fmt.Sprintf(
			"is %s; use a time from 1970 to 9999", at.UTC().Format(time.RFC3339))}
	}
	return nil
}

// CheckBucket checks a priority; the zero one stands for NORMAL.
func CheckBucket(b Bucket) error {
	if !b.OrNormal().Valid() {
		return &InputError{Field: "priority",
			Reason: fmt.Sprintf("is %d; use CRITICAL, HIGH, NORMAL or LOW", b)}
	}
	return nil
}

// CheckTimeout checks a task's own hard time-out; 0 is the kind's.
func CheckTimeout(d time.Duration) error {
	if d < 0 && d != NoTimeout {
		return &InputError{Field: "timeout",
			Reason: fmt.Sprintf("is %s; use a positive duration, 0 or NoTimeout", d)}
	}
	return nil
}

// CheckExpires checks until when a task may start; the zero time is for ever. at is when it is to
// run, if that was said.
func CheckExpires(expires, at time.Time) error {
	switch {
	case expires.IsZero():
		return nil
	case !ValidTime(expires):
		return &InputError{Field: "expires_at", Reason: fmt.Sprintf(
			"is %s; use a time from 1970 to 9999", expires.UTC().Format(time.RFC3339))}
	case at.After(expires):
		return &InputError{Field: "expires_at", Reason: "is before run_at; use a later time"}
	}
	return nil
}

// CheckSpan checks an optional duration; 0 is "not set".
func CheckSpan(field string, d time.Duration) error {
	if d < 0 {
		return &InputError{Field: field, Reason: fmt.Sprintf("is %s; use 0 or more", d)}
	}
	return nil
}

// CheckUnknown checks what shall follow an unknown outcome.
func CheckUnknown(u Unknown) error {
	if u > UnknownHold {
		return &InputError{Field: "on_unknown",
			Reason: fmt.Sprintf("is %d; use UnknownRetry or UnknownHold", u)}
	}
	return nil
}

// maxRetries is more than anybody should wait for.
const maxRetries = 10_000

// CheckRetries checks a number of retries.
func CheckRetries(field string, n int) error {
	if n < 0 || n > maxRetries {
		return &InputError{Field: field,
			Reason: fmt.Sprintf("is %d; use 0 to %d", n, maxRetries)}
	}
	return nil
}

// CheckBy checks who acts and why.
func CheckBy(actor, reason string) error {
	if err := CheckName("actor", actor, true); err != nil {
		return err
	}
	if len(reason) > MaxError {
		return &InputError{Field: "reason",
			Reason: fmt.Sprintf("has %d bytes; at most %d", len(reason), MaxError)}
	}
	return CheckText("reason", reason)
}
