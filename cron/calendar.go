package cron

import "math/bits"

// calendar is the compiled form of the fields: which wall times match. It knows no zone.
type calendar struct {
	seconds, minutes, hours uint64

	days        uint32 // bit d: day d of the month
	fromLast    uint32 // bit n: n days before the last
	near        uint32 // bit d: the working day nearest to d
	lastWorkday bool
	months      uint32   // bit m, 1 to 12
	weekdays    uint32   // bit w, 0 to 6
	nth         [7]uint8 // by weekday, bit k: the k-th of the month, bit 0: the last
	anyNth      bool
	bothDays    bool   // day of month and weekday must match, not only one of them
	years       []bool // by year, nil if every year matches

	perDay int64 // wall times of a matching day
}

func compile(fields []field) calendar {
	c := calendar{
		seconds:  fields[second].bits(),
		minutes:  fields[minute].bits(),
		hours:    fields[hour].bits(),
		days:     uint32(fields[dayOfMonth].bits()),
		months:   uint32(fields[month].bits()),
		weekdays: uint32(fields[weekday].bits()),
		bothDays: fields[dayOfMonth].star || fields[weekday].star,
	}
	for _, it := range fields[dayOfMonth].items {
		switch it.kind {
		case lastDay:
			c.fromLast |= 1 << it.lo
		case nearDay:
			c.near |= 1 << it.lo
		case lastWorkday:
			c.lastWorkday = true
		}
	}
	for _, it := range fields[weekday].items {
		switch it.kind {
		case nthWeekday:
			c.nth[it.lo] |= 1 << it.hi
			c.anyNth = true
		case lastWeekday:
			c.nth[it.lo] |= 1
			c.anyNth = true
		}
	}
	if len(fields) > year {
		c.years = fields[year].values()
	}
	c.perDay = int64(bits.OnesCount64(c.seconds) * bits.OnesCount64(c.minutes) *
		bits.OnesCount64(c.hours))
	return c
}

func (c *calendar) hasYear(y int) bool {
	return c.years == nil || 0 <= y && y < len(c.years) && c.years[y]
}

// monthDays returns the matching days of a month, bit d for day d.
func (c *calendar) monthDays(y, m int) uint32 {
	length := monthLength(y, m)
	first := weekdayOf(dayNumber(y, m))
	inMonth := uint32(1)<<(length+1) - 2
	byDay := c.monthDaysByDay(length, first)
	byWeekday := c.monthDaysByWeekday(length, first)
	if c.bothDays {
		return byDay & byWeekday & inMonth
	}
	return (byDay | byWeekday) & inMonth
}

// monthDaysByDay applies the day-of-month field to a month that begins on weekday first.
func (c *calendar) monthDaysByDay(length, first int) uint32 {
	mask := c.days
	for n := c.fromLast; n != 0; n &= n - 1 {
		if d := length - bits.TrailingZeros32(n); d >= 1 {
			mask |= 1 << d
		}
	}
	for n := c.near; n != 0; n &= n - 1 {
		if d := bits.TrailingZeros32(n); d <= length {
			mask |= 1 << nearestWorkday(d, length, first)
		}
	}
	if c.lastWorkday {
		mask |= 1 << nearestWorkday(length, length, first)
	}
	return mask
}

// nearestWorkday moves day d off a weekend without leaving the month. For the last day of the
// month this is the last working day.
func nearestWorkday(d, length, first int) int {
	switch (first + d - 1) % 7 {
	case 6: // Saturday
		if d == 1 {
			return 3
		}
		return d - 1
	case 0: // Sunday
		if d == length {
			return d - 2
		}
		return d + 1
	}
	return d
}

// monthDaysByWeekday applies the weekday field to a month that begins on weekday first.
func (c *calendar) monthDaysByWeekday(length, first int) uint32 {
	week := (c.weekdays | c.weekdays<<7) >> first & 0x7f // bit 0: weekday of day 1
	mask := uint32(uint64(week) * 0x10204081 << 1)       // that week, five times
	if !c.anyNth {
		return mask
	}
	for w, nth := range c.nth {
		d := 1 + (w-first+7)%7
		if nth&1 != 0 {
			mask |= 1 << (d + (length-d)/7*7)
		}
		for k := 1; k <= 5; k++ {
			if nth>>k&1 != 0 && d+7*(k-1) <= length {
				mask |= 1 << (d + 7*(k-1))
			}
		}
	}
	return mask
}

