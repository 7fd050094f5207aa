package cron

import (
	"fmt"
	"time"
)

// Day is what a schedule does on an ordinary day on which it fires: one without a clock change.
type Day struct {
	Runs   int           // fires on that day; for @every the whole number of periods in 24 hours
	First  time.Duration // wall time of the first, from midnight; 0 for @every
	Last   time.Duration // wall time of the last; 24 hours for @every
	Period time.Duration // for @every, else 0
}

// PerDay previews one day: "* 0 * * *" has 60 runs from 00:00 to 00:59. On days that do not match
// the day fields it has none.
func (s *Schedule) PerDay() Day {
	if s.every.period > 0 {
		period := s.every.duration()
		return Day{Runs: int(24 * time.Hour / period), Last: 24 * time.Hour, Period: period}
	}
	first, _ := s.cal.nextClock(0)
	last, _ := s.cal.prevClock(daySeconds - 1)
	return Day{
		Runs:  int(s.cal.perDay),
		First: time.Duration(first) * time.Second,
		Last:  time.Duration(last) * time.Second,
	}
}

// String says it in English: "60 runs a day, 00:00-00:59".
func (d Day) String() string { return d.In(English) }

// In is String in another language.
func (d Day) In(l Language) string { return d.text(l.words()) }

func (d Day) text(w *words) string {
	first, last := clockText(int(d.First.Seconds())), clockText(int(d.Last.Seconds()))
	switch {
	case d.Period > 0:
		return fmt.Sprintf(w.runsPeriod, d.Runs)
	case d.Runs == 1:
		return fmt.Sprintf(w.runOnce, first)
	}
	return fmt.Sprintf(w.runs, d.Runs, first, last)
}
