package prom

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/observe"
	"github.com/ax-sched/ax/store"
)

// events are the metrics that count what the observer is told.
type events struct {
	kinds kinds

	delay    *prometheus.HistogramVec
	run      *prometheus.HistogramVec
	failures *prometheus.HistogramVec
	store    *prometheus.HistogramVec

	attempts, retries, dead, held, skipped, recovered *prometheus.CounterVec
	dispatch, errors, storeErrors                     *prometheus.CounterVec
	refused, leaders                                  prometheus.Counter
}

func newEvents(maxKinds int) *events {
	hist := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help,
			Buckets: buckets}, labels)
	}
	count := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	single := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	// From what a healthy scheduler shows to what an operator is woken for: a millisecond to hours.
	long := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300,
		1800, 3600, 4 * 3600}
	short := []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	v := &events{kinds: kinds{most: maxKinds, names: map[string]string{}},
		delay: hist("ax_trigger_delay_seconds",
			"How much later than it was due the handler of an attempt was called.", long, "kind"),
		run: hist("ax_run_seconds", "How long handlers ran.", long, "kind"),
		failures: hist("ax_task_failed_attempts", "Failed attempts of tasks when they ended, "+
			"whatever their end: the distribution of retries.",
			[]float64{0, 1, 2, 3, 4, 5, 8, 13, 21, 34}, "kind"),
		store: hist("ax_store_call_seconds",
			"How long calls of the store, the leases and the registry took.", short, "verb"),
		attempts: count("ax_attempts_total", "Attempts that ended, by their recorded outcome.",
			"kind", "outcome"),
		retries:   count("ax_retries_total", "Failed attempts that are tried again.", "kind"),
		dead:      count("ax_dead_total", "Tasks that became DEAD.", "kind", "reason"),
		held:      count("ax_held_total", "Tasks that became HELD: a person must decide.", "kind"),
		skipped:   count("ax_skipped_total", "Due tasks that a policy did not run.", "kind", "reason"),
		recovered: count("ax_recovered_total", "Tasks taken back from executors that are gone.", "kind"),
		dispatch: count("ax_dispatch_failures_total", "Claims that failed: with an error of the "+
			"store, or because the claimed task could not be started.", "reason"),
		errors: count("ax_errors_total", "Errors that parts of the scheduler met and went on from.",
			"part"),
		storeErrors: count("ax_store_errors_total", "Calls of the store, the leases and the registry "+
			"that failed; answers such as not found are none.", "verb"),
		refused: single("ax_refused_moves_total",
			"Moves the store refused as illegal. More than 0 is an error in ax."),
		leaders: single("ax_leader_changes_total", "Times this process became the leader."),
	}
	for _, reason := range []string{"error", "not_started"} {
		v.dispatch.WithLabelValues(reason)
	}
	return v
}

func (v *events) all() []prometheus.Collector {
	return []prometheus.Collector{v.delay, v.run, v.failures, v.store, v.attempts, v.retries, v.dead,
		v.held, v.skipped, v.recovered, v.dispatch, v.errors, v.storeErrors, v.refused, v.leaders}
}

// observer returns the functions that count.
func (v *events) observer() ax.Observer {
	kind := v.kinds.label
	return ax.Observer{
		Started: func(e observe.Started) {
			v.delay.WithLabelValues(kind(e.Kind)).Observe(e.Late.Seconds())
		},
		Ended:   v.ended,
		Retried: func(e observe.Retried) { v.retries.WithLabelValues(kind(e.Kind)).Inc() },
		Dead: func(e observe.Dead) {
			v.dead.WithLabelValues(kind(e.Kind), e.Reason.String()).Inc()
		},
		Held: func(e observe.Held) { v.held.WithLabelValues(kind(e.Kind)).Inc() },
		Skipped: func(e observe.Skipped) {
			v.skipped.WithLabelValues(kind(e.Kind), e.Reason.String()).Inc()
		},
		Recovered:  func(e observe.Recovered) { v.recovered.WithLabelValues(kind(e.Kind)).Inc() },
		HandedBack: func(observe.HandedBack) { v.dispatch.WithLabelValues("not_started").Inc() },
		Failed: func(e observe.Failed) {
			v.errors.WithLabelValues(e.Part).Inc()
			if e.Part == "dispatch" {
				v.dispatch.WithLabelValues("error").Inc()
			}
		},
		Refused:   func(observe.Failed) { v.refused.Inc() },
		StoreCall: v.storeCall,
		Leader: func(e observe.Leader) {
			if e.Leading {
				v.leaders.Inc()
			}
		},
	}
}

func (v *events) ended(e observe.Ended) {
	kind := v.kinds.label(e.Kind)
	v.run.WithLabelValues(kind).Observe(e.Took.Seconds())
	v.attempts.WithLabelValues(kind, e.Outcome.String()).Inc()
	if e.State.Final() {
		v.failures.WithLabelValues(kind).Observe(float64(e.Failures))
	}
}

func (v *events) storeCall(e observe.StoreCall) {
	v.store.WithLabelValues(e.Verb).Observe(e.Took.Seconds())
	if fault(e.Err) {
		v.storeErrors.WithLabelValues(e.Verb).Inc()
	}
}

// fault reports whether an error is more than the answer to a question.
func fault(err error) bool {
	var held *lease.HeldError
	return err != nil && !errors.Is(err, store.ErrNotFound) && !errors.As(err, &held) &&
		!errors.Is(err, context.Canceled)
}

// other stands for all kinds beyond the first ones.
const other = "other"

// kinds gives each kind its label, and bounds how many there are.
type kinds struct {
	most int

	mu    sync.RWMutex
	names map[string]string
}

func (k *kinds) label(kind string) string {
	k.mu.RLock()
	name, ok := k.names[kind]
	full := len(k.names) >= k.most
	k.mu.RUnlock()
	switch {
	case ok:
		return name
	case full:
		return other
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if name, ok := k.names[kind]; ok {
		return name
	}
	if len(k.names) >= k.most {
		return other
	}
	name = strings.ToValidUTF8(kind, "?")
	k.names[strings.Clone(kind)] = name
	return name
}

var _ prometheus.Collector = (*Collector)(nil)
