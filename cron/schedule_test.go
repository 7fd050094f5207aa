package cron_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ax-sched/ax/cron"
)

// TestRoundTrip: the canonical text means the same and is a fixed point.
func TestRoundTrip(t *testing.T) {
	zones := allZones(t)
	for i := range 5_000 {
		r := rand.New(rand.NewPCG(2, uint64(i)))
		expr, loc := randomExpr(r), zones[r.IntN(len(zones))]
		from := randomInstant(r, loc)
		s, err := cron.Parse(expr, cron.In(loc))
		if err != nil {
			continue // only expressions that never fire, see TestReference
		}
		again := parse(t, s.String())
		if again.String() != s.String() || again.Explain() != s.Explain() {
			t.Fatalf("%q became %q, then %q", expr, s, again)
		}
		if a, b := s.Next(from), again.Next(from); !a.Equal(b) {
			t.Fatalf("%q after %v: %v, as %q: %v", expr, from, a, s, b)
		}
	}
}

func TestString(t *testing.T) {
	berlin := cron.In(location(t, "Europe/Berlin"))
	for _, c := range []struct {
		expr    string
		options []cron.Option
		want    string
	}{
		{"  0  2 * *\tmon-FRI ", nil, "0 2 * * 1-5"},
		{"0 0 2 ? jan,MAR *", nil, "0 2 * 1,3 *"},
		{"*/15 0 2 * * *", nil, "*/15 0 2 * * *"},
		{"0 2 * * *", []cron.Option{berlin}, "CRON_TZ=Europe/Berlin 0 2 * * *"},
		{"TZ=UTC 0 2 * * *", []cron.Option{berlin}, "CRON_TZ=UTC 0 2 * * *"},
		{"0 0 2 ? * 2-6", []cron.Option{cron.Quartz()}, "0 2 * * 1-5"},
		{"0 0 2 ? * 6L 2030", []cron.Option{cron.Quartz()}, "0 0 2 * * 5L 2030"},
		{"0 0 2 ? * L", []cron.Option{cron.Quartz()}, "0 2 * * 6"},
		{"@weekly", []cron.Option{cron.Quartz()}, "0 0 * * 0"},
		{"@EVERY 90s", nil, "@every 1m30s"},
		{"0 0 L-0,L-2,15w,lw * fril,0#1", nil, "0 0 L,L-2,15W,LW * 5L,0#1"},
	} {
		if got := parse(t, c.expr, c.options...).String(); got != c.want {
			t.Errorf("%q: got %q, want %q", c.expr, got, c.want)
		}
	}
}

func TestMacros(t *testing.T) {
	for macro, fields := range map[string]string{"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
		"@Monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@daily": "0 0 * * *",
		"@midnight": "0 0 * * *", "@hourly": "0 * * * *"} {
		if got := parse(t, macro).String(); got != fields {
			t.Errorf("%s: got %q, want %q", macro, got, fields)
		}
	}
}

func TestQuartzWeekdays(t *testing.T) {
	from := instant(t, "2025-01-01T00:00:00Z") // a Wednesday
	for expr, want := range map[string]time.Weekday{"0 0 0 ? * 1": time.Sunday,
		"0 0 0 ? * 2": time.Monday, "0 0 0 ? * 7": time.Saturday, "0 0 0 ? * SUN": time.Sunday,
		"0 0 0 ? * 3#2": time.Tuesday, "0 0 0 ? * 6L": time.Friday} {
		if got := parse(t, expr, cron.Quartz()).Next(from).Weekday(); got != want {
			t.Errorf("%q: got %v, want %v", expr, got, want)
		}
	}
	if _, err := cron.Parse("0 0 0 ? * 0", cron.Quartz()); err == nil {
		t.Error("weekday 0 is accepted")
	}
}

