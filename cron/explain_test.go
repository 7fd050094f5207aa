package cron_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ax-sched/ax/cron"
)

func TestExplain(t *testing.T) {
	for expr, want := range map[string]string{
		"*/2 * * * *":       "every 2 minutes",
		"* * * * *":         "every minute",
		"* * * * * *":       "every second",
		"*/15 * * * * *":    "every 15 seconds",
		"*/20 0,30 * * * *": "every 20 seconds of minute 0 and 30 of every hour",
		"30 * * * * *":      "at second 30 of every minute",
		"5/15 * * * *":      "at minute 5, 20, 35 and 50 of every hour",
		"*/7 * * * *":       "at minute 0, 7, ... 56 of every hour",
		"0 * * * *":         "every hour",
		"0 */2 * * *":       "every 2 hours",
		"30 */2 * * *":      "at minute 30 of hour 0, 2, ... 22",
		"*/5 9-17 * * 1-5":  "every 5 minutes from 09:00 to 17:55 on Monday to Friday",
		"* 0 * * *":         "every minute from 00:00 to 00:59",
		"0 2 * * *":         "at 02:00 every day",
		"30 0 2 * * *":      "at 02:00:30 every day",
		"0 9,12,18 * * *":   "at 09:00, 12:00 and 18:00 every day",
		"0 8 * * FRI-MON":   "at 08:00 on Monday and Friday to Sunday",
		"0 9 * * 5L":        "at 09:00 on the last Friday of the month",
		"0 9 * * 2#2":       "at 09:00 on the second Tuesday of the month",
		"0 0 1,15 * *":      "at 00:00 on days 1 and 15 of the month",
		"0 0 */2 * *":       "at 00:00 on days 1, 3, ... 31 of the month",
		"0 0 L * *":         "at 00:00 on the last day of the month",
		"0 0 LW * *":        "at 00:00 on the last working day of the month",
		"0 0 15W 6-8 *": "at 00:00 on the working day nearest to day 15 of the month " +
			"in June to August",
		"0 0 13 * 5":            "at 00:00 on day 13 of the month or on Friday",
		"0 0 13 * */5":          "at 00:00 on day 13 of the month, but only on Friday and Sunday",
		"0 0 * 2 *":             "at 00:00 every day in February",
		"0 0 0 * * * 2030-2032": "at 00:00 every day of 2030 to 2032",
	} {
		if got := parse(t, expr).Explain(); got != want+" in UTC" {
			t.Errorf("%q: got %q, want %q", expr, got, want+" in UTC")
		}
	}
}

// TestExplainClockChanges: the note is there for zones whose clock changes, and only for them.
func TestExplainClockChanges(t *testing.T) {
	berlin := cron.In(location(t, "Europe/Berlin"))
	for _, c := range []struct {
		expr    string
		options []cron.Option
		want    string
	}{
		{"CRON_TZ=Asia/Shanghai 0 2 * * *", nil, "at 02:00 every day in Asia/Shanghai"},
		{"*/2 * * * *", []cron.Option{berlin},
			"every 2 minutes in Europe/Berlin; follows real time when clocks change"},
		{"0 2 * * *", []cron.Option{berlin}, "at 02:00 every day in Europe/Berlin; when clocks " +
			"change, a missing time runs right after the gap and a repeated one runs the first time only"},
		{"0 2 * * *", []cron.Option{berlin, cron.OnGap(cron.GapSkip),
			cron.OnOverlap(cron.OverlapSecond)}, "at 02:00 every day in Europe/Berlin; when clocks " +
			"change, a missing time does not run and a repeated one runs the second time only"},
	} {
		if got := parse(t, c.expr, c.options...).Explain(); got != c.want {
			t.Errorf("%q: got %q, want %q", c.expr, got, c.want)
		}
	}
}

func TestWarnings(t *testing.T) {
	for expr, want := range map[string][]string{
		"0 2 * * *":      nil,
		"@every 1s":      nil,
		"0 0 13 * 5":     {"either of them"},
		"*/10 * * * * *": {"6 times a minute"},
		"* 0 * * *":      {"60 runs a day, 00:00-00:59"},
		"*/7 * * * *":    {"minute step 7 does not divide 60"},
		"0 */5 * * *":    {"hour step 5 does not divide 24"},
		"0 0 31 * *":     {"without day 31"},
		"0 0 31 1,3 *":   nil,
		"0 0 L * *":      nil,
		"* * 3 * * *":    {"60 times a minute", "every minute of the matching hours"},
	} {
		got := parse(t, expr).Warnings()
		if !slices.EqualFunc(got, want, strings.Contains) {
			t.Errorf("%q: got %q, want %q", expr, got, want)
		}
	}
}
