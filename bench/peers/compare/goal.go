package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ax-sched/ax/bench/peers/measure"
)

// goal is what a row shall reach; zero fields ask for nothing.
type goal struct {
	min, max           float64
	minRatio, maxRatio float64 // of ax to the peer
	exact              bool    // none early, missing or twice
}

// String is the goal as the table shows it.
func (g goal) String() string {
	var words []string
	for _, part := range []struct {
		v    float64
		form string
	}{
		{g.min, "≥ %s"}, {g.max, "≤ %s"}, {g.minRatio, "≥ %sx"}, {g.maxRatio, "≤ %sx"},
	} {
		if part.v != 0 {
			words = append(words, fmt.Sprintf(part.form, short(part.v)))
		}
	}
	if g.exact {
		words = append(words, "exact")
	}
	return strings.Join(words, ", ")
}

// reached compares medians. A goal that needs a figure which is not there is not reached.
func (g goal) reached(ax, peer spread, exact bool) bool {
	if ax.n == 0 || (g.minRatio != 0 || g.maxRatio != 0) && (peer.n == 0 || peer.median == 0) {
		return false
	}
	ratio := ax.median / peer.median
	return (g.min == 0 || ax.median >= g.min) && (g.max == 0 || ax.median <= g.max) &&
		(g.minRatio == 0 || ratio >= g.minRatio) && (g.maxRatio == 0 || ratio <= g.maxRatio) &&
		(!g.exact || exact)
}

// spread sums a series up.
type spread struct {
	median, min, max float64
	n                int
}

func spreadOf(vs []float64) spread {
	if len(vs) == 0 {
		return spread{}
	}
	vs = slices.Sorted(slices.Values(vs))
	median := (vs[(len(vs)-1)/2] + vs[len(vs)/2]) / 2
	return spread{median, vs[0], vs[len(vs)-1], len(vs)}
}

// values takes from each figure what the series asks for.
func values(fs []measure.Figure, p50 bool) []float64 {
	var vs []float64
	for _, f := range fs {
		v := f.Value
		if p50 {
			var ok bool
			if v, ok = medianIn(f.Detail); !ok {
				continue
			}
		}
		vs = append(vs, v)
	}
	return vs
}

var medianForm = regexp.MustCompile(`\bp50 ([0-9.]+)`)

// medianIn finds the p50 in the detail of a distribution.
func medianIn(detail string) (float64, bool) {
	m := medianForm.FindStringSubmatch(detail)
	if m == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(m[1], 64)
	return v, err == nil
}

// isExact reports whether each figure says that nothing fired early, twice or not at all.
func isExact(fs []measure.Figure) bool {
	return len(fs) > 0 && !slices.ContainsFunc(fs, func(f measure.Figure) bool {
		return !strings.HasSuffix(f.Detail, "early 0, missing 0, twice 0")
	})
}
