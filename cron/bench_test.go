package cron_test

import (
	"testing"
	"time"

	"github.com/ax-sched/ax/cron"
)

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		parse(b, "*/5 9-17 * * MON-FRI")
	}
}

func BenchmarkNeverFires(b *testing.B) {
	berlin := cron.In(location(b, "Europe/Berlin"))
	for b.Loop() {
		if _, err := cron.Parse("30 2 25-31 3 */7", berlin, cron.OnGap(cron.GapSkip)); err == nil {
			b.Fatal("accepted")
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, c := range []struct{ name, expr string }{
		{"minutes", "*/2 * * * *"}, {"daily", "0 2 * * *"}, {"weekdays", "30 9 * * MON-FRI"},
		{"last", "0 9 * * 5L"}, {"leap_day", "0 0 29 2 *"},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := parse(b, c.expr, cron.In(location(b, "Europe/Berlin")))
			start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			at := start
			for b.Loop() {
				if at = s.Next(at); at.Year() > 2036 {
					at = start
				}
			}
		})
	}
}

func BenchmarkLatest(b *testing.B) {
	back := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, expr := range []string{"* * * * *", "* * * * * *"} {
		b.Run(expr, func(b *testing.B) {
			s := parse(b, expr, cron.In(location(b, "Europe/Berlin")))
			for b.Loop() {
				s.Latest(back.AddDate(0, 0, -400), back)
			}
		})
	}
}
