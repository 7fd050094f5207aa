package cron_test

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// reference is a second reading of an expression, by the slowest means: every value of a field is
// tested against the text, every instant near a fire is looked at. It shares no code with the
// package.
type reference struct {
	second, minute, hour, month map[int]bool
	year                        map[int]bool // nil: every year
	dayText, weekText           string
	dayStar, weekStar           bool
	wildcard                    bool
	runGap                      bool
	overlap                     string // first, second, both
	dates                       map[int]bool
}

func newReference(expr string) *reference {
	f := strings.Fields(strings.ToUpper(expr))
	if len(f) == 5 {
		f = append([]string{"0"}, f...)
	}
	r := &reference{
		second: naiveSet(f[0], 0, 59), minute: naiveSet(f[1], 0, 59), hour: naiveSet(f[2], 0, 23),
		month: naiveSet(naiveNames(f[4],
			"JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC", 1), 1, 12),
		dayText: f[3], weekText: naiveNames(f[5], "SUN MON TUE WED THU FRI SAT", 0),
		dates: map[int]bool{},
	}
	if len(f) == 7 {
		r.year = naiveSet(f[6], 1970, 2299)
	}
	star := func(s string) bool { return s[0] == '*' || s[0] == '?' }
	r.dayStar, r.weekStar = star(f[3]), star(f[5])
	r.wildcard = star(f[0]) || star(f[1]) || star(f[2])
	r.runGap, r.overlap = true, "first"
	if r.wildcard {
		r.runGap, r.overlap = false, "both"
	}
	return r
}

// naiveNames replaces names by numbers.
func naiveNames(text, names string, first int) string {
	for i, name := range strings.Fields(names) {
		text = strings.ReplaceAll(text, name, strconv.Itoa(first+i))
	}
	return text
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic("reference: " + s)
	}
	return n
}

// naiveSet marks the plain values of a list by stepping through each range one by one.
func naiveSet(text string, low, high int) map[int]bool {
	set := map[int]bool{}
	for part := range strings.SplitSeq(text, ",") {
		if strings.ContainsAny(part, "LW#") {
			continue
		}
		base, step := part, 1
		if before, after, ok := strings.Cut(part, "/"); ok {
			base, step = before, atoi(after)
		}
		from, to := 0, 0
		switch i := strings.IndexByte(base, '-'); {
		case base == "*" || base == "?":
			from, to = low, high
		case i >= 0:
			from, to = atoi(base[:i]), atoi(base[i+1:])
		case step > 1 || base != part:
			from, to = atoi(base), high
		default:
			from, to = atoi(base), atoi(base)
		}
		v := from
		if from > to && from > high { // weekday 7 before a smaller one
			v = low
		}
		for i := 0; ; i++ {
			if i%step == 0 {
				set[v] = true
			}
			if v == to {
				break
			}
			if v++; v > high && from > to {
				v = low
			}
		}
	}
	return set
}

// matchDate applies all fields of the date.
func (r *reference) matchDate(t time.Time) bool {
	key := t.Year()*1000 + t.YearDay()
	if known, ok := r.dates[key]; ok {
		return known
	}
	ok := r.month[int(t.Month())] && (r.year == nil || r.year[t.Year()])
	if ok {
		day, week := r.matchDay(t), r.matchWeekday(t)
		ok = day || week
		if r.dayStar || r.weekStar {
			ok = day && week
		}
	}
	r.dates[key] = ok
	return ok
}

