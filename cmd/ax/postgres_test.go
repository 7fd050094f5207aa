package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/ax-sched/ax/internal/demo"
	"github.com/ax-sched/ax/internal/testdb"
)

// TestDevOnPostgres plays the demo on a server.
func TestDevOnPostgres(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	r := runAx(t, "", "dev", "--for", "3s", "--json", "--db", dsn)
	var s demo.Summary
	if err := json.Unmarshal([]byte(r.out), &s); err != nil || r.code != 0 || !s.OK {
		t.Fatalf("%v, %+v", err, r)
	}
	if ts := tasksOf(t, dsn, "--state", "succeeded"); len(ts) == 0 {
		t.Errorf("no tasks; summary %+v", s)
	}
}

// TestRunOnPostgres: two daemons with the same file share its jobs; when one stops, the other goes
// on, and no fire runs twice.
func TestRunOnPostgres(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	path, _ := crontabFile(t, "@every 1s echo tick")
	first := start(t, "run", "-f", path, "--db", dsn)
	name := strings.Fields(first.await("is " + path + ":1"))[1]
	first.await("| tick")
	second := start(t, "run", "-f", path, "--db", dsn)
	second.await("is " + path + ":1")
	first.await("| tick")
	first.signal(syscall.SIGTERM)
	if code := first.wait(); code != 0 {
		t.Errorf("exit status %d\n%s", code, first.transcript())
	}
	second.await("| tick")
	second.signal(syscall.SIGTERM)
	if code := second.wait(); code != 0 {
		t.Errorf("exit status %d\n%s", code, second.transcript())
	}
	ts := tasksOf(t, dsn, "--job", name, "--limit", "1000")
	fires := map[string]bool{}
	for _, x := range ts {
		if x.FireTime == nil || fires[*x.FireTime] {
			t.Errorf("fire time of %+v is not its own", x)
			continue
		}
		fires[*x.FireTime] = true
	}
	ran := strings.Count(first.transcript()+second.transcript(), "| tick")
	if ran > len(ts) {
		t.Errorf("%d runs of %d fires", ran, len(ts))
	}
}
