package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
	"github.com/google/go-cmp/cmp"
)

// TestJobsRoundTrip: a file that export has written changes nothing where it comes from, and makes
// the same jobs elsewhere.
func TestJobsRoundTrip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dsn, other := "sqlite:"+filepath.Join(dir, "ax.db"), "sqlite:"+filepath.Join(dir, "other.db")
	minute := ax.Every(time.Minute)
	withStore(t, dsn, func(s *ax.Scheduler) error {
		for _, spec := range []ax.JobSpec{
			{Name: "plain", Kind: "k", Schedule: minute, AtMostOnce: true},
			{Name: "a: {b} #c", Kind: "- k", Schedule: ax.CronIn("Asia/Shanghai", "@daily"),
				Payload: []byte(`{"n":12345678901234567890,"x":1.50,"s":"<é>"}`)},
			{Name: "escaped", Kind: "k", Schedule: minute, Payload: []byte(`{"s":"\u003cb\u003e"}`)},
			{Name: "bytes", Kind: "k", Schedule: minute, Overlap: ax.Queue, Payload: []byte{0, 1, 255}},
			{Name: "true", Kind: "123", Schedule: ax.After(1500 * time.Microsecond),
				Payload: []byte("  two\n\tlines \n\n"), Timeout: ax.NoTimeout},
			{Name: "full", Kind: "k", Schedule: ax.At(time.Unix(4e9, 1000)), OverlapKey: "o",
				Overlap: ax.Replace,
				Misfire: ax.MisfireSkip, MisfireGrace: time.Minute, Priority: ax.Critical,
				Timeout: 90 * time.Second, MaxRetries: ax.Int(0), Service: "me",
				MaxLateness: time.Hour, MaxLifetime: time.Minute,
				Labels: map[string]string{"a": "", "ax.source": "theirs"},
				Retry: &retry.Policy{Kind: retry.List, DelaysMS: []int64{0, 1500},
					JitterPct: 33.3, BudgetMS: 1e9}},
			{Name: "bounds", Kind: "k", Schedule: ax.Every(time.Hour + time.Microsecond),
				Overlap: ax.Allow, Misfire: ax.MisfireAll, MisfireCap: 3, Jitter: time.Minute,
				StartsAt: time.Unix(4e9, 0), EndsAt: time.Unix(5e9, 123000), MaxFires: 9},
			{Name: "of ax run", Kind: "crontab", Schedule: minute,
				Labels: map[string]string{"ax.run": "crontab"}},
		} {
			if err := s.PutJob(t.Context(), spec); err != nil {
				return err
			}
		}
		return s.PauseJob(t.Context(), "bytes", time.Time{}, ax.By{Actor: "me", Reason: "why"})
	})
	before := storedJobs(t, dsn)
	for _, flags := range [][]string{{"jobs.yaml"}, {"jobs.json", "--json"}} {
		file := filepath.Join(dir, flags[0])
		r := runAx(t, dir, append([]string{"jobs", "export", "--db", dsn}, flags[1:]...)...)
		if r.code != 0 || r.errs != "ax: note: left out what ax run has made: 1\n" {
			t.Fatalf("%+v", r)
		}
		if err := os.WriteFile(file, []byte(r.out), 0o600); err != nil {
			t.Fatal(err)
		}
		if a := runAx(t, dir, "jobs", "apply", "-f", file, "--db", dsn); a.code != 0 ||
			a.out != "0 made, 0 changed, 0 deleted, 7 as they were\n" {
			t.Errorf("%+v, from\n%s", a, r.out)
		}
		if d := cmp.Diff(before, storedJobs(t, dsn)); d != "" {
			t.Errorf("stored: - before, + after:\n%s", d)
		}
		made := runAx(t, dir, "jobs", "apply", "-f", file, "--db", other)
		again := runAx(t, dir, append([]string{"jobs", "export", "--db", other}, flags[1:]...)...)
		if made.code != 0 || again.out != r.out {
			t.Errorf("%+v\n%s", made, cmp.Diff(r.out, again.out))
		}
	}
	before = slices.DeleteFunc(before, func(j task.Job) bool { return j.Kind == "crontab" })
	for i, got := range storedJobs(t, other) {
		want := before[i]
		if !got.Same(&want) || (got.PausedAt != 0) != (want.PausedAt != 0) {
			t.Errorf("elsewhere: - want, + got:\n%s", cmp.Diff(want, got))
		}
	}
}

