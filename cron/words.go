package cron

// words holds every word that Explain, Warnings and Day use, so that another language is another
// value of this type. Arguments are numbered, so that a translation may change their order. What a
// language does not say is empty.
type words struct {
	sentence string // time of day, days, zone
	noted    string // sentence, note about clock changes
	everyDay string
	daily    string // everyDay before a part of the day that reads as a rhythm

	// Times of day.
	at            string // list of clock times
	from          string // rhythm, first and last clock time
	fromEach      string // the same of a rhythm that lists minutes
	everySecond   string
	everyNSeconds string
	atSeconds     string // list of seconds
	everyMinute   string
	everyNMinutes string
	atMinutes     string // list of minutes
	ofEveryMinute string
	ofMinutes     string // list of minutes
	everyHour     string
	everyNHours   string
	ofEveryHour   string
	ofHours       string // list of hours
	onHours       string // list of hours, when the rhythm is once on the hour
	everyPeriod   string // duration, anchor
	join          string // a rhythm and the larger one in which it happens
	// units are those of a duration: hour, minute, second and millisecond; without them it is
	// written as Go does.
	units [4]string

	// Lists.
	number, and, listed string
	span                string // from and to
	weekdaySpan         string
	monthSpan           string
	series              string // first, second and last of many

	// Days.
	date        string // days, months, years
	on          string
	either      string // days of the month, weekdays
	both        string // days of the month, weekdays without everyWeek and everyMonth
	everyWeek   string // before weekdays
	everyMonth  string // before days of all months
	everyYear   string // before months of all years
	day, days   string
	lastDay     string
	beforeLast  string // days before the last, and which day from the end that is
	nearDay     string
	lastWorkday string
	nth         string // ordinal, weekday
	last        string // weekday
	inMonth     string // the only one
	inMonths    string
	within      string // before days of the month and weekdays of which either matches
	inYears     string
	ordinals    [6]string  // 1 to 5
	weekdays    [8]string  // 0 and 7 are Sunday
	months      [13]string // 1 to 12

	// Notes about clock changes.
	realTime                                 string
	changes                                  string // one of the gap words, one of the overlap words
	gapRun, gapSkip                          string
	overlapFirst, overlapSecond, overlapBoth string

	// Warnings.
	warnEither      string
	warnPerMinute   string // runs a minute
	warnEachMinute  string // what PerDay says
	warnUneven      string // field, step, size of the field
	warnShortMonths string // day
	fieldNames      [3]string

	// Day.
	runOnce    string // clock time
	runs       string // number, first and last clock time
	runsPeriod string // number
}

var english = words{
	sentence: "%[1]s%[2]s in %[3]s",
	noted:    "%[1]s; %[2]s",
	everyDay: " every day",

	at:            "at %[1]s",
	from:          "%[1]s from %[2]s to %[3]s",
	fromEach:      "%[1]s from %[2]s to %[3]s",
	everySecond:   "every second",
	everyNSeconds: "every %[1]d seconds",
	atSeconds:     "at second %[1]s",
	everyMinute:   "every minute",
	everyNMinutes: "every %[1]d minutes",
	atMinutes:     "at minute %[1]s",
	ofEveryMinute: "of every minute",
	ofMinutes:     "of minute %[1]s",
	everyHour:     "every hour",
	everyNHours:   "every %[1]d hours",
	ofEveryHour:   "of every hour",
	ofHours:       "of hour %[1]s",
	everyPeriod:   "every %[1]s, counted from %[2]s",
	join:          "%[1]s %[2]s",

	number:      "%[1]d",
	and:         "%[1]s and %[2]s",
	listed:      "%[1]s, %[2]s",
	span:        "%[1]s to %[2]s",
	weekdaySpan: "%[1]s to %[2]s",
	monthSpan:   "%[1]s to %[2]s",
	series:      "%[1]s, %[2]s, ... %[3]s",

	date:        "%[1]s%[2]s%[3]s",
	on:          " on %[1]s",
	either:      "%[1]s or on %[2]s",
	both:        "%[1]s, but only on %[2]s",
	day:         "day %[1]s of the month",
	days:        "days %[1]s of the month",
	lastDay:     "the last day of the month",
	beforeLast:  "the day %[1]d before the last of the month",
	nearDay:     "the working day nearest to day %[1]d of the month",
	lastWorkday: "the last working day of the month",
	nth:         "the %[1]s %[2]s of the month",
	last:        "the last %[1]s of the month",
	inMonth:     " in %[1]s",
	inMonths:    " in %[1]s",
	within:      " in %[1]s",
	inYears:     " of %[1]s",
	ordinals:    [6]string{"", "first", "second", "third", "fourth", "fifth"},
	weekdays: [8]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday",
		"Saturday", "Sunday"},
	months: [13]string{"", "January", "February", "March", "April", "May", "June", "July",
		"August", "September", "October", "November", "December"},

	realTime:      "follows real time when clocks change",
	changes:       "when clocks change, a missing time %[1]s and a repeated one %[2]s",
	gapRun:        "runs right after the gap",
	gapSkip:       "does not run",
	overlapFirst:  "runs the first time only",
	overlapSecond: "runs the second time only",
	overlapBoth:   "runs both times",

	warnEither: "day of month and weekday are both restricted: " +
		"it runs on days that match either of them; begin one with * to require both",
	warnPerMinute: "runs up to %[1]d times a minute",
	warnEachMinute: "runs every minute of the matching hours: %[1]s; " +
		"for one run an hour give the minute a number",
	warnUneven: "the %[1]s step %[2]d does not divide %[3]d: " +
		"the last interval before it starts again is shorter",
	warnShortMonths: "months without day %[1]d have no run; L is the last day of every month",
	fieldNames:      [3]string{"second", "minute", "hour"},

	runOnce:    "1 run a day, at %[1]s",
	runs:       "%[1]d runs a day, %[2]s-%[3]s",
	runsPeriod: "about %[1]d runs a day",
}
