package demo

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/ax-sched/ax/task"
)

// Fires is what became of the fires of a job.
type Fires struct {
	Fires   int `json:"fires"`
	Ran     int `json:"ran"`
	Skipped int `json:"skipped"` // the one before was still running
}

// Summary is what the demo has done, read from the tables at its end. Its JSON is stable.
type Summary struct {
	OK         bool           `json:"ok"` // all that was due ran, and nothing early
	DurationMS int64          `json:"duration_ms"`
	Database   string         `json:"database"`
	Sample     string         `json:"sample_task"` // a good one to show
	Tasks      map[string]int `json:"tasks"`
	Orders     Orders         `json:"orders"`
	Reconcile  Fires          `json:"reconcile"`
	Report     Fires          `json:"report"`
	Starts     Starts         `json:"starts"`
	NotRun     []string       `json:"not_run"` // ids of tasks that were due and did not run

	receipt, charge string
}

// summarize reads the table: what is printed is what is stored.
func (d *demo) summarize(ctx context.Context) (*Summary, error) {
	rows, err := d.rows(ctx)
	if err != nil {
		return nil, err
	}
	s := &Summary{DurationMS: d.tell.since().Milliseconds(), Database: d.cfg.Database,
		Tasks: map[string]int{}, Starts: d.starts.sum(), NotRun: []string{},
		receipt: "was not due", charge: "was not due"}
	if s.Orders, err = d.orders.count(ctx); err != nil {
		return nil, err
	}
	for i := range rows {
		t := &rows[i]
		s.Tasks[t.State.String()]++
		if d.owed(*t) {
			s.NotRun = append(s.NotRun, t.ID.String())
		}
		if t.State.Final() && t.StartedAt != 0 && t.StartedAt < t.RunAt {
			s.Starts.Early++
		}
		s.take(t)
	}
	s.OK = len(s.NotRun) == 0 && s.Starts.Early == 0
	return s, nil
}

// take counts one task under its kind.
func (s *Summary) take(t *task.Task) {
	count := func(j *Fires) {
		j.Fires++
		switch t.State {
		case task.Skipped:
			j.Skipped++
		case task.Succeeded:
			j.Ran++
		}
	}
	switch t.Kind {
	case kindReconcile:
		count(&s.Reconcile)
	case kindReport:
		count(&s.Report)
	case kindClose:
		if t.State == task.Succeeded && s.Sample == "" {
			s.Sample = t.ID.String()
		}
	case kindReceipt:
		s.receipt = fmt.Sprintf("%s, attempt %d, %d failed before", t.State, t.Attempt, t.Failures)
		s.Sample = t.ID.String() // has the longest history
	case kindCharge:
		s.charge = fmt.Sprintf("%s (%s): %s", t.State, t.Reason, t.Error)
	}
}

// Err is nil if the summary is OK, and names what did not run.
func (s *Summary) Err() error {
	switch {
	case len(s.NotRun) > 0:
		return fmt.Errorf("%d tasks were due and did not run: %s", len(s.NotRun),
			strings.Join(s.NotRun, " "))
	case s.Starts.Early > 0:
		return fmt.Errorf("%d tasks started before they were due", s.Starts.Early)
	}
	return nil
}

// Print writes it for a reader who knows nothing of ax; program is how to call the command ax.
func (s *Summary) Print(w io.Writer, program string) error {
	early := "none early"
	if s.Starts.Early > 0 {
		early = fmt.Sprintf("%d EARLY", s.Starts.Early)
	}
	lines := [][2]string{
		{"tasks", s.states()},
		{"orders", fmt.Sprintf("%d placed: %d paid in time, %d closed by their time-out",
			s.Orders.Placed, s.Orders.Paid, s.Orders.Closed)},
		{"reconcile", fmt.Sprintf("%d of %d fires ran, %d skipped because the run before still worked",
			s.Reconcile.Ran, s.Reconcile.Fires, s.Reconcile.Skipped)},
		{"report", fmt.Sprintf("%d of %d fires ran (cron %s)", s.Report.Ran, s.Report.Fires, reportCron)},
		{"receipt", s.receipt},
		{"charge", s.charge},
		{"starts", fmt.Sprintf("%d, later than due by: p50 %.1f ms, p99 %.1f ms; %s",
			s.Starts.Count, s.Starts.P50, s.Starts.P99, early)},
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nAfter %.1f s:\n\n", float64(s.DurationMS)/1000)
	for _, l := range lines {
		fmt.Fprintf(&b, "  %-10s %s\n", l[0], l[1])
	}
	if s.Sample != "" {
		fmt.Fprintf(&b, "\nAll is still in the database. The life of one task, and all of them:\n\n"+
			"  %s tasks show %s --db %s\n  %s tasks list --db %s\n", program, s.Sample, s.Database,
			program, s.Database)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// states lists the counts in the order of the states.
func (s *Summary) states() string {
	var parts []string
	for _, st := range task.States() {
		if n := s.Tasks[st.String()]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, st))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
