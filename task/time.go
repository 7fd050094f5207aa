package task

import (
	"math"
	"time"
)

// Time is an instant in microseconds since 1970-01-01 UTC. Zero means "not set". Stores keep it
// as an integer, so no session zone, daylight saving or driver can change it.
type Time int64

// StoreNow, in a time field of a value handed to a store, stands for the store's own time at the
// moment of the transaction. Only the store's clock decides what is due; see [Mutable].
const StoreNow Time = -1

// The instants ax accepts lie strictly after MinTime and at or before MaxTime.
const (
	MinTime Time = 0
	MaxTime Time = 253402300799999999 // 9999-12-31T23:59:59.999999Z
)

// FromGo converts, cutting to the microsecond. The zero time.Time gives 0, and so does an instant
// outside 1970 to 9999: check with [ValidTime] first where it comes from a caller.
func FromGo(t time.Time) Time {
	if !ValidTime(t) {
		return 0
	}
	return Time(t.UnixMicro())
}

// ValidTime reports whether t can be stored: after 1970-01-01T00:00:00Z and before the year 10000.
func ValidTime(t time.Time) bool {
	y := t.UTC().Year()
	return y >= 1970 && y <= 9999 && t.UnixMicro() > int64(MinTime)
}

// Go returns the instant in UTC, or the zero time.Time if t is not set.
func (t Time) Go() time.Time {
	if t <= 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(t)).UTC()
}

// GoTimes converts instants, as Go does.
func GoTimes(ts []Time) []time.Time {
	out := make([]time.Time, len(ts))
	for i, t := range ts {
		out[i] = t.Go()
	}
	return out
}

// Add returns t + d. It saturates at MaxTime, because a sum that overflows would run at once what
// was meant for the far future, and at the first instant after MinTime, because smaller values mean
// something else.
func (t Time) Add(d time.Duration) Time {
	us := d.Microseconds()
	if us > 0 && int64(t) > math.MaxInt64-us || int64(t)+us > int64(MaxTime) {
		return MaxTime
	}
	if us < 0 {
		return max(t+Time(us), MinTime+1)
	}
	return t + Time(us)
}

// Sub returns t - u as a duration; it saturates like time.Time.Sub.
func (t Time) Sub(u Time) time.Duration {
	d := int64(t) - int64(u)
	switch {
	case d > math.MaxInt64/1000:
		return math.MaxInt64
	case d < math.MinInt64/1000:
		return math.MinInt64
	}
	return time.Duration(d) * time.Microsecond
}
