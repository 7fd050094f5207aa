package cron

// A wall time is a count of seconds since 1970-01-01T00:00:00 on the clock on the wall, as if
// each day had 86,400 of them. A day number counts days from the same date.

const daySeconds = 24 * 60 * 60

// cycleDays is the period of the calendar: 400 years, a whole number of weeks.
const cycleDays = 146097

// civil splits a day number into its date (Gregorian, also before 1582).
func civil(day int64) (year, month, dayOfMonth int) {
	day += 719468 // from 0000-03-01: years that begin in March end with the leap day
	era := floorDiv(day, cycleDays)
	d := day - era*cycleDays
	y := (d - d/1460 + d/36524 - d/146096) / 365
	d -= 365*y + y/4 - y/100
	m := (5*d + 2) / 153
	dayOfMonth = int(d-(153*m+2)/5) + 1
	month = int(m) + 3
	if month > 12 {
		month -= 12
		y++
	}
	return int(y + era*400), month, dayOfMonth
}

// dayNumber returns the day number of the first of a month.
func dayNumber(year, month int) int64 {
	y, m := int64(year), int64(month)
	if m <= 2 {
		y--
		m += 12
	}
	era := floorDiv(y, 400)
	y -= era * 400
	return era*cycleDays + y*365 + y/4 - y/100 + (153*(m-3)+2)/5 - 719468
}

// monthLength returns the number of days of a month.
func monthLength(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// weekdayOf returns the weekday of a day number, 0 for Sunday.
func weekdayOf(day int64) int {
	return int(day + 4 - 7*floorDiv(day+4, 7))
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
