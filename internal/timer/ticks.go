package timer

import "math"

// floorDiv and ceilDiv divide by a positive tick and round down and up; Go's division rounds
// towards zero, which would let a negative time out early.
func floorDiv(us, tick int64) int64 {
	q := us / tick
	if us%tick < 0 {
		q--
	}
	return q
}

func ceilDiv(us, tick int64) int64 {
	q := us / tick
	if us%tick > 0 {
		q++
	}
	return q
}

// mul turns a tick into microseconds; the tick at the end of the range begins at its end.
func mul(tick, us int64) int64 {
	switch {
	case tick > math.MaxInt64/us:
		return math.MaxInt64
	case tick < math.MinInt64/us:
		return math.MinInt64
	}
	return tick * us
}
