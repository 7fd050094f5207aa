package demo

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

func testOrders(t *testing.T) *orders {
	t.Helper()
	o, err := openOrders(t.Context(), filepath.Join(t.TempDir(), "orders.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// TestHandlersLookFirst: the time-out of an order leaves alone what was paid, and so does a second
// run of it; what is closed cannot be paid.
func TestHandlersLookFirst(t *testing.T) {
	o, ctx := testOrders(t), t.Context()
	for id := 1; id <= 3; id++ {
		if err := o.place(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, got bool, err error, want bool) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("%s: %t, error %v; want %t", what, got, err, want)
		}
	}
	ok, err := o.pay(ctx, 1)
	check("pay 1", ok, err, true)
	ok, err = o.closeUnpaid(ctx, "1")
	check("close paid 1", ok, err, false)
	ok, err = o.closeUnpaid(ctx, "2")
	check("close unpaid 2", ok, err, true)
	ok, err = o.closeUnpaid(ctx, "2")
	check("close 2 again", ok, err, false)
	ok, err = o.pay(ctx, 2)
	check("pay closed 2", ok, err, false)
	c, err := o.count(ctx)
	if want := (Orders{Placed: 3, Paid: 1, Closed: 1}); err != nil || c != want {
		t.Errorf("%+v, error %v; want %+v", c, err, want)
	}
	if _, err := o.closeUnpaid(ctx, "x"); err == nil {
		t.Error("no error for an order that is no number")
	}
}

// TestRun plays on a memory store until every sort of event was told, then stops it.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &watcher{missing: []string{"placed", "paid", "not paid, so it is closed",
		"was paid, so nothing to do", "attempt 3 succeeded", "dead (permanent)",
		"reconcile  skipped", "report"}, all: cancel}
	var errs bytes.Buffer
	s, err := Run(ctx, Config{Store: memory.New(memory.Options{}), Database: "memory", For: time.Hour,
		Orders: filepath.Join(t.TempDir(), "orders.db"), Out: out, Errors: &errs})
	if err != nil || s.Err() != nil || errs.Len() > 0 {
		t.Fatalf("%+v, error %v, %s", s, err, errs.String())
	}
	if len(out.missing) > 0 || !s.OK || s.Sample == "" || s.Reconcile.Skipped == 0 ||
		s.Tasks[task.Dead.String()] != 1 || s.Starts.Count == 0 || s.Starts.Early > 0 {
		t.Errorf("not told: %q, %+v", out.missing, s)
	}
	var b strings.Builder
	if err := s.Print(&b, "ax"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"SUCCEEDED", "1 DEAD", "ax tasks show " + s.Sample + " --db memory",
		"none early", "SUCCEEDED, attempt 3, 2 failed before", "the card is blocked"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// watcher calls all when every text was written. The teller writes one line at a time.
type watcher struct {
	missing []string
	all     func()
}

func (w *watcher) Write(p []byte) (int, error) {
	for i, x := range w.missing {
		if strings.Contains(string(p), x) {
			w.missing = append(w.missing[:i:i], w.missing[i+1:]...)
			break
		}
	}
	if len(w.missing) == 0 {
		w.all()
	}
	return len(p), nil
}

// TestSummaryNamesWhatDidNotRun: the exit status of the demo hangs on it.
func TestSummaryNamesWhatDidNotRun(t *testing.T) {
	if err := (&Summary{NotRun: []string{"a", "b"}}).Err(); err == nil ||
		!strings.Contains(err.Error(), "2 tasks were due and did not run: a b") {
		t.Errorf("error %v", err)
	}
	early := &Summary{Starts: Starts{Early: 3}}
	var b strings.Builder
	if err := early.Print(&b, "ax"); err != nil || early.Err() == nil ||
		!strings.Contains(b.String(), "3 EARLY") {
		t.Errorf("error %v, %v: %s", err, early.Err(), b.String())
	}
}

// TestOwed: what runs, and what was due, is owed; what is due later is not.
func TestOwed(t *testing.T) {
	d := &demo{stopped: time.Unix(100, 0)}
	for _, c := range []struct {
		state task.State
		at    int64
		want  bool
	}{
		{task.Scheduled, 99, true}, {task.Scheduled, 100, true}, {task.Scheduled, 101, false},
		{task.Running, 50, true}, {task.Succeeded, 50, false}, {task.Dead, 50, false},
	} {
		var x task.Task
		x.State, x.RunAt = c.state, task.Time(c.at*1e6)
		if d.owed(x) != c.want {
			t.Errorf("%s at %d: owed %t", c.state, c.at, !c.want)
		}
	}
}

func TestStarts(t *testing.T) {
	var s starts
	if got := s.sum(); got != (Starts{}) {
		t.Errorf("of none: %+v", got)
	}
	for i := range 200 {
		s.add(time.Duration(200-i) * time.Millisecond)
	}
	if got, want := s.sum(), (Starts{Count: 200, P50: 101, P99: 199}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestPace: a short demo shows all a long one does.
func TestPace(t *testing.T) {
	for _, total := range []time.Duration{0, time.Second, 5 * time.Second, 20 * time.Second,
		time.Hour} {
		p := paceFor(total)
		end := orderCount*p.place + p.timeout
		if p.place <= 0 || p.timeout <= 0 || p.retry < time.Millisecond || total > 0 && end > total {
			t.Errorf("%s: %+v ends after %s", total, p, end)
		}
	}
}
