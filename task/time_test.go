package task_test

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ax-sched/ax/task"
)

// T04: a delay of "for ever" must not overflow into the past.
func TestT04AddSaturates(t *testing.T) {
	year := 365 * 24 * time.Hour
	for _, c := range []struct {
		t    task.Time
		d    time.Duration
		want task.Time
	}{
		{1, math.MaxInt64, 1 + math.MaxInt64/1000},
		{task.MaxTime, 0, task.MaxTime},
		{task.MaxTime, time.Microsecond, task.MaxTime},
		{task.MaxTime, math.MaxInt64, task.MaxTime},
		{task.MaxTime - 1, time.Microsecond, task.MaxTime},
		{task.MaxTime - 1, 2 * time.Microsecond, task.MaxTime},
		{math.MaxInt64, math.MaxInt64, task.MaxTime},
		{math.MaxInt64 - 5, time.Hour, task.MaxTime},
		{1000, time.Microsecond - 1, 1000},
		{1000, time.Microsecond, 1001},
		{1000, -time.Microsecond, 999},
		{task.MaxTime, -year, task.MaxTime - task.Time(year.Microseconds())},
	} {
		if got := c.t.Add(c.d); got != c.want {
			t.Errorf("%d + %s = %d; want %d", c.t, c.d, got, c.want)
		}
	}
	for _, far := range []time.Time{
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		time.Date(2262, 4, 12, 0, 0, 0, 0, time.UTC),
	} {
		now := task.FromGo(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		at := task.FromGo(far)
		if at <= now || !at.Go().Equal(far) {
			t.Errorf("%s became %d, %s", far, at, at.Go())
		}
	}
}

// T07: the order of instants is total, also where nanoseconds since 1970 overflow.
func TestT07OrderIsTotal(t *testing.T) {
	var last task.Time
	for _, s := range []string{"1970-01-01T00:00:00.000001Z", "1970-01-01T00:00:01Z",
		"2026-03-29T01:00:10.084657Z", "2026-03-29T01:00:10.084658Z", "2262-04-11T23:47:16Z",
		"2262-04-11T23:47:17Z", "2300-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"} {
		g, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		at := task.FromGo(g)
		if at <= last || !task.ValidTime(g) || !at.Go().Equal(g) || at.Go().Location() != time.UTC {
			t.Errorf("%s became %d after %d, and back %s", s, at, last, at.Go())
		}
		last = at
	}
	if last != task.MaxTime {
		t.Errorf("the end of the year 9999 is %d; MaxTime is %d", last, task.MaxTime)
	}
}

func TestTimesOutsideAreNotSet(t *testing.T) {
	zone := time.FixedZone("west", -12*3600)
	for _, g := range []time.Time{
		{}, time.Unix(0, 0), time.Unix(0, 999), time.Unix(-1, 0),
		time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 0, 0, 0, zone), time.Date(290000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(600000, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(1<<62, 0), time.Unix(-1<<62, 0),
	} {
		if task.ValidTime(g) || task.FromGo(g) != 0 {
			t.Errorf("%d s since 1970 is valid %t and becomes %d", g.Unix(), task.ValidTime(g),
				task.FromGo(g))
		}
	}
	for _, at := range []task.Time{0, task.StoreNow, math.MinInt64} {
		if !at.Go().IsZero() {
			t.Errorf("%d prints as %s", at, at.Go())
		}
	}
}

func TestTimeRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		at := task.Time(rapid.Int64Range(1, int64(task.MaxTime)).Draw(rt, "us"))
		if back := task.FromGo(at.Go()); back != at {
			rt.Errorf("%d came back as %d", at, back)
		}
		ns := rapid.IntRange(0, 999).Draw(rt, "ns")
		if back := task.FromGo(at.Go().Add(time.Duration(ns))); back != at {
			rt.Errorf("%d and %d ns became %d", at, ns, back)
		}
	})
}

// Add and Sub against numbers that cannot overflow.
func TestTimeArithmetic(t *testing.T) {
	limit := func(v, low, high *big.Int) int64 {
		if v.Cmp(low) < 0 {
			v = low
		}
		if v.Cmp(high) > 0 {
			v = high
		}
		return v.Int64()
	}
	far := func(v *big.Int) bool { return v.CmpAbs(big.NewInt(math.MaxInt64/1000)) > 0 }
	rapid.Check(t, func(rt *rapid.T) {
		a := task.Time(rapid.Int64Range(0, int64(task.MaxTime)).Draw(rt, "a"))
		b := task.Time(rapid.Int64Range(0, int64(task.MaxTime)).Draw(rt, "b"))
		d := time.Duration(rapid.Int64().Draw(rt, "d"))
		sum := new(big.Int).Add(big.NewInt(int64(a)), big.NewInt(d.Microseconds()))
		low := int64(0)
		if d.Microseconds() < 0 {
			low = 1 // 0 and less mean something else than an instant
		}
		want := limit(sum, big.NewInt(low), big.NewInt(int64(task.MaxTime)))
		if got := a.Add(d); int64(got) != want {
			rt.Errorf("%d + %d us = %d; want %d", a, d.Microseconds(), got, want)
		}
		diff := new(big.Int).Sub(big.NewInt(int64(a)), big.NewInt(int64(b)))
		got := a.Sub(b)
		switch {
		case far(diff) && diff.Sign() > 0 && got != math.MaxInt64,
			far(diff) && diff.Sign() < 0 && got != math.MinInt64,
			!far(diff) && got.Microseconds() != diff.Int64():
			rt.Errorf("%d - %d = %d ns", a, b, got)
		}
	})
	if !slices.IsSorted([]task.Time{math.MinInt64, task.StoreNow, task.MinTime, 1, task.MaxTime}) {
		t.Error("the special instants are out of order")
	}
}
