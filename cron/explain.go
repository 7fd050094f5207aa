package cron

import (
	"fmt"
	"math/bits"
	"time"
)

// Explain says in English when the schedule fires, and what happens at clock changes if the zone
// still has any: "every 2 minutes in Europe/Berlin; follows real time when clocks change".
func (s *Schedule) Explain() string { return s.ExplainIn(English) }

// ExplainIn is Explain in another language.
func (s *Schedule) ExplainIn(l Language) string {
	return explanation{s, l.words()}.text()
}

// explanation turns a schedule into words of one language.
type explanation struct {
	*Schedule
	w *words
}

func (e explanation) text() string {
	if e.every.period > 0 {
		anchor := time.UnixMilli(e.every.anchor).In(e.zone).Format(time.RFC3339)
		return fmt.Sprintf(e.w.everyPeriod, e.w.period(e.every.duration()), anchor)
	}
	clock, everyDay := e.clock()
	days := e.days()
	if days == "" {
		days = everyDay
	}
	text := fmt.Sprintf(e.w.sentence, clock, days, e.zone.String())
	if e.zoneChanges() {
		text = fmt.Sprintf(e.w.noted, text, e.changes())
	}
	return text
}

// zoneChanges reports whether the clock of the zone still changes. It looks at a fixed date, so
// that the words are the same on every day.
func (e explanation) zoneChanges() bool {
	_, end := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).In(e.zone).ZoneBounds()
	return !end.IsZero()
}

// changes says what happens when clocks change.
func (e explanation) changes() string {
	if e.gap == GapSkip && e.overlap == OverlapBoth {
		return e.w.realTime
	}
	gap, overlap := e.w.gapRun, e.w.overlapFirst
	if e.gap == GapSkip {
		gap = e.w.gapSkip
	}
	switch e.overlap {
	case OverlapSecond:
		overlap = e.w.overlapSecond
	case OverlapBoth:
		overlap = e.w.overlapBoth
	}
	return fmt.Sprintf(e.w.changes, gap, overlap)
}

// clock describes the time of day, and what to say of the days if all match: a rhythm of the whole
// day needs no "every day".
func (e explanation) clock() (text, everyDay string) {
	c := &e.cal
	if c.perDay <= 6 && !e.wildcard {
		return fmt.Sprintf(e.w.at, e.list(e.times(), e.w.and)), e.w.everyDay
	}
	first, _ := c.nextClock(0)
	last, _ := c.prevClock(daySeconds - 1)
	n, even := pace(e.fields[hour])
	allHours := even && n == 1
	onTheHour := c.minutes == 1 && c.seconds == 1
	switch {
	case onTheHour && allHours:
		return e.w.everyHour, ""
	case onTheHour && even:
		return fmt.Sprintf(e.w.everyNHours, n), ""
	}
	rhythm := e.rhythm()
	switch {
	case allHours && e.inEveryHour():
		return fmt.Sprintf(e.w.join, rhythm, e.w.ofEveryHour), ""
	case allHours:
		return rhythm, ""
	case stretch(c.hours) && !onTheHour:
		from := e.w.from
		if e.inEveryHour() {
			from = e.w.fromEach
		}
		return fmt.Sprintf(from, rhythm, clockText(first), clockText(last)), e.w.daily
	}
	if onTheHour && e.w.onHours != "" {
		return fmt.Sprintf(e.w.onHours, e.numbers(maskValues(c.hours))), e.w.daily
	}
	hours := fmt.Sprintf(e.w.ofHours, e.numbers(maskValues(c.hours)))
	return fmt.Sprintf(e.w.join, rhythm, hours), e.w.daily
}

// inEveryHour reports whether the rhythm lists minutes, which needs "of every hour" after it.
func (e explanation) inEveryHour() bool {
	n, even := pace(e.fields[minute])
	return !even || n > 1 && e.cal.seconds != 1
}

// times lists the matching clock times of a day.
func (e explanation) times() []string {
	var times []string
	at, ok := e.cal.nextClock(0)
	for ok {
		times = append(times, clockText(at))
		if at == daySeconds-1 {
			break
		}
		at, ok = e.cal.nextClock(at + 1)
	}
	return times
}

// rhythm describes seconds and minutes.
func (e explanation) rhythm() string {
	n, even := pace(e.fields[minute])
	if e.cal.seconds == 1 {
		switch {
		case even && n == 1:
			return e.w.everyMinute
		case even:
			return fmt.Sprintf(e.w.everyNMinutes, n)
		}
		return fmt.Sprintf(e.w.atMinutes, e.numbers(maskValues(e.cal.minutes)))
	}
	minutes := e.w.ofEveryMinute
	if !even || n > 1 {
		minutes = fmt.Sprintf(e.w.ofMinutes, e.numbers(maskValues(e.cal.minutes)))
	}
	seconds := ""
	switch pause, steady := pace(e.fields[second]); {
	case steady && pause == 1:
		seconds = e.w.everySecond
	case steady:
		seconds = fmt.Sprintf(e.w.everyNSeconds, pause)
	default:
		seconds = fmt.Sprintf(e.w.atSeconds, e.numbers(maskValues(e.cal.seconds)))
		return fmt.Sprintf(e.w.join, seconds, minutes)
	}
	if even && n == 1 {
		return seconds
	}
	return fmt.Sprintf(e.w.join, seconds, minutes)
}

