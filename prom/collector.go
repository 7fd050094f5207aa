package prom

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/task"
)

// Options says what a Collector keeps. The zero Options is right for most.
type Options struct {
	// MaxKinds is how many kinds get a label of their own, the first ones seen. Default: 100.
	MaxKinds int
	// CountEvery is how often the tasks in the table are counted, at most, for ax_tasks. Only the
	// leader counts, when it is scraped. Default: 1 min; negative: never.
	CountEvery time.Duration
	// CountLimit is where counting stops in each state: ax_tasks shows so many for so many or
	// more. Default: 100,000.
	CountLimit int64
}

// countTimeout is how long a scrape may wait for the table.
const countTimeout = 2 * time.Second

// Collector is a prometheus.Collector of one scheduler. All methods are safe for concurrent use.
type Collector struct {
	opt    Options
	events *events
	gauges gauges
	watch  atomic.Pointer[ax.Scheduler]

	mu      sync.Mutex // held while the table is counted: scrapes at the same time share the answer
	counted time.Time  // when the table was last counted, or tried
	tasks   map[ax.State]int64
}

// New returns a Collector that knows nothing yet.
func New(opt Options) *Collector {
	if opt.MaxKinds <= 0 {
		opt.MaxKinds = 100
	}
	if opt.CountEvery == 0 {
		opt.CountEvery = time.Minute
	}
	if opt.CountLimit <= 0 {
		opt.CountLimit = 100_000
	}
	return &Collector{opt: opt, events: newEvents(opt.MaxKinds), gauges: newGauges()}
}

// Observer returns what the scheduler must be made with, as ax.Config.Observer. To be told of the
// events as well, put it together with an observer of your own: m.Observer().And(own).
func (c *Collector) Observer() ax.Observer { return c.events.observer() }

// Watch says whose state the gauges show. Without it there are none.
func (c *Collector) Watch(s *ax.Scheduler) { c.watch.Store(s) }

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.events.all() {
		m.Describe(ch)
	}
	for _, d := range c.gauges.all() {
		ch <- d
	}
}

// Collect implements prometheus.Collector. It reads memory; once in Options.CountEvery the leader's
// also counts the tasks in the table, for at most 2 s.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	for _, m := range c.events.all() {
		m.Collect(ch)
	}
	s := c.watch.Load()
	if s == nil {
		return
	}
	st := s.Stats()
	c.gauges.collect(ch, st)
	if st.Leading && c.opt.CountEvery > 0 {
		c.gauges.collectTasks(ch, c.count(s))
	}
}

// count returns the number of tasks by state, or nil if the table does not answer.
func (c *Collector) count(s *ax.Scheduler) map[ax.State]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.counted.IsZero() || now.Sub(c.counted) >= c.opt.CountEvery {
		c.counted = now
		ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
		defer cancel()
		// An error is told to the observer, by the name of the call.
		c.tasks, _ = s.Count(ctx, c.opt.CountLimit)
	}
	return c.tasks
}

// gauges describes what is read from Stats when it is asked for.
type gauges struct {
	slots, used, zombies, unrecorded *prometheus.Desc
	leading, token, offset           *prometheus.Desc
	wheel, queue, oldest, tasks      *prometheus.Desc
	delayed                          *prometheus.Desc
}

func newGauges() gauges {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return gauges{
		slots: desc("ax_slots", "Handlers that may run at the same time in this process."),
		used:  desc("ax_slots_used", "Slots in use."),
		zombies: desc("ax_zombies",
			"Handlers that were told to stop and go on; they have no slot."),
		unrecorded: desc("ax_unrecorded_outcomes",
			"Outcomes that wait to be written; above 1,000 nothing starts."),
		leading: desc("ax_leading", "1 if this process makes tasks due, else 0."),
		token:   desc("ax_fencing_token", "Fencing token of the leader; on others 0."),
		offset: desc("ax_clock_offset_seconds",
			"How far the clock of the store is ahead of this machine's."),
		wheel: desc("ax_wheel_tasks",
			"Tasks of the next minutes in the leader's memory that are not due yet."),
		queue: desc("ax_queue_tasks", "Due tasks that wait for a slot, by bucket.", "bucket"),
		oldest: desc("ax_oldest_waiting_seconds",
			"How long the task that waits longest for a slot has been due; 0 if none waits."),
		delayed: desc("ax_retries_delayed_total",
			"Retries that the leader has put off because there were too many of them."),
		tasks: desc("ax_tasks", "Tasks in the table by state, as the leader last counted them; "+
			"counting stops at a limit.", "state"),
	}
}

func (g *gauges) all() []*prometheus.Desc {
	return []*prometheus.Desc{g.slots, g.used, g.zombies, g.unrecorded, g.leading, g.token,
		g.offset, g.wheel, g.queue, g.oldest, g.delayed, g.tasks}
}

// collect gives the gauges of any process; those of a leader are 0 on others, so that sums and
// maxima over all processes are right.
func (g *gauges) collect(ch chan<- prometheus.Metric, st ax.Stats) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	ch <- prometheus.MustNewConstMetric(g.delayed, prometheus.CounterValue,
		float64(st.RetriesDelayed))
	gauge(g.slots, float64(st.Slots))
	gauge(g.used, float64(st.Used))
	gauge(g.zombies, float64(st.Zombies))
	gauge(g.unrecorded, float64(st.Unrecorded))
	leading := 0.0
	if st.Leading {
		leading = 1
	}
	gauge(g.leading, leading)
	gauge(g.token, float64(st.Token))
	gauge(g.offset, st.ClockOffset.Seconds())
	gauge(g.wheel, float64(st.Wheel))
	gauge(g.queue, float64(st.Waiting[0]), "FIRST")
	for _, b := range task.Buckets() {
		gauge(g.queue, float64(st.Waiting[b]), b.String())
	}
	oldest := 0.0
	if !st.OldestDue.IsZero() {
		oldest = max(st.At.Sub(st.OldestDue), 0).Seconds()
	}
	gauge(g.oldest, oldest)
}

// collectTasks gives a number for each state a row can have, also where it is 0.
func (g *gauges) collectTasks(ch chan<- prometheus.Metric, n map[ax.State]int64) {
	if n == nil {
		return
	}
	for _, s := range task.States() {
		if s.Resting() {
			ch <- prometheus.MustNewConstMetric(g.tasks, prometheus.GaugeValue, float64(n[s]),
				s.String())
		}
	}
}