func TestHash(t *testing.T) {
	// Values are for ever: another hash would move the fires of every job that uses H.
	for expr, want := range map[string]string{
		"H H * * *": "22 20 * * *", "H/15 * * * *": "7-59/15 * * * *",
		"H(0-29)/10 H(1-3) H H H": "2-29/10 3 16 1 1", "H * * * * *": "2 * * * * *",
	} {
		if got := parse(t, expr, cron.Seed("billing.close")).String(); got != want {
			t.Errorf("%q: got %q, want %q", expr, got, want)
		}
	}
	if _, err := cron.Parse("H 2 * * *"); err == nil || !strings.Contains(err.Error(), "name") {
		t.Errorf("without a name: got %v", err)
	}
	const names = 6_000
	runs := map[time.Duration]int{}
	for i := range names {
		s := parse(t, "H 0 H(5-8) * *", cron.Seed(fmt.Sprintf("job-%d", i)))
		next := s.Next(instant(t, "2025-01-01T00:00:00Z"))
		if d := next.Day(); d < 5 || d > 8 {
			t.Fatalf("%q fires on day %d", s, d)
		}
		runs[s.PerDay().First]++
	}
	for first, n := range runs { // 100 expected, standard deviation 10
		if n < 50 || n > 150 {
			t.Errorf("%d of %d jobs run at %v", n, names, first)
		}
	}
	if len(runs) != 60 {
		t.Errorf("%d minutes are used", len(runs))
	}
}

func TestEvery(t *testing.T) {
	monday := instant(t, "2025-01-06T00:00:00+01:00")
	s := parse(t, "@every 168h", cron.Anchor(monday))
	week := monday.Add(168 * time.Hour)
	for _, from := range []time.Time{monday, monday.Add(time.Nanosecond), week.Add(-1)} {
		if next := s.Next(from); !next.Equal(week) {
			t.Errorf("after %v: got %v, want %v", from, next, week)
		}
	}
	if got := s.Next(monday.Add(-time.Hour)); !got.Equal(monday) {
		t.Errorf("before the anchor: got %v", got)
	}
	if got := s.Previous(monday.Add(-1)); !got.IsZero() {
		t.Errorf("previous before the anchor: got %v", got)
	}
	last, n := s.Latest(monday, monday.Add(400*24*time.Hour))
	if want := monday.Add(57 * 168 * time.Hour); !last.Equal(want) || n != 57 {
		t.Errorf("got %v of %d, want %v of 57", last, n, want)
	}
	if got := parse(t, "@every 1h").Next(instant(t, "2025-01-01T10:20:00Z")); got.Minute() != 0 {
		t.Errorf("default anchor: got %v", got)
	}
}

// TestExtremes: no sum overflows, however far the instant or long the period.
func TestExtremes(t *testing.T) {
	far := []time.Time{{}, time.Unix(math.MinInt64/2, 0), time.Unix(math.MaxInt64/2, 0),
		time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999, time.UTC), time.Unix(0, math.MaxInt64)}
	for _, expr := range []string{"* * * * * *", "0 0 29 2 *", "CRON_TZ=Europe/Berlin 30 2 * * *",
		"0 0 0 1 1 * 2030", "@every 1s", "@every 2562047h47m16s"} {
		s := parse(t, expr, cron.Anchor(time.Date(9998, 1, 1, 0, 0, 0, 0, time.UTC)))
		for _, at := range far {
			if next := s.Next(at); !next.IsZero() && (!next.After(at) || next.Year() > 9999) {
				t.Errorf("%q after %v: got %v", expr, at, next)
			}
			if prev := s.Previous(at); !prev.IsZero() && prev.After(at) {
				t.Errorf("%q before %v: got %v", expr, at, prev)
			}
			s.Latest(far[1], at)
		}
	}
	if got := parse(t, "0 0 0 1 1 * 2030").Next(time.Time{}); got.Year() != 2030 {
		t.Errorf("from the zero time: got %v", got)
	}
}

// TestHostZone: neither the zone of the instant nor that of the host changes the answer.
func TestHostZone(t *testing.T) {
	s := parse(t, "CRON_TZ=Europe/Berlin 30 2 * * *")
	from := instant(t, "2025-03-29T12:00:00+01:00")
	want := s.Next(from).Format(time.RFC3339)
	for _, loc := range allZones(t) {
		if got := s.Next(from.In(loc)).Format(time.RFC3339); got != want {
			t.Fatalf("in %s: got %s, want %s", loc, got, want)
		}
	}
}

