package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ax-sched/ax/bench/peers/measure"
)

// group is what one value of -only selects.
type group struct {
	name  string
	steps []step
	rows  []row
}

// step is one call of a program. The steps of a group stand in the order ax, peer, ax, peer, so
// that what is compared is measured side by side.
type step struct {
	name     string
	program  string
	args     []string
	postgres bool // needs a fresh database
	once     bool // not repeated each round: long enough to be a distribution by itself
}

// row is one line of the table: figures of ax beside the best of some peers.
type row struct {
	what  string
	unit  string
	more  bool // more is better
	ax    series
	peers []series
	goal  goal
}

// series names the figures of all rounds that a row is made from.
type series struct {
	label  string // of a peer
	step   string
	figure string // part of the figure's name
	p50    bool   // not the value but the median in the detail
}

// sizes are how much is measured.
type sizes struct {
	timers  []int         // pending in a wheel
	tasks   int           // stored tasks to be worked
	jobs    int           // the same for peers that need minutes for as many
	submits int           // one every 13 ms
	idle    int           // waiting tasks
	beyond  int           // tasks beyond the window
	rates   []int         // due a second
	firing  time.Duration // length of each rate
	loop    time.Duration // length of a rate of submits
	limit   time.Duration // longest work of a peer
	watch   time.Duration // how long to watch an idle scheduler
	writes  int           // of the check of the disk
}

func fullSizes() sizes {
	return sizes{timers: []int{1_000_000, 10_000_000}, tasks: 100_000, jobs: 20_000, submits: 500,
		idle: 1_000_000, beyond: 10_000, rates: []int{500, 1500, 3000}, firing: 20 * time.Second,
		loop: 2 * time.Second, limit: 10 * time.Second, watch: 20 * time.Second, writes: 2000}
}

// smallSizes show that everything runs; the figures mean nothing.
func smallSizes() sizes {
	return sizes{timers: []int{50_000}, tasks: 2000, jobs: 500, submits: 30, idle: 5000,
		beyond: 100, rates: []int{100}, firing: 2 * time.Second, loop: 200 * time.Millisecond,
		limit: 2 * time.Second, watch: 2 * time.Second, writes: 100}
}

// plan returns the groups that only names, all if it is empty.
func plan(z sizes, only string) ([]group, error) {
	all := []group{wheelGroup(z), sqliteGroup(z), postgresGroup(z), firingGroup(z)}
	if only == "" {
		return all, nil
	}
	var chosen []group
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(g group) bool { return g.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-only: %q; use some of wheel,sqlite,postgres,firing", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// results are the figures of each step, and what went wrong.
type results struct {
	figures  map[string][]measure.Figure
	failures []string
}

// of returns the figures of a series, one for each round.
func (r *results) of(s series) []measure.Figure {
	var fs []measure.Figure
	for _, f := range r.figures[s.step] {
		if strings.Contains(f.Name, s.figure) {
			fs = append(fs, f)
		}
	}
	return fs
}

// axStep measures ax on one store; SQLite files are made in the folder of the measurement.
func axStep(name, store string, args ...string) step {
	args = append([]string{"bench"}, args...)
	return step{name: name + " " + store, program: "ax", postgres: store == postgres,
		args: append(args, "--json", "--dir", "{dir}")}
}

// The stores.
const (
	sqlite   = "SQLite"
	postgres = "PostgreSQL"
)

// idleStep measures what many waiting tasks cost on one store.
func idleStep(z sizes, store string) step {
	s := axStep("idle", store, "idle", "-n", fmt.Sprint(z.idle), "--for", z.watch.String())
	s.once = true
	return s
}

func idleRows(z sizes, store string) []row {
	of := func(figure string) series { return series{step: "idle " + store, figure: figure} }
	what := fmt.Sprintf("%s, %s waiting tasks: ", store, thousands(float64(z.idle)))
	return []row{
		{what: what + "start to ready", unit: "s", ax: of("start to ready"), goal: goal{max: 2}},
		{what: what + "resident memory", unit: "MB", ax: of("resident"), goal: goal{max: 150}},
		{what: what + "CPU", unit: "% core", ax: of("CPU while idle"), goal: goal{max: 1}},
		{what: what + "statements", unit: "1/s", ax: of("statements"), goal: goal{max: 5}},
	}
}

func submitStep(z sizes, store string) step {
	return axStep("submit", store, "submit", "--runs", "1", "--callers", "1,32", "--many", "1000",
		"--for", z.loop.String())
}

func throughputStep(z sizes, store string) step {
	return axStep("throughput", store, "throughput", "-n", fmt.Sprint(z.tasks), "--runs", "1")
}

func latencyStep(z sizes, store string) step {
	return axStep("latency", store, "latency", "--submits", fmt.Sprint(z.submits), "--rates", "0",
		"--beyond", "0")
}
