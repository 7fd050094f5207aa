package cron_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // for machines without a zone database

	"github.com/ax-sched/ax/cron"
)

// oddZones are the zones with a history worth testing; they are in every database.
var oddZones = []string{"UTC", "Africa/Cairo", "Africa/Casablanca", "Africa/Monrovia",
	"America/Havana", "America/Los_Angeles", "America/Metlakatla", "America/New_York",
	"America/Nuuk", "America/Santiago", "America/Sao_Paulo", "America/St_Johns",
	"Antarctica/Troll", "Asia/Beirut", "Asia/Gaza", "Asia/Kathmandu", "Asia/Manila",
	"Asia/Tehran", "Australia/Lord_Howe", "Europe/Amsterdam", "Europe/Berlin", "Europe/Dublin",
	"Europe/London", "Pacific/Apia", "Pacific/Chatham", "Pacific/Kwajalein"}

// allZones returns every zone of the machine, at least oddZones, each under its name.
func allZones(t testing.TB) []*time.Location {
	t.Helper()
	var zones []*time.Location
	add := func(name string) bool {
		loc, err := time.LoadLocation(name)
		if err == nil {
			zones = append(zones, loc)
		}
		return err == nil
	}
	for _, name := range oddZones {
		if !add(name) {
			t.Fatalf("zone %s is missing", name)
		}
	}
	const root = "/usr/share/zoneinfo"
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil
		}
		name := strings.TrimPrefix(path, root+"/")
		switch first, _, _ := strings.Cut(name, "/"); first {
		case "right", "posix", "localtime", "posixrules":
			return nil
		}
		add(name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return zones
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// randomList makes a field of plain values.
func randomList(r *rand.Rand, low, high int) string {
	value := func() int { return low + r.IntN(high-low+1) }
	step := func() int { return 1 + r.IntN(high-low+1) }
	switch r.IntN(8) {
	case 0, 1:
		return "*"
	case 2:
		return fmt.Sprintf("*/%d", step())
	case 3:
		return fmt.Sprintf("%d-%d", value(), value())
	case 4:
		return fmt.Sprintf("%d-%d/%d", value(), value(), step())
	case 5:
		return fmt.Sprintf("%d/%d", value(), step())
	case 6:
		return fmt.Sprintf("%d,%d,%d-%d", value(), value(), value(), value())
	default:
		return strconv.Itoa(value())
	}
}

// randomExpr prefers the small hours, in which clocks change.
func randomExpr(r *rand.Rand) string {
	hour := randomList(r, 0, 23)
	if r.IntN(2) == 0 {
		hour = pick(r, "0", "1", "2", "3", "1-3", "0,2", "22-2", "*/2", "0-23", "23")
	}
	day := pick(r, "*", "*", "*", "?", randomList(r, 1, 31), "L", "LW", "L-3", "L-30", "1W",
		"15W", "30W", "31W", "L,15", "1,LW", "29", "31")
	month := pick(r, "*", "*", "*", "3,10", "3-4", "nov-mar", "feb", randomList(r, 1, 12))
	week := pick(r, "*", "*", "*", "?", randomList(r, 0, 6), "0-7/2", "7", "5-7", "fri-mon",
		"7-2", "0#1", "6#5", "MON#2", "0L", "7L", "friL", "1,3#2,5L", "*/2")
	expr := strings.Join([]string{randomList(r, 0, 59), hour, day, month, week}, " ")
	switch r.IntN(6) {
	case 0:
		return randomList(r, 0, 59) + " " + expr
	case 1:
		return "30 " + expr + " " + pick(r, "*", "2020/2", "1990-2040", "2030,2031")
	}
	return expr
}

// randomInstant is near a change of the zone's clock more often than not.
func randomInstant(r *rand.Rand, loc *time.Location) time.Time {
	low := time.Date(1880, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	if r.IntN(4) > 0 {
		low = time.Date(1995, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	high := time.Date(2110, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	at := time.Unix(low+r.Int64N(high-low), 0).In(loc)
	if _, end := at.ZoneBounds(); r.IntN(4) > 0 && !end.IsZero() && end.After(at) {
		at = end.Add(time.Duration(r.Int64N(40*3600)-34*3600) * time.Second)
	}
	return at
}

// compare checks the schedule against the reference for the first fires after from.
func compare(s *cron.Schedule, r *reference, from time.Time) error {
	loc := s.Location()
	upTo := from.Add(time.Hour)
	want := r.fires(loc, from.Unix(), upTo.Unix())
	if len(want) < 3 {
		upTo = from.Add(50 * time.Hour)
		want = r.fires(loc, from.Unix(), upTo.Unix())
	}
	if len(want) < 3 {
		upTo = r.horizon(from)
		want = r.fires(loc, from.Unix(), upTo.Unix())
	}
	at := from
	for i, w := range want {
		next := s.Next(at)
		if next.Unix() != w || next.Location() != loc {
			return fmt.Errorf("fire %d after %v: got %v, want %v", i, at, next,
				time.Unix(w, 0).In(loc))
		}
		if prev := s.Previous(next); !prev.Equal(next) {
			return fmt.Errorf("previous of fire %v: got %v", next, prev)
		}
		if prev := s.Previous(next.Add(-1)); i > 0 && !prev.Equal(at) {
			return fmt.Errorf("previous before %v: got %v, want %v", next, prev, at)
		}
		at = next
		if i == 20 {
			break
		}
	}
	last, n := s.Latest(from, upTo)
	if n != int64(len(want)) || n > 0 && last.Unix() != want[n-1] {
		return fmt.Errorf("latest in (%v, %v]: got %v of %d, want %d", from, upTo, last, n, len(want))
	}
	if next := s.Next(upTo); !next.IsZero() && !next.After(upTo) {
		return fmt.Errorf("next after %v: got %v", upTo, next)
	}
	return nil
}

// TestReference compares random cases with the reference. AX_CRON_CASES sets their number.
func TestReference(t *testing.T) {
	cases := 20_000
	if text := os.Getenv("AX_CRON_CASES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		cases = n
	}
	zones := allZones(t)
	fires := 0
	for i := range cases {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		loc := zones[r.IntN(len(zones))]
		if r.IntN(2) == 0 {
			loc = zones[r.IntN(len(oddZones))]
		}
		expr, from := randomExpr(r), randomInstant(r, loc)
		ref := newReference(expr)
		options := []cron.Option{cron.In(loc)}
		if r.IntN(4) == 0 {
			ref.runGap = r.IntN(2) == 0
			ref.overlap = pick(r, "first", "second", "both")
			options = append(options, policies(ref)...)
		}
		s, err := cron.Parse(expr, options...)
		if errors.Is(err, cron.ErrNeverFires) {
			day := time.Hour * 24
			if late := ref.fires(loc, from.Unix(), from.Add(1500*day).Unix()); len(late) > 0 {
				t.Fatalf("case %d: %q in %s is said to never fire but does at %v", i, expr, loc, late)
			}
			continue
		}
		if err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		if err := compare(s, ref, from); err != nil {
			t.Fatalf("case %d: %q in %s: %v", i, expr, loc, err)
		}
		fires++
	}
	if fires < cases*9/10 {
		t.Errorf("only %d of %d cases fire at all", fires, cases)
	}
}

// policies returns the options behind the reference's choice.
func policies(r *reference) []cron.Option {
	gap := cron.GapSkip
	if r.runGap {
		gap = cron.GapRun
	}
	overlap := map[string]cron.OverlapPolicy{"first": cron.OverlapFirst,
		"second": cron.OverlapSecond, "both": cron.OverlapBoth}[r.overlap]
	return []cron.Option{cron.OnGap(gap), cron.OnOverlap(overlap)}
}