// days describes day of month, weekday, month and year; it is empty if every day matches.
func (e explanation) days() string {
	days, byDay := "", e.monthDays()
	both := byDay != "" && e.cal.bothDays
	some := bits.OnesCount32(e.cal.months) < 12 // then "every week" would be too much
	either := byDay != "" && !both && e.weekDays(true) != ""
	switch byWeekday := e.weekDays(both || either && some); {
	case byDay != "" && byWeekday != "" && both:
		days = fmt.Sprintf(e.w.on, fmt.Sprintf(e.w.both, byDay, byWeekday))
	case byDay != "" && byWeekday != "":
		days = fmt.Sprintf(e.w.on, fmt.Sprintf(e.w.either, byDay, byWeekday))
	case byDay != "" || byWeekday != "":
		days = fmt.Sprintf(e.w.on, byDay+byWeekday)
	}
	inMonth, inMonths := e.w.inMonth, e.w.inMonths
	if either {
		inMonth, inMonths = e.w.within, e.w.within
	}
	months, years := e.months(inMonth, inMonths), e.years()
	if months != "" && years == "" {
		years = e.w.everyYear
	}
	if days == "" && months+years != "" {
		days = e.w.everyDay
	}
	return fmt.Sprintf(e.w.date, days, months, years)
}

// months describes the month field, in the words for one and for several; it is empty if every
// month matches.
func (e explanation) months(inMonth, inMonths string) string {
	months := maskValues(uint64(e.cal.months))
	switch len(months) {
	case 12:
		return ""
	case 1:
		return fmt.Sprintf(inMonth, e.w.months[months[0]])
	}
	return fmt.Sprintf(inMonths, e.names(months, e.w.months[:], e.w.monthSpan))
}

// years describes the year field; it is empty if every year matches.
func (e explanation) years() string {
	if e.cal.years == nil || e.fields[year].String() == "*" {
		return ""
	}
	var years []int
	for y, in := range e.cal.years {
		if in {
			years = append(years, y)
		}
	}
	return fmt.Sprintf(e.w.inYears, e.numbers(years))
}

// monthly puts "every month" before days, unless the months are named.
func (e explanation) monthly(days string) string {
	if days == "" || bits.OnesCount32(e.cal.months) < 12 {
		return days
	}
	return e.w.everyMonth + days
}

// monthDays describes the day-of-month field; it is empty if every day matches.
func (e explanation) monthDays() string {
	if bits.OnesCount32(e.cal.days) == 31 {
		return ""
	}
	var parts []string
	if days := maskValues(uint64(e.cal.days)); len(days) == 1 {
		parts = append(parts, fmt.Sprintf(e.w.day, e.numbers(days)))
	} else if len(days) > 1 {
		parts = append(parts, fmt.Sprintf(e.w.days, e.numbers(days)))
	}
	for _, it := range e.fields[dayOfMonth].items {
		switch {
		case it.kind == lastDay && it.lo == 0:
			parts = append(parts, e.w.lastDay)
		case it.kind == lastDay:
			parts = append(parts, fmt.Sprintf(e.w.beforeLast, it.lo, it.lo+1))
		case it.kind == nearDay:
			parts = append(parts, fmt.Sprintf(e.w.nearDay, it.lo))
		case it.kind == lastWorkday:
			parts = append(parts, e.w.lastWorkday)
		}
	}
	return e.monthly(e.list(parts, e.w.and))
}

// weekDays describes the weekday field; it is empty if every weekday matches. bare leaves out that
// they are those of every week or month.
func (e explanation) weekDays(bare bool) string {
	if bits.OnesCount32(e.cal.weekdays) == 7 {
		return ""
	}
	var weekly, parts []string
	if days := mondayFirst(e.cal.weekdays); len(days) > 0 {
		weekly = append(weekly, e.names(days, e.w.weekdays[:], e.w.weekdaySpan))
	}
	for _, it := range e.fields[weekday].items {
		switch it.kind {
		case nthWeekday:
			parts = append(parts, fmt.Sprintf(e.w.nth, e.w.ordinals[it.hi], e.w.weekdays[it.lo]))
		case lastWeekday:
			parts = append(parts, fmt.Sprintf(e.w.last, e.w.weekdays[it.lo]))
		}
	}
	if !bare {
		for i := range weekly {
			weekly[i] = e.w.everyWeek + weekly[i]
		}
		if len(parts) > 0 {
			parts[0] = e.monthly(parts[0])
		}
	}
	return e.list(append(weekly, parts...), e.w.and)
}

// mondayFirst returns weekdays with Sunday as 7, so that a weekend stays together.
func mondayFirst(mask uint32) []int {
	return maskValues(uint64(mask&^1 | mask&1<<7))
}
