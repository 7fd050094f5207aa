package main

import (
	"testing"

	"github.com/ax-sched/ax/bench/peers/measure"
)

func TestGoalReached(t *testing.T) {
	one := func(v float64) spread { return spreadOf([]float64{v}) }
	for _, c := range []struct {
		name     string
		goal     goal
		ax, peer spread
		exact    bool
		want     bool
	}{
		{"at least, met exactly", goal{min: 40}, one(40), spread{}, false, true},
		{"at least, missed", goal{min: 40}, one(39), spread{}, false, false},
		{"at most, met exactly", goal{max: 10}, one(10), spread{}, false, true},
		{"at most, missed", goal{max: 10}, one(11), spread{}, false, false},
		{"nothing measured", goal{max: 10}, spread{}, spread{}, false, false},
		{"ratio met", goal{minRatio: 10}, one(40), one(4), false, true},
		{"ratio missed", goal{minRatio: 10}, one(40), one(5), false, false},
		{"ratio without a peer", goal{minRatio: 10}, one(40), spread{}, false, false},
		{"low ratio met", goal{maxRatio: 0.8}, one(8), one(10), false, true},
		{"low ratio missed", goal{maxRatio: 0.8}, one(9), one(10), false, false},
		{"both asked, one met", goal{min: 50, minRatio: 2}, one(40), one(4), false, false},
		{"exact", goal{max: 10, exact: true}, one(1), spread{}, true, true},
		{"not exact", goal{max: 10, exact: true}, one(1), spread{}, false, false},
	} {
		if got := c.goal.reached(c.ax, c.peer, c.exact); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestSpreadTakesTheMedian(t *testing.T) {
	if got, want := spreadOf([]float64{9, 1, 4}), (spread{4, 1, 9, 3}); got != want {
		t.Errorf("spread %v, want %v", got, want)
	}
	if got := spreadOf([]float64{1, 4}).median; got != 2.5 {
		t.Errorf("median of an even number of rounds %v, want 2.5", got)
	}
}

func TestValuesFromTheDetail(t *testing.T) {
	fs := []measure.Figure{
		{Value: 9, Detail: "p50 0.45, p90 1.20, p99.9 12.00, max 13.00, n=500"},
		{Value: 8, Detail: "nothing of the kind"},
	}
	if got := values(fs, true); len(got) != 1 || got[0] != 0.45 {
		t.Errorf("medians %v, want [0.45]", got)
	}
	if got := values(fs, false); len(got) != 2 || got[0] != 9 || got[1] != 8 {
		t.Errorf("values %v, want [9 8]", got)
	}
}

func TestExactNeedsEachRound(t *testing.T) {
	good := measure.Figure{Detail: "p50 1.00, n=30, early 0, missing 0, twice 0"}
	for _, c := range []struct {
		detail string
		want   bool
	}{
		{good.Detail, true},
		{"p50 1.00, n=30, early 1, missing 0, twice 0", false},
		{"p50 1.00, n=30, early 0, missing 2, twice 0", false},
		{"p50 1.00, n=30, early 0, missing 0, twice 1", false},
		{"p50 1.00, n=30", false},
	} {
		if got := isExact([]measure.Figure{good, {Detail: c.detail}}); got != c.want {
			t.Errorf("%q: %v, want %v", c.detail, got, c.want)
		}
	}
	if isExact(nil) {
		t.Error("nothing measured counts as exact")
	}
}
