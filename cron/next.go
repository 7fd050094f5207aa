package cron

import "time"

// Seconds of the calendar in which the package answers, the years 1 to 9999.
const (
	minUnix int64 = -62135510400 // 0001-01-02T00:00:00Z, a day after the zero time
	maxUnix int64 = 253402214400 // 9999-12-31T00:00:00Z
	horizon       = cycleDays * daySeconds
)

// Next returns the first fire strictly after t, in the schedule's zone. It returns the zero time
// if there is none within 400 years, the period of the calendar, or none before the year 9999 ends.
// For an expression with a year field the 400 years count from 1970 at the earliest. The answer
// depends on nothing but the schedule and t; the time it takes is bounded.
func (s *Schedule) Next(t time.Time) time.Time {
	if s.every.period > 0 {
		return s.answer(s.every.next(t))
	}
	u, ok := s.nextFire(unixFloor(t) + 1)
	return s.answer(time.Unix(u, 0), ok)
}

// Previous returns the last fire at or before t, in the schedule's zone, or the zero time if there
// is none within the 400 years before t.
func (s *Schedule) Previous(t time.Time) time.Time {
	if t.Unix() < minUnix {
		return time.Time{}
	}
	if s.every.period > 0 {
		return s.answer(s.every.previous(t))
	}
	u, ok := s.previousFire(unixFloor(t))
	return s.answer(time.Unix(u, 0), ok)
}

// Latest returns the last fire after the instant after and not later than upTo, and how many such
// fires there are, both exact. Its cost grows with the number of months between, not with the
// number of fires. Without a fire it returns the zero time and 0.
func (s *Schedule) Latest(after, upTo time.Time) (last time.Time, n int64) {
	last = s.Previous(upTo)
	if last.IsZero() || !last.After(after) {
		return time.Time{}, 0
	}
	if s.every.period > 0 {
		return last, s.every.count(after, upTo)
	}
	return last, s.countFires(unixFloor(after)+1, unixFloor(upTo))
}

// answer turns a search result into the form callers see.
func (s *Schedule) answer(t time.Time, ok bool) time.Time {
	if !ok {
		return time.Time{}
	}
	return t.In(s.zone)
}

// unixFloor cuts t to a whole second, downwards, within the range of the package.
func unixFloor(t time.Time) int64 {
	return min(max(t.Unix(), minUnix), maxUnix)
}

// nextFire returns the first fire from the instant from on.
func (s *Schedule) nextFire(from int64) (int64, bool) {
	limit := from + horizon
	if s.cal.years != nil {
		limit = max(limit, horizon) // counted from 1970
	}
	limit = min(limit, maxUnix)
	lastDay := floorDiv(limit, daySeconds) + 1
	for from <= limit {
		sp := s.spanAt(from)
		if from == sp.start && s.fillsGap(sp) {
			return from, true
		}
		lo, hi := sp.open(s.overlap)
		from = max(from, lo)
		wall, found := s.cal.next(from+sp.offset, lastDay)
		at := wall - sp.offset
		if found && at < hi {
			return at, at <= limit
		}
		// Until the span ends nothing fires. If it is long, no wall time that was passed over
		// comes back after it either, so only the neighbourhood of the match is of interest.
		long := sp.end > from+reach
		from = sp.end
		if long && !found {
			return 0, false
		}
		if long {
			from = max(from, at-reach)
		}
	}
	return 0, false
}

// previousFire returns the last fire up to the instant to. It mirrors nextFire.
func (s *Schedule) previousFire(to int64) (int64, bool) {
	limit := max(to-horizon, minUnix)
	firstDay := floorDiv(limit, daySeconds) - 1
	for to >= limit {
		sp := s.spanAt(to)
		lo, hi := sp.open(s.overlap)
		wall, found := s.cal.prev(min(to, hi-1)+sp.offset, firstDay)
		at := wall - sp.offset
		if found && at >= lo {
			return at, at >= limit
		}
		if s.fillsGap(sp) {
			return sp.start, sp.start >= limit
		}
		if sp.start < limit {
			return 0, false
		}
		long := to > sp.start+reach
		to = sp.start - 1
		if long && !found {
			return 0, false
		}
		if long {
			to = min(to, at+reach)
		}
	}
	return 0, false
}

// fillsGap reports whether the start of a span fires for wall times that are missing before it.
func (s *Schedule) fillsGap(sp span) bool {
	gap := sp.gap()
	return s.gap == GapRun && 0 < gap && gap <= maxGap &&
		s.cal.count(sp.start+sp.before, sp.start+sp.offset) > 0
}

// countFires returns how many fires there are from one instant to another, both included.
func (s *Schedule) countFires(from, to int64) int64 {
	n := int64(0)
	for from <= to {
		sp := s.spanAt(from)
		if from == sp.start && s.fillsGap(sp) {
			// One more, unless the first instant of the span fires anyway.
			n += 1 - s.cal.count(from+sp.offset, from+sp.offset+1)
		}
		lo, hi := sp.open(s.overlap)
		n += s.cal.count(max(from, lo)+sp.offset, min(to+1, hi)+sp.offset)
		from = sp.end
	}
	return n
}