func storedJobs(t *testing.T, dsn string) (jobs []task.Job) {
	t.Helper()
	withStore(t, dsn, func(s *ax.Scheduler) (err error) {
		jobs, err = s.Jobs(t.Context())
		return err
	})
	slices.SortFunc(jobs, func(a, b task.Job) int { return strings.Compare(a.Name, b.Name) })
	return jobs
}

// TestJobsPrune: jobs are deleted only if this source has made them.
func TestJobsPrune(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dsn := "sqlite:" + filepath.Join(dir, "ax.db")
	withStore(t, dsn, func(s *ax.Scheduler) error {
		for name, labels := range map[string]map[string]string{"of code": nil,
			"of shop": {"ax.source": "shop"}, "of bank": {"ax.source": "bank"},
			"of run": {"ax.run": "shop"}, "taken": nil} {
			err := s.PutJob(t.Context(), ax.JobSpec{Name: name, Kind: "k",
				Schedule: ax.Every(time.Minute), Labels: labels})
			if err != nil {
				return err
			}
		}
		return nil
	})
	file := filepath.Join(dir, "jobs.yaml")
	apply := func(text string, flags ...string) result {
		writeLines(t, file, text)
		return runAx(t, dir, append([]string{"jobs", "apply", "-f", file, "--prune", "--db", dsn},
			flags...)...)
	}
	names := func() (names []string) {
		for _, j := range storedJobs(t, dsn) {
			names = append(names, j.Name)
		}
		slices.Sort(names)
		return names
	}
	all := names()
	for name, why := range map[string]string{"of bank": `the source "bank"`,
		"of run": "ax run --name shop", "of code": "made by a program"} {
		r := apply("{source: shop, jobs: {new: &j {kind: k, schedule: {every: 1m}}, " + name + ": *j}}")
		if r.code != 1 || !strings.Contains(r.errs, why) || !slices.Equal(names(), all) {
			t.Errorf("%+v, jobs %q", r, names())
		}
	}
	r := apply("{source: shop, jobs: {taken: {kind: k, schedule: {every: 1m}}}}", "--adopt")
	if want := []string{"of bank", "of code", "of run", "taken"}; r.code != 0 ||
		!slices.Equal(names(), want) {
		t.Errorf("%+v, jobs %q", r, names())
	}
	// The one that was of the code has a source now, and goes with it.
	r = apply("{source: shop, jobs: {}}")
	if want := []string{"of bank", "of code", "of run"}; r.code != 0 || !slices.Equal(names(), want) {
		t.Errorf("%+v, jobs %q", r, names())
	}
}

