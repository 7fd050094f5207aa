package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/show"
)

// jobsOf writes a file of jobs named ax.yaml and returns its path and a DSN beside it.
func jobsOf(t *testing.T, lines ...string) (path, dsn string) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "ax.yaml")
	writeLines(t, path, lines...)
	return path, "sqlite:" + filepath.Join(dir, "ax.db")
}

func end(t *testing.T, p *process) {
	t.Helper()
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exit status %d\n%s\n%s", code, p.transcript(), p.errs.String())
	}
}

// TestRunJobs runs commands of a file of jobs, beside a crontab.
func TestRunJobs(t *testing.T) { // not parallel: it sets variables of the environment
	t.Setenv("AX_TEST_TOKEN", "from outside")
	t.Setenv("AX_TEST_OTHER", "not for commands")
	tab, _ := crontabFile(t, "@reboot echo of the crontab")
	path, dsn := jobsOf(t,
		"tz: Asia/Tokyo",
		"jobs:",
		"  boot:",
		`    shell: 'cat; echo "$TOKEN|$PLAIN|$AX_TEST_OTHER"; pwd'`,
		"    input: given",
		"    env: {TOKEN: '${AX_TEST_TOKEN}', PLAIN: '$${X}'}",
		"    dir: /",
		"    schedule: '@reboot'",
		"    labels: {team: a}",
		"  args:",
		"    command: [printf, '%s;', 'a b', $HOME]",
		"    schedule: {every: 1s}",
		"  fails:",
		"    shell: echo reason >&2; exit 3",
		"    schedule: '@reboot'",
		"    max_retries: 1",
		"    retry: {kind: fixed, delay: 10ms}",
		"  late: {shell: 'true', schedule: {cron: 0 0 1 1 *}}",
		"  slow:",
		"    command: [/bin/sh, -c, 'echo pid $$; exec sleep 600']",
		"    schedule: '@reboot'",
		"    timeout: 300ms",
		"  paused: {shell: echo never, schedule: {every: 1s}, paused: true}",
	)
	p := start(t, "run", "-f", path, "-f", tab, "--db", dsn)
	p.await("1 line and 6 jobs of 2 files")
	p.await("boot", "is "+path+":3: @reboot cat; echo")
	p.await("late", "is "+path+":18: 0 0 1 1 * Asia/Tokyo true; next 20", "-12-31T15:00:00Z")
	p.await("paused", "is "+path, "echo never; paused")
	for range 3 {
		p.await("succeeded")
	}
	p.await("args", "succeeded")
	for !strings.Contains(p.transcript(), "attempt 2") || strings.Count(p.transcript(),
		"fails failed") < 2 || !strings.Contains(p.transcript(), "slow failed") {
		p.await("fail")
	}
	end(t, p)
	for _, want := range []string{"| givenfrom outside|${X}|", "| /", "| a b;$HOME;",
		"| of the crontab"} {
		if !strings.Contains(p.transcript(), want) {
			t.Errorf("no %q in\n%s", want, p.transcript())
		}
	}
	for _, not := range []string{"not for commands", "| never"} {
		if strings.Contains(p.transcript(), not) {
			t.Errorf("%q in\n%s", not, p.transcript())
		}
	}
	for _, ts := range [][]show.Task{tasksOf(t, dsn, "--key", "@reboot fails")} {
		if len(ts) != 1 || ts[0].State != "DEAD" || ts[0].Attempt != 2 ||
			ts[0].Error != "exit status 3: reason" || ts[0].Kind != "ax.command" {
			t.Errorf("tasks %+v", ts)
		}
	}
	slow := tasksOf(t, dsn, "--key", "@reboot slow")
	if len(slow) != 1 || slow[0].State != "DEAD" || slow[0].LastOutcome != "timeout" {
		t.Errorf("tasks %+v", slow)
	}
	boot := tasksOf(t, dsn, "--key", "@reboot boot")
	if len(boot) != 1 || boot[0].State != "SUCCEEDED" || boot[0].Labels["team"] != "a" ||
		boot[0].Labels["ax.run"] != "crontab" {
		t.Errorf("tasks %+v", boot)
	}
}