// matchDay reports whether a day matches.
func (c *calendar) matchDay(day int64) bool {
	y, m, d := civil(day)
	return c.hasYear(y) && c.months>>m&1 != 0 && c.monthDays(y, m)>>d&1 != 0
}

// nextDay returns the first matching day from day to last.
func (c *calendar) nextDay(day, last int64) (int64, bool) {
	for day <= last {
		y, m, d := civil(day)
		months := c.months >> m
		switch {
		case !c.hasYear(y) || months == 0:
			day = dayNumber(y+1, 1)
			continue
		case months&1 == 0:
			day = dayNumber(y, m+bits.TrailingZeros32(months))
			continue
		}
		if days := c.monthDays(y, m) >> d; days != 0 {
			day += int64(bits.TrailingZeros32(days))
			return day, day <= last
		}
		day += int64(monthLength(y, m) - d + 1)
	}
	return 0, false
}

// prevDay returns the last matching day from day down to first.
func (c *calendar) prevDay(day, first int64) (int64, bool) {
	for day >= first {
		y, m, d := civil(day)
		months := c.months << (31 - m)
		switch {
		case !c.hasYear(y) || months == 0:
			day = dayNumber(y, 1) - 1
			continue
		case months>>31 == 0:
			day = dayNumber(y, m-bits.LeadingZeros32(months)+1) - 1
			continue
		}
		if days := c.monthDays(y, m) << (31 - d); days != 0 {
			day -= int64(bits.LeadingZeros32(days))
			return day, day >= first
		}
		day -= int64(d)
	}
	return 0, false
}

// next returns the first matching wall time from wall to the end of day last.
func (c *calendar) next(wall, last int64) (int64, bool) {
	day := floorDiv(wall, daySeconds)
	if day <= last && c.matchDay(day) {
		if clock, ok := c.nextClock(int(wall - day*daySeconds)); ok {
			return day*daySeconds + int64(clock), true
		}
	}
	day, ok := c.nextDay(day+1, last)
	if !ok {
		return 0, false
	}
	clock, _ := c.nextClock(0)
	return day*daySeconds + int64(clock), true
}

// prev returns the last matching wall time from wall down to the begin of day first.
func (c *calendar) prev(wall, first int64) (int64, bool) {
	day := floorDiv(wall, daySeconds)
	if day >= first && c.matchDay(day) {
		if clock, ok := c.prevClock(int(wall - day*daySeconds)); ok {
			return day*daySeconds + int64(clock), true
		}
	}
	day, ok := c.prevDay(day-1, first)
	if !ok {
		return 0, false
	}
	clock, _ := c.prevClock(daySeconds - 1)
	return day*daySeconds + int64(clock), true
}

// count returns how many wall times from a up to but not including b match.
func (c *calendar) count(a, b int64) int64 {
	if a >= b {
		return 0
	}
	dayA, dayB := floorDiv(a, daySeconds), floorDiv(b, daySeconds)
	n := c.countDays(dayA, dayB) * c.perDay
	if c.matchDay(dayA) {
		n -= c.countClock(int(a - dayA*daySeconds))
	}
	if c.matchDay(dayB) {
		n += c.countClock(int(b - dayB*daySeconds))
	}
	return n
}

// countDays returns how many days from a up to but not including b match.
func (c *calendar) countDays(a, b int64) int64 {
	n := int64(0)
	for a < b {
		y, m, d := civil(a)
		if c.hasYear(y) && c.months>>m&1 != 0 {
			days := c.monthDays(y, m) >> d
			if left := b - a; left < 31 {
				days &= 1<<left - 1
			}
			n += int64(bits.OnesCount32(days))
		}
		a += int64(monthLength(y, m) - d + 1)
	}
	return n
}
