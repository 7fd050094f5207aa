package main

import (
	"fmt"
	"strings"
)

// wheelGroup compares the timing wheel with other structures for timers. No database.
func wheelGroup(z sizes) group {
	counts := strings.Trim(strings.ReplaceAll(fmt.Sprint(z.timers), " ", ","), "[]")
	g := group{name: "wheel", steps: []step{
		{name: "wheel", program: "ax",
			args: []string{"bench", "wheel", "--timers", counts, "--runs", "1", "--json"}},
		{name: "timers", program: "timers", args: []string{"-timers", counts}},
	}}
	for _, n := range z.timers {
		for _, f := range []struct {
			figure, unit string
			max          float64
		}{
			{"add", "ns", 25},
			{"cancel", "ns", 30},
			{"memory a timer", "bytes", 48},
			// The wheel takes its memory in pieces, each for many timers.
			{"allocations an add", "", 0.01},
		} {
			name := fmt.Sprintf(", %d timers: %s", n, f.figure)
			r := row{what: fmt.Sprintf("wheel, %s timers: %s", thousands(float64(n)), f.figure),
				unit: f.unit, ax: series{step: "wheel", figure: name}, goal: goal{max: f.max}}
			for _, peer := range []string{"container/heap", "time.AfterFunc", "timingwheel"} {
				r.peers = append(r.peers, series{label: peer, step: "timers", figure: peer + name})
			}
			g.rows = append(g.rows, r)
		}
	}
	return g
}
