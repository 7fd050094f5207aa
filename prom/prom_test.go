package prom_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/observe"
	"github.com/ax-sched/ax/prom"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

var quiet = slog.New(slog.DiscardHandler)

// counting is a memory store that notes how often its tasks are counted.
type counting struct {
	*memory.Store
	mu     sync.Mutex
	counts int
	err    error
}

func (s *counting) Count(ctx context.Context, limit int64) (map[task.State]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts++
	if s.err != nil {
		return nil, s.err
	}
	return s.Store.Count(ctx, limit)
}

// run runs f in fake time with a scheduler that m watches.
func run(t *testing.T, m *prom.Collector, cfg ax.Config, setup func(*ax.Scheduler),
	f func(a *ax.Scheduler, st *counting)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st := &counting{Store: memory.New(memory.Options{})}
		cfg.Logger, cfg.Clock, cfg.Seed, cfg.Observer = quiet, time.Now, 1, m.Observer()
		a, err := ax.New(st, cfg)
		if err != nil {
			t.Fatal(err)
		}
		m.Watch(a)
		setup(a)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		synctest.Wait()
		f(a, st)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// compare gathers the metrics with these names and compares them with a file of testdata.
func compare(t *testing.T, m *prom.Collector, file string, names ...string) {
	t.Helper()
	want, err := os.Open(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(m)
	if err := testutil.GatherAndCompare(reg, want, names...); err != nil {
		t.Error(err)
	}
}

// TestScrape: what a scheduler did and what it holds is what a scrape shows.
func TestScrape(t *testing.T) {
	m := prom.New(prom.Options{})
	run(t, m, ax.Config{Slots: 1}, func(a *ax.Scheduler) {
		a.Handle("good", func(context.Context, *ax.Task) error {
			time.Sleep(2 * time.Second)
			return nil
		})
		a.Handle("bad", func(context.Context, *ax.Task) error { return errors.New("no") },
			ax.MaxRetries(0))
	}, func(a *ax.Scheduler, _ *counting) {
		for i := range 4 {
			n := ax.NewTask{Kind: "good", Key: fmt.Sprint(i)}
			if i == 3 {
				n.Delay = time.Minute
			}
			if _, err := a.Submit(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := a.Submit(t.Context(), ax.NewTask{Kind: "bad", Priority: ax.Low}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		// One good one has ended, the second runs; the third and the bad one have waited for 3 s.
		compare(t, m, "backlog.txt", "ax_slots", "ax_slots_used", "ax_wheel_tasks", "ax_queue_tasks",
			"ax_oldest_waiting_seconds", "ax_leading", "ax_fencing_token", "ax_tasks",
			"ax_clock_offset_seconds")
		time.Sleep(time.Hour)
		compare(t, m, "ended.txt", "ax_attempts_total", "ax_dead_total", "ax_task_failed_attempts",
			"ax_refused_moves_total", "ax_dispatch_failures_total", "ax_leader_changes_total",
			"ax_retries_total", "ax_run_seconds", "ax_trigger_delay_seconds")
	})
}

// TestCountsAreRare: scrapes do not read the table more often than CountEvery says, a failure is
// no reason to hurry, and who does not lead never does.
func TestCountsAreRare(t *testing.T) {
	for _, c := range []struct {
		every time.Duration
		err   error
		want  int // in 10 minutes of a scrape every 10 s
	}{{0, nil, 10}, {5 * time.Minute, nil, 2}, {0, errors.New("no connection"), 10}, {-1, nil, 0}} {
		m := prom.New(prom.Options{CountEvery: c.every})
		var counts int
		run(t, m, ax.Config{}, func(*ax.Scheduler) {}, func(_ *ax.Scheduler, st *counting) {
			st.err = c.err
			for range 60 {
				shown := testutil.CollectAndCount(m, "ax_tasks")
				if (shown > 0) != (c.want > 0 && c.err == nil) {
					t.Errorf("every %s, %v: %d states are shown", c.every, c.err, shown)
				}
				time.Sleep(10 * time.Second)
			}
			counts = st.counts
		})
		if counts != c.want {
			t.Errorf("every %s: counted %d times, want %d", c.every, counts, c.want)
		}
		// It leads no more.
		if n := testutil.CollectAndCount(m, "ax_tasks"); n != 0 {
			t.Errorf("a process that does not lead shows %d states", n)
		}
	}
}

// TestKindsAreBounded: the first kinds have their label, also when many come at the same time, all
// others share one, and nothing else of a task or of an executor becomes a label (O01, O02).
func TestKindsAreBounded(t *testing.T) {
	const most, all = 5, 200
	m := prom.New(prom.Options{MaxKinds: most})
	o := m.Observer()
	var g sync.WaitGroup
	for i := range all {
		g.Go(func() {
			x := observe.Task{ID: task.ID{byte(i)}, Kind: fmt.Sprintf("kind-%d", i),
				Key: fmt.Sprintf("key-%d", i), Job: fmt.Sprintf("job-%d", i)}
			for range 2 {
				o.Started(observe.Started{Task: x})
				o.Ended(observe.Ended{Task: x, Outcome: task.OutSucceeded})
				o.Retried(observe.Retried{Task: x})
				o.Dead(observe.Dead{Task: x, Reason: task.Exhausted})
				o.Held(observe.Held{Task: x})
				o.Skipped(observe.Skipped{Task: x, Reason: task.Overlapped})
				o.Recovered(observe.Recovered{Task: x, Executor: "n1"})
			}
		})
	}
	g.Wait()
	o.Held(observe.Held{Task: observe.Task{Kind: "broken\xff"}}) // beyond, and must not panic
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(m)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	kinds, attempts := map[string]bool{}, 0.0
	for _, f := range families {
		for _, metric := range f.GetMetric() {
			for _, l := range metric.GetLabel() {
				if !slices.Contains([]string{"kind", "reason", "outcome"}, l.GetName()) {
					t.Errorf("%s has a label %s", f.GetName(), l.GetName())
				}
				if l.GetName() == "kind" {
					kinds[l.GetValue()] = true
				}
			}
			if f.GetName() == "ax_attempts_total" {
				attempts += metric.GetCounter().GetValue()
			}
		}
	}
	if len(kinds) != most+1 || !kinds["other"] {
		t.Errorf("labels of kinds: %v, want %d and other", kinds, most)
	}
	if attempts != 2*all {
		t.Errorf("%v attempts are counted, want %d", attempts, 2*all)
	}
}

// TestAnswersAreNoErrors: a stand-by that meets the leader's lease every second is healthy.
func TestAnswersAreNoErrors(t *testing.T) {
	m := prom.New(prom.Options{})
	o := m.Observer()
	for _, err := range []error{nil, store.ErrNotFound, fmt.Errorf("acquire: %w",
		&lease.HeldError{Holder: "n1"}), context.Canceled, store.ErrFenced, store.ErrBusy} {
		o.StoreCall(observe.StoreCall{Verb: "v", Took: time.Millisecond, Err: err})
	}
	for part, n := range map[string]int{"dispatch": 2, "trigger": 3} {
		for range n {
			o.Failed(observe.Failed{Part: part, Err: store.ErrBusy})
		}
	}
	o.HandedBack(observe.HandedBack{})
	o.Refused(observe.Failed{Part: "complete", Err: task.ErrIllegal})
	o.Leader(observe.Leader{Leading: true})
	o.Leader(observe.Leader{})
	compare(t, m, "faults.txt", "ax_store_errors_total", "ax_errors_total",
		"ax_dispatch_failures_total", "ax_refused_moves_total", "ax_leader_changes_total")
}

// everything returns a Collector each of whose metrics has a value.
func everything(t *testing.T) (families []string, problems []promlint.Problem) {
	t.Helper()
	m := prom.New(prom.Options{})
	run(t, m, ax.Config{}, func(*ax.Scheduler) {}, func(*ax.Scheduler, *counting) {
		o, x := m.Observer(), observe.Task{Kind: "k", State: task.Dead}
		o.Started(observe.Started{Task: x})
		o.Ended(observe.Ended{Task: x, Outcome: task.OutFailed})
		o.Retried(observe.Retried{Task: x})
		o.Dead(observe.Dead{Task: x})
		o.Held(observe.Held{Task: x})
		o.Skipped(observe.Skipped{Task: x})
		o.Recovered(observe.Recovered{Task: x})
		o.Failed(observe.Failed{Part: "dispatch"})
		o.StoreCall(observe.StoreCall{Verb: "v", Err: store.ErrBusy})
		reg := prometheus.NewPedanticRegistry()
		reg.MustRegister(m)
		fs, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fs {
			families = append(families, f.GetName())
		}
		if problems, err = promlint.NewWithMetricFamilies(fs).Lint(); err != nil {
			t.Fatal(err)
		}
	})
	return families, problems
}

// TestNames: names, units and help texts are as Prometheus wants them, and docs/metrics.md lists
// each metric and no other.
func TestNames(t *testing.T) {
	families, problems := everything(t)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	doc, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(doc), "## What to watch")
	var listed []string
	for line := range strings.Lines(table) {
		if name, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | "); name != line {
			listed = append(listed, regexp.MustCompile(`ax_\w+`).FindAllString(name, -1)...)
		}
	}
	slices.Sort(listed)
	if !slices.Equal(listed, families) {
		t.Errorf("docs/metrics.md lists\n%q, there are\n%q", listed, families)
	}
	for _, name := range regexp.MustCompile(`ax_\w+`).FindAllString(string(doc), -1) {
		base := strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")
		if !slices.Contains(families, name) && !slices.Contains(families, base) {
			t.Errorf("docs/metrics.md speaks of %s, which does not exist", name)
		}
	}
}
