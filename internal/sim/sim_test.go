package sim

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// defaultSeeds is how many seeds a plain test run simulates.
const defaultSeeds = 500

// maxFailures is how many seeds may fail before the others are left out.
const maxFailures = 5

// chosen reads which seeds to run: AX_SIM_SEED alone is one seed with its trace, together with
// AX_SIM_SEEDS it is the first one.
func chosen(t *testing.T) (first, n uint64, one bool) {
	number := func(name string, or uint64) (uint64, bool) {
		s := os.Getenv(name)
		if s == "" {
			return or, false
		}
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil || v == 0 {
			t.Fatalf("%s is %q; use a whole number from 1", name, s)
		}
		return v, true
	}
	n, many := number("AX_SIM_SEEDS", defaultSeeds)
	first, given := number("AX_SIM_SEED", 1)
	if given && !many {
		return first, 1, true
	}
	return first, n, false
}

// TestSimulation runs the seeds and checks the invariants in each, and that all of them together
// were not too mild.
func TestSimulation(t *testing.T) {
	first, n, one := chosen(t)
	var sum tally
	t.Run("seed", func(t *testing.T) {
		for seed := first; seed < first+n; seed++ {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				if sum.enough() {
					return
				}
				o := bubble(t, seed, simulate)
				sum.add(o)
				switch {
				case len(o.bad) > 0:
					t.Errorf("seed %d breaks %d promises; repeat it with\n\tAX_SIM_SEED=%d "+
						"go test -count=1 -v -run TestSimulation ./internal/sim\n%s", seed,
						len(o.bad), seed, sum.once(o))
				case one:
					t.Logf("seed %d\n%s", seed, o.text())
				}
			})
		}
	})
	t.Log("\n" + sum.String())
	if n < 200 || t.Failed() {
		return // too few to see everything
	}
	for _, what := range expected() {
		if sum.seen[what] == 0 {
			t.Errorf("%d seeds were too mild: %q never happened", n, what)
		}
	}
}

// bubble runs one seed in a bubble of fake time. A goroutine that is left behind makes the bubble
// panic, which is a violation like any other.
func bubble(t *testing.T, seed uint64, run func(uint64) outcome) (o outcome) {
	defer func() {
		if p := recover(); p != nil {
			o.seed = seed
			o.bad = append(o.bad, violation{0, "I21", fmt.Sprint(p)})
		}
	}()
	synctest.Test(t, func(*testing.T) { o = run(seed) })
	return o
}

// expected lists what a run over many seeds must have seen.
func expected() []string {
	list := faultKinds()
	for d := succeeds; d <= cancels; d++ {
		list = append(list, "handler "+d.String())
	}
	return append(list, "insert duplicate", "insert repeated", "key kept",
		"duplicate of a task that has ended", "submit_claimed", "claim_local",
		"apply conflict", "apply not_due", "apply key_busy", "stop", "time_out", "lose", "recover",
		"retry", "hand_back", "claim handed back", "ask_cancel", "cancel", "executor lost",
		"skipped overlap", "superseded", "replaced", "skipped superseded", "fires collapsed",
		"fire skipped request", "fire skipped misfire", "missed fires run one by one",
		"job paused", "job resumed", "answer lost: steer job",
		"fire of a changed job", "slots full", "dead exhausted", "dead permanent", "dead poison",
		"held lost", "held unreported", "held interrupted", "rerun", "settle", "give_up", "redrive",
		"trigger", "reschedule", "expire", "skipped late",
		"suspect runs", "note", "answer lost: note",
		"answer lost: insert", "answer lost: apply", "answer lost: fire",
		"answer lost: install", "answer lost: register", "answer lost: acquire", "answer lost: put job")
}

// tally adds up what the seeds have seen.
type tally struct {
	mu     sync.Mutex
	seeds  int
	tasks  int
	failed int
	shown  bool
	seen   map[string]int
}

func (y *tally) add(o outcome) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.seen == nil {
		y.seen = map[string]int{}
	}
	for k, n := range o.seen {
		y.seen[k] += n
	}
	y.seeds++
	y.tasks += o.tasks
	if len(o.bad) > 0 {
		y.failed++
	}
}

func (y *tally) enough() bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.failed >= maxFailures
}

// once gives the trace of the first failure, and only the violations of the others.
func (y *tally) once(o outcome) string {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.shown {
		o.trace = nil
	}
	y.shown = true
	return o.text()
}

func (y *tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d seeds, %d tasks\n", y.seeds, y.tasks)
	var names []string
	for k := range y.seen {
		names = append(names, k)
	}
	slices.Sort(names)
	for _, k := range names {
		fmt.Fprintf(&b, "%8d  %s\n", y.seen[k], k)
	}
	return b.String()
}

// TestGoroutineLeftBehind: a run that leaves a goroutine breaks a promise.
func TestGoroutineLeftBehind(t *testing.T) {
	o := bubble(t, 1, func(uint64) outcome {
		go func() { <-make(chan struct{}) }()
		return outcome{}
	})
	if len(o.bad) != 1 || o.bad[0].rule != "I21" {
		t.Errorf("got %v, want one violation of I21", o.bad)
	}
}
