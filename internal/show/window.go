package show

import (
	"fmt"
	"math"
	"time"

	"github.com/ax-sched/ax/task"
)

// Window is when a task has last changed its state: of one that has ended, when it did.
type Window struct{ since, until task.Time }

// Has reports whether a task did so in the window.
func (w Window) Has(t *task.Task) bool { return w.since <= t.UpdatedAt && t.UpdatedAt < w.until }

// ParseWindow reads --since and --until: times, or durations back from now; "" is no bound.
func ParseWindow(since, until string, now time.Time) (w Window, err error) {
	if w.since, err = past("--since", since, now, 0); err == nil {
		w.until, err = past("--until", until, now, math.MaxInt64)
	}
	if err == nil && w.since >= w.until {
		err = fmt.Errorf("--since %s is not before --until %s", since, until)
	}
	return w, err
}

// past reads a time, or a duration back from now.
func past(flag, text string, now time.Time, usual task.Time) (task.Time, error) {
	if text == "" {
		return usual, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return task.FromGo(at), nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return task.FromGo(now.Add(-d)), nil
	}
	return 0, fmt.Errorf("%s: %q is no time such as 2030-01-31T22:00:00Z, and no duration back from "+
		"now such as 2h", flag, text)
}