// TestJobsTrigger also reads a file from standard input.
func TestJobsTrigger(t *testing.T) {
	t.Parallel()
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "ax.db")
	cmd := axCommand(t.Context(), "jobs", "apply", "-f", "-", "--db", dsn)
	cmd.Stdin = strings.NewReader(`{"jobs":{"j":{"kind":"k","schedule":{"every_ms":3600000},` +
		`"payload":{"a":1}}}}`)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	trigger := func(flags ...string) (r struct {
		Job   string
		ID    string `json:"task_id"`
		State string
	}) {
		t.Helper()
		res := runAx(t, "", append([]string{"jobs", "trigger", "j", "--reason", "test", "--json", "--db",
			dsn}, flags...)...)
		if err := json.Unmarshal([]byte(res.out), &r); err != nil || res.code != 0 || res.errs != "" {
			t.Fatalf("%v, %+v", err, res)
		}
		return r
	}
	first, second := trigger("--key", "x"), trigger("--key", "x")
	if first != second || first.Job != "j" || first.State != "SCHEDULED" {
		t.Errorf("%+v %+v", first, second)
	}
	own := trigger("--payload", "")
	var tasks []string
	withStore(t, dsn, func(s *ax.Scheduler) error {
		rows, err := s.List(t.Context(), ax.Filter{Job: "j"})
		for i := 0; i < len(rows) && err == nil; i++ {
			rows[i], err = s.Get(t.Context(), rows[i].ID)
			tasks = append(tasks, rows[i].ID.String()+" "+string(rows[i].Payload))
		}
		return err
	})
	slices.Sort(tasks)
	want := []string{first.ID + ` {"a":1}`, own.ID + " "}
	slices.Sort(want)
	if !slices.Equal(tasks, want) {
		t.Errorf("tasks %q, want %q", tasks, want)
	}
	r := runAx(t, "", "jobs", "trigger", "nonesuch", "--reason", "test", "--db", dsn)
	if r.code != 1 || !strings.Contains(r.errs, `trigger job "nonesuch": not found`) {
		t.Errorf("%+v", r)
	}
}

// TestJobsList: what became of the latest fire is seen.
func TestJobsList(t *testing.T) {
	t.Parallel()
	path, dsn := crontabFile(t, "@every 1s exit 3")
	p := start(t, "run", "-f", path, "--db", dsn)
	p.await("failed")
	p.await("failed") // so the first is recorded
	r := runAx(t, "", "jobs", "list", "--json", "--db", dsn)
	var page struct {
		Items []struct {
			Kind     string
			NextFire string `json:"next_fire"`
			LastFire string `json:"last_fire"`
			Fires    int
			Last     struct{ State string } `json:"last_task"`
		}
	}
	if err := json.Unmarshal([]byte(r.out), &page); err != nil || len(page.Items) != 1 {
		t.Fatalf("%v, %+v", err, r)
	}
	j := page.Items[0]
	if j.Kind != "crontab" || j.LastFire == "" || j.NextFire <= j.LastFire || j.Fires < 1 ||
		!slices.Contains([]string{"DEAD", "SCHEDULED", "RUNNING"}, j.Last.State) {
		t.Errorf("job %+v", j)
	}
}

// TestJobsOfAProgram: a job that a program has put is not taken over by a file that has a source,
// unless it is told to; a job of no file stays.
func TestJobsOfAProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dsn := "sqlite:" + filepath.Join(dir, "ax.db")
	withStore(t, dsn, func(s *ax.Scheduler) error {
		return s.PutJob(t.Context(), ax.JobSpec{Name: "settle", Kind: "order.settle",
			Schedule: ax.Every(time.Hour)})
	})
	writeLines(t, filepath.Join(dir, "jobs.yaml"), "source: shop",
		"jobs: {settle: {kind: order.settle, schedule: {every: 1h}}}")
	for _, verb := range []string{"diff", "apply"} {
		r := runAx(t, dir, "jobs", verb, "-f", "jobs.yaml", "--db", dsn)
		if r.code != 1 || !strings.Contains(r.errs, "job settle: it was made by a program") {
			t.Errorf("%s: %+v", verb, r)
		}
	}
	r := runAx(t, dir, "jobs", "apply", "-f", "jobs.yaml", "--adopt", "--db", dsn)
	if r.code != 0 || !strings.Contains(r.out, "1 changed") ||
		storedJobs(t, dsn)[0].Labels["ax.source"] != "shop" {
		t.Errorf("--adopt: %+v", r)
	}
	r = runAx(t, dir, "jobs", "apply", "-f", "jobs.yaml", "--db", dsn)
	if r.code != 0 || !strings.Contains(r.out, "1 as they were") {
		t.Errorf("again: %+v", r)
	}
}
