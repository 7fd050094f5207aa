package cron_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax/cron"
)

// FuzzParse: any text gives a schedule or an error that names the field; a schedule survives the
// round trip through its text, and can be explained.
func FuzzParse(f *testing.F) {
	for _, expr := range hostile {
		f.Add(expr)
	}
	for _, v := range faults {
		f.Add("CRON_TZ=" + v.zone + " " + v.expr)
	}
	f.Add("H(0-29)/10 H/2 H * H")
	f.Add("@every 1h30m")
	from := time.Date(2025, 3, 29, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, expr string) {
		for _, options := range [][]cron.Option{{cron.Seed("job")}, {cron.Seed("job"), cron.Quartz()}} {
			s, err := cron.Parse(expr, options...)
			if err != nil {
				var refused *cron.ParseError
				if !errors.As(err, &refused) || refused.Field == "" || refused.Reason == "" {
					t.Fatalf("unhelpful error: %v", err)
				}
				continue
			}
			again, err := cron.Parse(s.String())
			if err != nil {
				t.Fatalf("%q from %q: %v", s, expr, err)
			}
			if again.String() != s.String() || !again.Next(from).Equal(s.Next(from)) {
				t.Fatalf("%q became %q, then %q", expr, s, again)
			}
			if s.Explain() == "" || strings.Contains(s.Explain(), "%!") {
				t.Fatalf("%q: %q", expr, s.Explain())
			}
			if text := strings.Join(s.Warnings(), "") + s.PerDay().String(); strings.Contains(text, "%!") {
				t.Fatalf("%q: %q", expr, text)
			}
		}
	})
}

// FuzzNext: the next fire is strictly later, the previous one leads back, and both agree with the
// reference for the next hours.
func FuzzNext(f *testing.F) {
	for i, v := range faults {
		at, err := time.Parse(time.RFC3339, v.after)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(v.expr, uint8(i), at.Unix())
	}
	zones := allZones(f)[:len(oddZones)]
	f.Fuzz(func(t *testing.T, expr string, zone uint8, unix int64) {
		if unix < -4e9 || unix > 2e10 {
			return
		}
		s, err := cron.Parse(expr, cron.In(zones[int(zone)%len(zones)]))
		if err != nil {
			return
		}
		from := time.Unix(unix, 0)
		next := s.Next(from)
		if !next.IsZero() && !next.After(from) {
			t.Fatalf("%q after %v: got %v", expr, from, next)
		}
		if prev := s.Previous(next); !next.IsZero() && !prev.Equal(next) {
			t.Fatalf("%q: previous of %v is %v", expr, next, prev)
		}
		if strings.ContainsAny(expr, "@=") {
			return
		}
		// The canonical text spares the reference a second parser for names and spaces.
		text := strings.TrimPrefix(s.String(), "CRON_TZ="+s.Location().String()+" ")
		want := newReference(text).fires(s.Location(), unix, unix+30*3600)
		switch {
		case len(want) > 0 && next.Unix() != want[0]:
			t.Fatalf("%q after %v: got %v, want %v", expr, from, next, time.Unix(want[0], 0))
		case len(want) == 0 && !next.IsZero() && next.Unix() <= unix+30*3600:
			t.Fatalf("%q after %v: got %v, want none", expr, from, next)
		}
	})
}
