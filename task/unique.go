package task

import (
	"fmt"
	"time"
)

// Unique says how long the key of a task stays taken for its kind. While the task is not final it
// always is; beyond that only for submits that have such a scope themselves, so that a submit with
// [UniqueLive] never looks further than at what lives.
type Unique time.Duration

const (
	// UniqueLive, the default: until the task is final.
	UniqueLive Unique = 0
	// UniqueForever: always, also after the task was deleted.
	UniqueForever Unique = -1

	noWindow Unique = 1 // what UniqueFor makes of a time that no window may have
)

// The shortest and the longest window of [UniqueFor]: a second and ten years.
const (
	MinWindow = time.Second
	MaxWindow = 3650 * 24 * time.Hour
)

// UniqueFor is a window: until d after the row was made, by the store's clock, whatever becomes of
// the task; and until it is final, if that is later. The window begins with each task that is made:
// it is not aligned to the hour or the day. A d below [MinWindow] or above [MaxWindow] is refused
// where it is used.
func UniqueFor(d time.Duration) Unique {
	if d < MinWindow || d > MaxWindow {
		return noWindow
	}
	return Unique(d)
}

// Until is when the key is free of a row made at an instant: 0 for never.
func (u Unique) Until(created Time) Time {
	if u == UniqueForever {
		return 0
	}
	return created.Add(time.Duration(u))
}

// CheckUnique checks a scope, and that there is a key for it.
func CheckUnique(u Unique, key string) error {
	switch {
	case u == UniqueLive:
		return nil
	case key == "":
		return &InputError{Field: "unique", Reason: "needs a key; set Key too"}
	case u != UniqueForever && (u < Unique(MinWindow) || u > Unique(MaxWindow)):
		return &InputError{Field: "unique", Reason: fmt.Sprintf(
			"has a window out of range; use %s to %s, or UniqueForever", MinWindow, MaxWindow)}
	}
	return nil
}
