package cron

import "time"

// every is the schedule anchor + k*period, in milliseconds. A period of 0 means there is none.
type every struct {
	anchor, period int64
}

// parseEvery reads what follows @every.
func parseEvery(words []string, anchor time.Time) (every, error) {
	if len(words) != 1 {
		return every{}, refuse("expression", "@every", "takes one duration: write @every 90s")
	}
	d, err := time.ParseDuration(words[0])
	if err != nil {
		return every{}, refuse("period", words[0], "is not a duration: write one such as 90s or 1h30m")
	}
	if d < time.Second {
		return every{}, refuse("period", words[0], "is too short: use 1s or more")
	}
	if d%time.Millisecond != 0 {
		return every{}, refuse("period", words[0], "is finer than a millisecond: round it")
	}
	if y := anchor.UTC().Year(); y < 1 || y > 9999 {
		return every{}, refuse("anchor", "", "lies in the year %d: use one from 1 to 9999", y)
	}
	return every{anchor: anchor.UnixMilli(), period: d.Milliseconds()}, nil
}

// next returns the first fire strictly after t.
func (e every) next(t time.Time) (time.Time, bool) {
	at := e.anchor
	if ms := milliFloor(t); ms >= at {
		at += ((ms-at)/e.period + 1) * e.period
	}
	return time.UnixMilli(at), at < maxUnix*1000
}

// previous returns the last fire at or before t.
func (e every) previous(t time.Time) (time.Time, bool) {
	ms := milliFloor(t)
	if ms < e.anchor {
		return time.Time{}, false
	}
	return time.UnixMilli(e.anchor + (ms-e.anchor)/e.period*e.period), true
}

// count returns the number of fires after one instant and up to another.
func (e every) count(after, upTo time.Time) int64 {
	fires := func(t time.Time) int64 { // at or before t
		if ms := milliFloor(t); ms >= e.anchor {
			return (ms-e.anchor)/e.period + 1
		}
		return 0
	}
	return max(0, fires(upTo)-fires(after))
}

// milliFloor cuts t to a whole millisecond, downwards, within the range of the package, so that
// no sum overflows: the longest period is 292 years.
func milliFloor(t time.Time) int64 {
	u := t.Unix()
	switch {
	case u < minUnix:
		return minUnix * 1000
	case u > maxUnix:
		return maxUnix * 1000
	}
	return u*1000 + int64(t.Nanosecond())/int64(time.Millisecond)
}

// duration returns the period.
func (e every) duration() time.Duration {
	return time.Duration(e.period) * time.Millisecond
}
