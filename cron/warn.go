package cron

import (
	"fmt"
	"math/bits"
)

// Warnings names, in English, what is legal but often not meant. It is empty for most schedules.
func (s *Schedule) Warnings() []string { return s.WarningsIn(English) }

// WarningsIn is Warnings in another language.
func (s *Schedule) WarningsIn(l Language) []string { return s.warnings(l.words()) }

func (s *Schedule) warnings(w *words) []string {
	if s.every.period > 0 {
		return nil
	}
	var found []string
	warn := func(form string, args ...any) {
		found = append(found, fmt.Sprintf(form, args...))
	}
	c := &s.cal
	if !s.fields[dayOfMonth].star && !s.fields[weekday].star {
		warn("%s", w.warnEither)
	}
	if n := bits.OnesCount64(c.seconds); n > 1 {
		warn(w.warnPerMinute, n)
	}
	allMinutes := bits.OnesCount64(c.minutes) == 60
	if allMinutes && bits.OnesCount64(c.hours) < 24 {
		warn(w.warnEachMinute, s.PerDay().text(w))
	}
	for i, f := range s.fields[:dayOfMonth] {
		for _, it := range f.items {
			if it.kind == everyValue && f.size()%it.step != 0 {
				warn(w.warnUneven, w.fieldNames[i], it.step, f.size())
			}
		}
	}
	if day, short := s.shortMonths(); short {
		warn(w.warnShortMonths, day)
	}
	return found
}

// shortMonths reports whether the schedule names a single day that some of its months lack.
func (s *Schedule) shortMonths() (day int, short bool) {
	day = bits.TrailingZeros32(s.cal.days)
	if day > 31 || len(s.fields[dayOfMonth].items) > 1 || !s.cal.bothDays {
		return 0, false
	}
	const commonYear = 2001
	for _, m := range maskValues(uint64(s.cal.months)) {
		short = short || monthLength(commonYear, m) < day
	}
	return day, short
}
