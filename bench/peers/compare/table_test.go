package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ax-sched/ax/bench/peers/measure"
)

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.8: "0.8", 0.0712: "0.071", 1: "1", 1.3: "1.3", 2.345: "2.35", 25: "25",
		34.56: "34.6", 48: "48", 120.4: "120", 999.6: "1000", 1000: "1,000", 41234.5: "41,234",
		1e6: "1,000,000",
	} {
		if got := short(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

func TestRowTakesTheBestPeer(t *testing.T) {
	rate := func(v float64) []measure.Figure { return []measure.Figure{{Name: "n", Value: v}} }
	res := &results{figures: map[string][]measure.Figure{
		"ax":   {{Name: "n", Value: 300}, {Name: "n", Value: 100}, {Name: "n", Value: 200}},
		"slow": rate(50), "fast": rate(80),
	}}
	peers := []series{{label: "S", step: "slow"}, {label: "F", step: "fast"},
		{label: "absent", step: "absent"}}
	r := row{what: "w", unit: "u", more: true, ax: series{step: "ax"}, peers: peers,
		goal: goal{minRatio: 2}}
	want := []string{"w", "u", "200 (100-300)", "80 F", "2.5x", "≥ 2x", "yes"}
	if got := r.cells(res); !slices.Equal(got, want) {
		t.Errorf("more is better: %q, want %q", got, want)
	}
	r.more, r.goal = false, goal{maxRatio: 2}
	want = []string{"w", "u", "200 (100-300)", "50 S", "4x", "≤ 2x", "no"}
	if got := r.cells(res); !slices.Equal(got, want) {
		t.Errorf("less is better: %q, want %q", got, want)
	}
	r.ax.step = "absent"
	want = []string{"w", "u", "not measured", "50 S", "", "≤ 2x", ""}
	if got := r.cells(res); !slices.Equal(got, want) {
		t.Errorf("nothing measured: %q, want %q", got, want)
	}
}

// TestPlanIsWhole holds the rows to the steps: a series that names no step of its group would
// never be measured.
func TestPlanIsWhole(t *testing.T) {
	groups, err := plan(fullSizes(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		steps := map[string]bool{}
		for _, s := range g.steps {
			if steps[s.name] {
				t.Errorf("%s: two steps are named %q", g.name, s.name)
			}
			steps[s.name] = true
		}
		for _, r := range g.rows {
			for _, s := range append([]series{r.ax}, r.peers...) {
				if !steps[s.step] {
					t.Errorf("%s: %s: there is no step %q", g.name, r.what, s.step)
				}
			}
		}
	}
	if _, err := plan(fullSizes(), "wheel,redis"); err == nil {
		t.Error("an unknown group is accepted")
	}
}

// TestReadmeHasTheTargets keeps the document and the plan together.
func TestReadmeHasTheTargets(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	groups, err := plan(fullSizes(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		for _, r := range g.rows {
			if r.goal == (goal{}) {
				continue
			}
			line := fmt.Sprintf("| %s | %s | %s |\n", r.what, r.unit, r.goal)
			if !strings.Contains(string(readme), line) {
				t.Errorf("bench/README.md has not the line\n%s", line)
			}
		}
	}
}