// TestRunHTTP: a call is repeated with the same key until it succeeds, and no secret is printed.
func TestRunHTTP(t *testing.T) { // not parallel: it sets a variable of the environment
	t.Setenv("AX_TEST_TOKEN", "hidden-7")
	var calls atomic.Int64
	keys := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen := fmt.Sprint(r.Method, " ", r.URL, " ", r.Header.Get("Authorization"), " ",
			r.Header.Get("Content-Type"), " ", string(body))
		if r.URL.Path == "/gone" {
			http.Error(w, "no such thing for "+r.Header.Get("Authorization"), http.StatusGone)
			return
		}
		keys <- r.Header.Get("Ax-Task-Id") + "-" + r.Header.Get("Ax-Run") + " " +
			r.Header.Get("Idempotency-Key") + " " + r.Header.Get("Ax-Attempt")
		if calls.Add(1) == 1 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintln(w, "seen:", seen)
	}))
	defer server.Close()
	path, dsn := jobsOf(t,
		"jobs:",
		"  hook:",
		"    http:",
		"      url: "+server.URL+"/hook?k=${AX_TEST_TOKEN}",
		"      headers: {Authorization: 'Bearer ${AX_TEST_TOKEN}'}",
		"      body: {n: 12345678901234567890}",
		"    schedule: '@reboot'",
		"  gone:",
		"    http: {url: '"+server.URL+"/gone', headers: {Authorization: '${AX_TEST_TOKEN}'}}",
		"    schedule: '@reboot'",
	)
	p := start(t, "run", "-f", path, "--db", dsn)
	p.await("hook", "is "+path+":2: @reboot POST "+server.URL+"/hook?k=${AX_TEST_TOKEN}")
	p.await("hook failed", "503 Service Unavailable: seen: POST /hook?k=*** Bearer ***")
	p.await(`| seen: POST /hook?k=*** Bearer *** application/json {"n":12345678901234567890}`)
	p.await("hook succeeded")
	if !strings.Contains(p.transcript(), "gone failed") {
		p.await("gone failed")
	}
	end(t, p)
	if strings.Contains(p.transcript(), "hidden-7") {
		t.Errorf("the secret was printed:\n%s", p.transcript())
	}
	ts := tasksOf(t, dsn, "--key", "@reboot hook")
	if len(ts) != 1 || ts[0].State != "SUCCEEDED" || ts[0].Attempt != 2 || ts[0].Kind != "ax.http" {
		t.Fatalf("tasks %+v", ts)
	}
	for attempt := range 2 {
		key := ts[0].ID + "-1"
		if got, want := <-keys, fmt.Sprintf("%s %s %d", key, key, attempt+1); got != want {
			t.Errorf("call %d: %s, want %s", attempt, got, want)
		}
	}
	gone := tasksOf(t, dsn, "--key", "@reboot gone")
	if len(gone) != 1 || gone[0].State != "DEAD" || gone[0].Reason != "permanent" ||
		gone[0].Error != "410 Gone: no such thing for ***" {
		t.Errorf("tasks %+v", gone)
	}
	db, err := os.ReadFile(strings.TrimPrefix(dsn, "sqlite:"))
	if err != nil || strings.Contains(string(db), "hidden-7") {
		t.Errorf("the secret is in the database, or error %v", err)
	}
}

// TestRunJobsReload: SIGHUP takes jobs in, changes and deletes them; a task that was made for what
// a job did before does not do something else.
func TestRunJobsReload(t *testing.T) {
	t.Parallel()
	path, dsn := jobsOf(t, "jobs:", "  up: {shell: echo up, schedule: '@reboot'}",
		"  a: {shell: echo a, schedule: {every: 1h}}", "  b: {shell: echo b, schedule: {every: 1h}}")
	p := start(t, "run", "-f", path, "--db", dsn)
	p.await("up succeeded") // so the signal is awaited
	writeLines(t, path, "jobs:", "  a: {shel: echo a, schedule: {every: 1h}}")
	p.signal(syscall.SIGHUP)
	p.await("not read again", path+`:2: job a: key "shel" is unknown; is shell meant?`)
	writeLines(t, path, "jobs: {a: {shell: echo new, schedule: {every: 1s}, paused: false}}")
	p.signal(syscall.SIGHUP)
	p.await("read again: 1 job of 1 file")
	p.await("b is no longer in the files: deleted")
	p.await("| new")
	end(t, p)
	if strings.Contains(p.transcript(), "| a") || strings.Contains(p.transcript(), "| b") {
		t.Errorf("an old job ran:\n%s", p.transcript())
	}
}

// TestRunLeavesOthers: a job that ax run has not made is not replaced.
func TestRunLeavesOthers(t *testing.T) {
	t.Parallel()
	path, dsn := jobsOf(t, "jobs:", "  settle: {shell: echo no, schedule: {every: 1s}}")
	withStore(t, dsn, func(s *ax.Scheduler) error {
		return s.PutJob(t.Context(), ax.JobSpec{Name: "settle", Kind: "other",
			Schedule: ax.Every(time.Hour)})
	})
	r := runAx(t, "", "run", "-f", path, "--db", dsn, "--for", "1s")
	if r.code != 1 || !strings.Contains(r.errs, path+":2: there is a job settle in this database "+
		"that these files have not made") {
		t.Errorf("%+v", r)
	}
	if jobs := storedJobs(t, dsn); len(jobs) != 1 || jobs[0].Kind != "other" {
		t.Errorf("jobs %+v", jobs)
	}
	// With a name of its own it has jobs of its own.
	p := start(t, "run", "-f", path, "--db", dsn, "--name", "mine")
	p.await("mine/settle", "| no")
	end(t, p)
}
