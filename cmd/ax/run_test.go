package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/crontab"
	"github.com/ax-sched/ax/internal/show"
	"github.com/ax-sched/ax/store/sqlite"
)

// crontabFile writes a crontab named "tab" and returns its path and a DSN beside it.
func crontabFile(t *testing.T, lines ...string) (path, dsn string) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "tab")
	writeLines(t, path, lines...)
	return path, "sqlite:" + filepath.Join(dir, "ax.db")
}

func writeLines(t *testing.T, path string, lines ...string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tasks asks the program for tasks, newest first.
func tasksOf(t *testing.T, dsn string, flags ...string) []show.Task {
	t.Helper()
	r := runAx(t, "", append([]string{"tasks", "list", "--json", "--db", dsn}, flags...)...)
	var page struct{ Items []show.Task }
	if err := json.Unmarshal([]byte(r.out), &page); err != nil || r.code != 0 {
		t.Fatalf("tasks: %v, %+v", err, r)
	}
	return page.Items
}

func TestRunLines(t *testing.T) { // not parallel: it sets a variable of the environment
	t.Setenv("AX_TEST_SECRET", "not for commands")
	path, dsn := crontabFile(t,
		"MAILTO=root",
		`GREETING = "  two  blanks "`,
		`@reboot echo "boot:$GREETING:$AX_TEST_SECRET:$LOGNAME"; pwd`,
		"@every 1s cat%first%second \\% third",
		"@every 1s echo reason >&2; exit 3",
		"0 0 1 1 * true",
	)
	p := start(t, "run", "-f", path, "--db", dsn, "--tz", "Asia/Tokyo")
	p.await("4 lines of 1 file, times in Asia/Tokyo", dsn)
	p.await("note: " + path + ":1: MAILTO is ignored")
	p.await("tab:", "is "+path+":6: 0 0 1 1 * true", "next 20", "-12-31T15:00:00Z")
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	p.await("| boot:  two  blanks ::" + u.Username)
	p.await("| " + u.HomeDir)
	p.await("failed", "exit status 3: reason")
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exit status %d\n%s\n%s", code, p.transcript(), p.errs.String())
	}
	for _, want := range []string{"| first", "| second % third", "stopping", "stopped: "} {
		if !strings.Contains(p.transcript(), want) {
			t.Errorf("no %q in\n%s", want, p.transcript())
		}
	}
	if strings.Contains(p.transcript(), "not for commands") {
		t.Error("a command saw the environment of ax")
	}
	dead := tasksOf(t, dsn, "--state", "dead")
	if len(dead) == 0 || dead[0].Error != "exit status 3: reason" || dead[0].Reason != "exhausted" ||
		dead[0].Attempt != 1 || dead[0].Kind != "crontab" {
		t.Errorf("dead tasks %+v", dead)
	}
	if boot := tasksOf(t, dsn, "--state", "succeeded", "--limit", "1000"); len(boot) == 0 ||
		!strings.HasPrefix(boot[len(boot)-1].Key, "@reboot tab:") {
		t.Errorf("succeeded tasks %+v", boot)
	}
}

// TestRunFor stops by itself, also as JSON.
func TestRunFor(t *testing.T) {
	t.Parallel()
	path, dsn := crontabFile(t, "@reboot echo hello")
	r := runAx(t, "", "run", "-f", path, "--db", dsn, "--for", "2s", "--json")
	if r.code != 0 {
		t.Fatalf("%+v", r)
	}
	events := map[string]string{}
	for line := range strings.Lines(r.out) {
		var e record
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.At == "" {
			t.Fatalf("%q: %v", line, err)
		}
		events[e.Event] = e.Text
	}
	if events["output"] != "hello" || !strings.HasPrefix(events["succeeded"], "in ") {
		t.Errorf("events %q", events)
	}
}

// TestRunOverlap: a line that still runs is not started again.
func TestRunOverlap(t *testing.T) {
	t.Parallel()
	path, dsn := crontabFile(t, "@every 1s sleep 600")
	p := start(t, "run", "-f", path, "--db", dsn, "--grace", "1ms")
	p.await("started")
	p.await("skipped", "overlap")
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 || strings.Count(p.transcript(), " started ") != 1 {
		t.Errorf("exit status %d\n%s", code, p.transcript())
	}
}

// TestRunGrace: at a stop a command may end by itself.
func TestRunGrace(t *testing.T) {
	t.Parallel()
	flag := filepath.Join(t.TempDir(), "flag")
	path, dsn := crontabFile(t, fmt.Sprintf(
		`@reboot echo ready; while [ ! -e %s ]; do sleep 0.02; done; echo tidy`, flag))
	p := start(t, "run", "-f", path, "--db", dsn, "--grace", "10m")
	p.await("| ready")
	p.signal(syscall.SIGTERM)
	p.await("stopping")
	writeLines(t, flag)
	p.await("| tidy")
	p.await("succeeded")
	if code := p.wait(); code != 0 {
		t.Errorf("exit status %d\n%s", code, p.transcript())
	}
	if ts := tasksOf(t, dsn, "--state", "succeeded"); len(ts) != 1 {
		t.Errorf("tasks %+v", ts)
	}
}

