// Package cron parses cron expressions and finds the times at which they fire.
//
// It is pure: it reads no clock, starts nothing and keeps nothing but a memo of the last zone
// offset it looked up. Results depend on the expression, the options and the time zone database
// only, never on the zone of the host.
//
// # Fields
//
// Five fields (minute hour day-of-month month weekday), six (seconds first) or seven (seconds
// first, year last). Weekday 0 and 7 are Sunday; names of months and weekdays in any case. Each
// field is a list of *, ?, a, a-b, */n, a/n (from a to the maximum), a-b/n; ranges may wrap
// (FRI-MON, 22-2). Day of month also knows L, L-n, nW and LW; weekday knows d#k and dL; every
// field but the year knows H, H/n, H(a-b) and H(a-b)/n, a value chosen by the job's name. Macros
// are @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly and "@every d". The prefix
// CRON_TZ=Zone (or TZ=Zone) names the zone.
//
// # Days
//
// A day field that begins with * or ? is unrestricted. If either is, both must match; if both are
// restricted, either may match, as in the classic daemon.
//
// # Clock changes
//
// If second, minute or hour begins with * the expression follows real time: each instant whose
// wall time matches fires. Otherwise it keeps to the wall clock: of two equal wall times only the
// first fires, and the wall times missing in a forward change of at most three hours collapse to
// one fire at the first instant after it. Longer gaps (a dropped day) do not fire. [OnGap] and
// [OnOverlap] override this.
package cron

import (
	"sync/atomic"
	"time"
)

// Schedule is a parsed expression. It does not change and may be used by many goroutines at once.
// It must not be copied; make one with [Parse].
type Schedule struct {
	fields   []field // as written, seconds first; nil for @every
	cal      calendar
	every    every // period > 0 for @every
	zone     *time.Location
	named    bool // the expression names its zone
	wildcard bool // follows real time through clock changes
	gap      GapPolicy
	overlap  OverlapPolicy
	memo     atomic.Pointer[span]
}

// Location returns the zone in which the schedule reads the clock and in which it answers.
func (s *Schedule) Location() *time.Location { return s.zone }