func lastOfMonth(t time.Time) int {
	return time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func workday(t time.Time) bool {
	return t.Weekday() != time.Saturday && t.Weekday() != time.Sunday
}

func (r *reference) matchDay(t time.Time) bool {
	if naiveSet(r.dayText, 1, 31)[t.Day()] {
		return true
	}
	last := lastOfMonth(t)
	date := func(d int) time.Time { return time.Date(t.Year(), t.Month(), d, 0, 0, 0, 0, time.UTC) }
	for part := range strings.SplitSeq(r.dayText, ",") {
		want := 0
		switch {
		case part == "L":
			want = last
		case part == "LW":
			for want = last; !workday(date(want)); want-- {
			}
		case strings.HasPrefix(part, "L-"):
			want = last - atoi(part[2:])
		case strings.HasSuffix(part, "W"):
			n := atoi(strings.TrimSuffix(part, "W"))
			for away := 0; n <= last && want == 0; away++ {
				for _, d := range []int{n - away, n + away} {
					if 1 <= d && d <= last && workday(date(d)) {
						want = d
					}
				}
			}
		}
		if want == t.Day() {
			return true
		}
	}
	return false
}

func (r *reference) matchWeekday(t time.Time) bool {
	w := int(t.Weekday())
	set := naiveSet(r.weekText, 0, 6)
	if set[w] || w == 0 && set[7] {
		return true
	}
	for part := range strings.SplitSeq(r.weekText, ",") {
		if day, nth, ok := strings.Cut(part, "#"); ok {
			if atoi(day)%7 == w && (t.Day()-1)/7+1 == atoi(nth) {
				return true
			}
		} else if day, ok := strings.CutSuffix(part, "L"); ok {
			if atoi(day)%7 == w && t.Day()+7 > lastOfMonth(t) {
				return true
			}
		}
	}
	return false
}

// stretch is a part of real time with one offset.
type stretch struct{ from, to, offset int64 }

func zoneOffset(loc *time.Location, u int64) int64 {
	_, offset := time.Unix(u, 0).In(loc).Zone()
	return int64(offset)
}

// stretches cuts real time at the changes of the offset. It looks every four hours and halves
// the time in which the offset differs.
func stretches(loc *time.Location, from, to int64) []stretch {
	all := []stretch{{from, to, zoneOffset(loc, from)}}
	for u := from; u < to; u += 4 * 3600 {
		last := &all[len(all)-1]
		next := min(u+4*3600, to)
		if zoneOffset(loc, next) == last.offset {
			continue
		}
		low, high := u, next
		for high-low > 1 {
			if middle := (low + high) / 2; zoneOffset(loc, middle) == last.offset {
				low = middle
			} else {
				high = middle
			}
		}
		last.to = high
		all = append(all, stretch{high, to, zoneOffset(loc, high)})
	}
	return all
}

// walls lists the matching wall times from one up to but not including another.
func (r *reference) walls(from, to int64, most int) []int64 {
	var found []int64
	for w := from; w < to && len(found) < most; {
		t := time.Unix(w, 0).UTC()
		h, m, s := t.Clock()
		switch {
		case !r.matchDate(t):
			w += int64(86400 - h*3600 - m*60 - s)
		case !r.hour[h]:
			w += int64(3600 - m*60 - s)
		case !r.minute[m]:
			w += int64(60 - s)
		case !r.second[s]:
			w++
		default:
			found = append(found, w)
			w++
		}
	}
	return found
}

// horizon returns an instant beyond the first few fires after t, or one three years later.
func (r *reference) horizon(t time.Time) time.Time {
	const years = 3 * 366 * 86400
	walls := r.walls(t.Unix()+2*86400, t.Unix()+years, 3)
	if len(walls) < 3 {
		return t.Add(years * time.Second)
	}
	return time.Unix(walls[2]+3600, 0)
}

// fires lists the fires after one instant and up to another.
func (r *reference) fires(loc *time.Location, after, upTo int64) []int64 {
	margin := int64(0)
	if r.overlap != "both" {
		margin = 27 * 3600 // more than any backward change of a clock
	}
	parts := stretches(loc, after-margin, upTo+margin+1)
	if len(parts) == 1 { // nothing repeats
		parts[0].from, parts[0].to = after, upTo+1
	}
	type twice struct{ first, last int64 }
	seen := map[int64]twice{}
	found := map[int64]bool{}
	for i, p := range parts {
		for _, w := range r.walls(p.from+p.offset, p.to+p.offset, 1<<30) {
			at := w - p.offset
			switch known, repeated := seen[w]; {
			case r.overlap == "both":
				found[at] = true
			case repeated:
				seen[w] = twice{known.first, at}
			default:
				seen[w] = twice{at, at}
			}
		}
		if i == 0 || !r.runGap {
			continue
		}
		missingFrom, missingTo := p.from+parts[i-1].offset, p.from+p.offset
		if gap := missingTo - missingFrom; gap > 0 && gap <= 3*3600 &&
			len(r.walls(missingFrom, missingTo, 1)) > 0 {
			found[p.from] = true
		}
	}
	for _, t := range seen {
		if r.overlap == "second" {
			found[t.last] = true
		} else {
			found[t.first] = true
		}
	}
	var list []int64
	for at := range found {
		if after < at && at <= upTo {
			list = append(list, at)
		}
	}
	slices.Sort(list)
	return list
}