// TestRunCutOff: what is still there after the grace is killed, handed back, and started again by
// the next process.
func TestRunCutOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, dsn := crontabFile(t, fmt.Sprintf(
		`@reboot trap '' TERM; echo pid $$; [ -e %[1]s/again ] || while :; do sleep 0.05; done`, dir))
	p := start(t, "run", "-f", path, "--db", dsn, "--grace", "1ms")
	pid := pidIn(t, p.await("| pid"))
	p.signal(syscall.SIGINT)
	if code := p.wait(); code != 0 {
		t.Errorf("exit status %d\n%s\n%s", code, p.transcript(), p.errs.String())
	}
	gone(t, pid)
	ts := tasksOf(t, dsn)
	if len(ts) != 1 || ts[0].State != "SCHEDULED" || ts[0].Failures != 0 {
		t.Fatalf("tasks %+v", ts)
	}
	writeLines(t, filepath.Join(dir, "again"))
	p = start(t, "run", "-f", path, "--db", dsn)
	p.await("started", ts[0].ID, "again: it was cut off")
	p.await("succeeded")
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exit status %d\n%s", code, p.transcript())
	}
	// The key let the old task stand for that of the second start.
	if ts := tasksOf(t, dsn); len(ts) != 1 || ts[0].State != "SUCCEEDED" || ts[0].Attempt != 2 {
		t.Errorf("tasks %+v", ts)
	}
}

// TestRunKilled: after kill -9 the record is there, the command is gone, and a new process goes on
// with the same jobs.
func TestRunKilled(t *testing.T) {
	t.Parallel()
	path, dsn := crontabFile(t, "@every 1s echo tick", "@reboot echo pid $$; exec sleep 600")
	p := start(t, "run", "-f", path, "--db", dsn)
	pid := pidIn(t, p.await("| pid"))
	line := p.await("tab:", "succeeded")
	name := strings.Fields(line)[1]
	// The event is printed before its record is durable.
	var before []show.Task
	for len(before) == 0 {
		p.await(name, "succeeded")
		before = tasksOf(t, dsn, "--job", name, "--state", "succeeded")
	}
	p.signal(syscall.SIGKILL)
	if code := p.wait(); code != -1 {
		t.Errorf("exit status %d", code)
	}
	gone(t, pid)
	p = start(t, "run", "-f", path, "--db", dsn, "--grace", "1ms")
	p.await(name, "succeeded")
	p.await(name, "succeeded")
	p.signal(syscall.SIGTERM)
	p.wait()
	after := tasksOf(t, dsn, "--job", name, "--state", "succeeded", "--limit", "1000")
	kept := slices.ContainsFunc(after, func(x show.Task) bool { return x.ID == before[0].ID })
	if !kept || len(after) <= len(before) {
		t.Errorf("kept %t, %d records before, %d after", kept, len(before), len(after))
	}
}

// TestRunReload: SIGHUP takes lines in and deletes jobs, but only those of ax run; wrong files
// change nothing.
func TestRunReload(t *testing.T) {
	t.Parallel()
	path, dsn := crontabFile(t, "@reboot true", "0 0 1 1 * echo old")
	withStore(t, dsn, func(s *ax.Scheduler) error {
		return s.PutJob(t.Context(), ax.JobSpec{Name: "foreign", Kind: "other",
			Schedule: ax.Cron("0 0 1 1 *")})
	})
	p := start(t, "run", "-f", path, "--db", dsn)
	p.await("0 0 1 1 * echo old")
	p.await("succeeded") // so the signal is awaited
	writeLines(t, path, "0 0 2 2 * echo new", "61 * * * * x")
	p.signal(syscall.SIGHUP)
	p.await("not read again", path+`:2:`)
	writeLines(t, path, "0 0 2 2 * echo new", "@every 1s echo fresh")
	p.signal(syscall.SIGHUP)
	p.await("read again: 2 lines of 1 file")
	p.await("is no longer in the files: deleted")
	p.await("0 0 2 2 * echo new")
	p.await("| fresh")
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exit status %d\n%s", code, p.transcript())
	}
	var names []string
	withStore(t, dsn, func(s *ax.Scheduler) error {
		jobs, err := s.Jobs(t.Context())
		for _, j := range jobs {
			names = append(names, j.Schedule.Cron)
		}
		return err
	})
	if want := []string{"0 0 1 1 *", "0 0 2 2 *", "@every 1s"}; !slices.Equal(names, want) {
		t.Errorf("schedules %q, want %q", names, want)
	}
}

