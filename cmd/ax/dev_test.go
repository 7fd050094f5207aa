package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ax-sched/ax/internal/demo"
)

// TestDev plays the demo and reads its summary, and what the summary tells to look at.
func TestDev(t *testing.T) {
	t.Parallel()
	r := runAx(t, "", "dev", "--for", "5s", "--json")
	var s demo.Summary
	if err := json.Unmarshal([]byte(r.out), &s); err != nil || r.code != 0 {
		t.Fatalf("%v, %+v", err, r)
	}
	if !s.OK || len(s.NotRun) > 0 || s.Starts.Early > 0 || s.Starts.Count == 0 {
		t.Errorf("%+v", s)
	}
	if o := s.Orders; o.Placed == 0 || o.Paid+o.Closed > o.Placed {
		t.Errorf("orders %+v", o)
	}
	for name, f := range map[string]demo.Fires{"reconcile": s.Reconcile, "report": s.Report} {
		if f.Ran+f.Skipped != f.Fires {
			t.Errorf("%s %+v", name, f)
		}
	}
	if s.Reconcile.Ran == 0 || s.Report.Skipped > 0 {
		t.Errorf("reconcile %+v, report %+v", s.Reconcile, s.Report)
	}
	r = runAx(t, "", "tasks", "show", s.Sample, "--db", s.Database)
	if r.code != 0 || !strings.Contains(r.out, "SUCCEEDED") {
		t.Errorf("%+v", r)
	}
	total := 0
	for _, n := range s.Tasks {
		total += n
	}
	if ts := tasksOf(t, s.Database, "--limit", "1000"); len(ts) != total || total == 0 {
		t.Errorf("%d tasks in the database, %d in the summary", len(ts), total)
	}
}

// TestDevStory waits for each sort of event, then stops the demo as a person does.
func TestDevStory(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	p := start(t, "dev", "--listen", addr, "--db", "sqlite:"+filepath.Join(t.TempDir(), "ax.db"))
	p.await("A scheduler at work on sqlite:")
	awaitAll(p, "order 1    placed", "attempt 2 failed", "attempt 3 succeeded",
		"charge     dead (permanent): the card is blocked", "reconcile  started",
		"reconcile  skipped", "reconcile  done", "order 1    time-out: was paid",
		"order 2    time-out: not paid", "report     cron job")
	res, err := http.Get("http://" + addr + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if res.Body.Close(); err != nil || res.StatusCode != 200 || string(body) != "ok\n" {
		t.Errorf("%d %q, %v", res.StatusCode, body, err)
	}
	p.signal(syscall.SIGINT)
	if code := p.wait(); code != 0 {
		t.Errorf("exit status %d\n%s\n%s", code, p.transcript(), p.errs.String())
	}
	for _, want := range []string{"tasks      ", "paid in time", "fires ran", "none early",
		"SUCCEEDED, attempt 3, 2 failed before", "DEAD (permanent)", " tasks show "} {
		if !strings.Contains(p.transcript(), want) {
			t.Errorf("no %q in\n%s", want, p.transcript())
		}
	}
}

// awaitAll reads until every text was seen, in any order.
func awaitAll(p *process, texts ...string) {
	p.t.Helper()
	for _, x := range texts {
		if !strings.Contains(p.transcript(), x) {
			p.await(x)
		}
	}
}