// TestPolicies pins the overrides where the default differs.
func TestPolicies(t *testing.T) {
	berlin := cron.In(location(t, "Europe/Berlin"))
	for _, c := range []struct {
		expr, after string
		option      cron.Option
		want        string // the next fires, separated by spaces
	}{
		{"30 2 * * *", "2025-03-29T12:00:00+01:00", cron.OnGap(cron.GapSkip),
			"2025-03-31T02:30:00+02:00"},
		{"*/40 2 * * *", "2025-03-29T12:00:00+01:00", cron.OnGap(cron.GapRun),
			"2025-03-30T03:00:00+02:00 2025-03-31T02:00:00+02:00"},
		{"30 2 * * *", "2025-10-25T12:00:00+02:00", cron.OnOverlap(cron.OverlapSecond),
			"2025-10-26T02:30:00+01:00 2025-10-27T02:30:00+01:00"},
		{"30 2 * * *", "2025-10-25T12:00:00+02:00", cron.OnOverlap(cron.OverlapBoth),
			"2025-10-26T02:30:00+02:00 2025-10-26T02:30:00+01:00"},
		{"30 * * * *", "2025-10-26T02:30:00+02:00", cron.OnOverlap(cron.OverlapFirst),
			"2025-10-26T03:30:00+01:00"},
	} {
		s, at := parse(t, c.expr, berlin, c.option), instant(t, c.after)
		for want := range strings.FieldsSeq(c.want) {
			at = s.Next(at)
			if got := at.Format(time.RFC3339); got != want {
				t.Errorf("%q after %s: got %s, want %s", c.expr, c.after, got, want)
			}
		}
	}
}

// TestOneChangeInThirtyHours checks, for every zone, what the evaluator takes for granted: the
// offset does not change twice within 30 hours, and ends of spans are as found by looking.
func TestOneChangeInThirtyHours(t *testing.T) {
	from := time.Date(1850, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	upTo := time.Date(2060, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	seen := map[string]bool{}
	for _, loc := range allZones(t) {
		if seen[loc.String()] {
			continue
		}
		seen[loc.String()] = true
		parts := coarse(loc, from, upTo)
		for i := 2; i < len(parts); i++ {
			if length := parts[i] - parts[i-1]; length < 30*3600 {
				t.Errorf("%s: two changes within %d s around %v", loc, length,
					time.Unix(parts[i], 0).In(loc))
			}
		}
	}
}

// coarse lists the instants at which the offset changes, looking every 16 hours.
func coarse(loc *time.Location, from, upTo int64) []int64 {
	changes := []int64{from}
	const stride = 16 * 3600
	before := zoneOffset(loc, from)
	for u := from + stride; u < upTo; u += stride {
		if offset := zoneOffset(loc, u); offset != before {
			for _, part := range stretches(loc, u-stride, u)[1:] {
				changes = append(changes, part.from)
			}
			before = offset
		}
	}
	return changes
}

// TestLeapYearEnd: on 31 December of a leap year the standard library gives the end of the zone's
// span a day too early; the schedule must neither stop nor slip there.
func TestLeapYearEnd(t *testing.T) {
	vector{"", "0 */12 * * *", "Europe/Berlin", "2096-12-30T22:00:00+01:00", []string{
		"2096-12-31T00:00:00+01:00", "2096-12-31T12:00:00+01:00",
		"2097-01-01T00:00:00+01:00"}}.check(t)
}

// TestConcurrent: one schedule serves many goroutines, each in another part of time.
func TestConcurrent(t *testing.T) {
	s := parse(t, "CRON_TZ=Europe/Berlin 30 2 * * *")
	start := instant(t, "2000-01-01T00:00:00Z")
	var group sync.WaitGroup
	for years := range 8 {
		group.Go(func() {
			at := start.AddDate(years, 0, 0)
			for range 1_000 {
				next := s.Next(at)
				if hours := next.Sub(at).Hours(); hours > 25 || next.Minute()%30 != 0 {
					t.Errorf("after %v: got %v", at, next)
				}
				at = next
			}
		})
	}
	group.Wait()
}