func withStore(t *testing.T, dsn string, use func(s *ax.Scheduler) error) {
	t.Helper()
	st, err := sqlite.Open(strings.TrimPrefix(dsn, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := ax.New(st, ax.Config{})
	if err == nil {
		err = use(s)
	}
	if err != nil {
		t.Error(err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// TestRunRefusesForeignPayloads: the database cannot make ax run anything that is not in the files.
func TestRunRefusesForeignPayloads(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark")
	line := "0 0 1 1 * touch " + mark
	path, dsn := crontabFile(t, line)
	f, err := crontab.Parse(line, crontab.Options{Name: filepath.Base(path)})
	if err != nil {
		t.Fatal(err)
	}
	known := f.Entries[0].Name
	payloads := []string{"touch " + mark, `{"line":"tab:00000000","digest":"x"}`, `{}`, "",
		fmt.Sprintf(`{"line":%q,"digest":"of another command"}`, known),
		fmt.Sprintf(`{"line":"tab:00000000","digest":%q}`, f.Entries[0].Digest()),
		fmt.Sprintf(`{"line":%q,"digest":"","command":"touch %s"}`, known, mark)}
	withStore(t, dsn, func(s *ax.Scheduler) error {
		for _, x := range payloads {
			if _, err := s.Submit(t.Context(), ax.NewTask{Kind: "crontab", Payload: []byte(x)}); err != nil {
				return err
			}
		}
		return nil
	})
	p := start(t, "run", "-f", path, "--db", dsn)
	for range payloads {
		p.await("refused", "nothing was run")
	}
	p.signal(syscall.SIGTERM)
	p.wait()
	for _, x := range tasksOf(t, dsn) {
		if x.State != "DEAD" || x.Reason != "permanent" {
			t.Errorf("task %+v", x)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a payload was run")
	}
}

// TestRunCancel: a person ends a command from another process.
func TestRunCancel(t *testing.T) {
	t.Parallel()
	path, dsn := crontabFile(t, "@reboot echo pid $$; sleep 600; true")
	p := start(t, "run", "-f", path, "--db", dsn)
	pid := pidIn(t, p.await("| pid"))
	id := tasksOf(t, dsn, "--state", "running")[0].ID
	r := runAx(t, "", "tasks", "cancel", id, "--reason", "test", "--db", dsn)
	if r.code != 0 || !strings.Contains(r.out, "asked to end") {
		t.Fatalf("%+v", r)
	}
	p.await("canceled", "signal: terminated")
	gone(t, pid)
	p.signal(syscall.SIGTERM)
	p.wait()
	if ts := tasksOf(t, dsn); len(ts) != 1 || ts[0].State != "CANCELED" || ts[0].Reason != "request" {
		t.Errorf("tasks %+v", ts)
	}
}

// TestRunAsUser runs lines of the system form as their user, or refuses the file.
func TestRunAsUser(t *testing.T) {
	t.Parallel()
	const name = "nobody"
	path, dsn := crontabFile(t, "HOME=/", "@reboot "+name+" id -un; id -G")
	if os.Geteuid() != 0 {
		r := runAx(t, "", "run", "-f", path, "--system", "--db", dsn)
		if r.code != 2 || !strings.Contains(r.errs, path+":2: user \"nobody\": only root can") {
			t.Errorf("%+v", r)
		}
		return
	}
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := u.GroupIds()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, "run", "-f", path, "--system", "--db", dsn)
	p.await("| " + name)
	p.await("| " + strings.Join(groups, " "))
	p.await("succeeded")
}

// TestRunFolder reads a folder in the form of /etc/cron.d.
func TestRunFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two", "two.dpkg-old", ".placeholder", "two~"} {
		writeLines(t, filepath.Join(dir, name), "HOME=/", "@reboot "+u.Username+" echo this is "+name)
	}
	p := start(t, "run", "-f", dir, "--db", "sqlite:"+filepath.Join(t.TempDir(), "ax.db"))
	p.await("2 lines of 2 files")
	p.await("succeeded")
	p.await("succeeded")
	for _, want := range []string{"| this is one", "| this is two"} {
		if !strings.Contains(p.transcript(), want) {
			t.Errorf("no %q in\n%s", want, p.transcript())
		}
	}
}

// TestRunLocked: a second process on the same file does not run.
func TestRunLocked(t *testing.T) {
	t.Parallel()
	path, dsn := crontabFile(t, "@reboot echo up")
	p := start(t, "run", "-f", path, "--db", dsn)
	p.await("| up")
	for _, args := range [][]string{{"run", "-f", path}, {"dev", "--for", "1s"}} {
		r := runAx(t, "", append(args, "--db", dsn)...)
		if r.code != 1 || !strings.Contains(r.errs, "another process runs the tasks of this database") {
			t.Errorf("%q: %+v", args, r)
		}
	}
}
