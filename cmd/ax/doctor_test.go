package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ax-sched/ax/internal/testdb"
)

// databases names an empty database of each sort.
func databases(t *testing.T) map[string]string {
	return map[string]string{"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "ax.db"),
		"postgres": testdb.Postgres(t)}
}

// diagnose runs ax doctor.
func diagnose(t *testing.T, dsn string) (d diagnosis, code int) {
	t.Helper()
	r := runAx(t, "", "doctor", "--json", "--db", dsn)
	if err := json.Unmarshal([]byte(r.out), &d); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	return d, r.code
}

// TestMigrateByTwoProcesses: several that begin at once make one schema.
func TestMigrateByTwoProcesses(t *testing.T) {
	t.Parallel()
	for name, dsn := range databases(t) {
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				r := runAx(t, "", "migrate", "up", "--json", "--db", dsn)
				if r.code != 0 || !strings.Contains(r.out, `"installed":1,"newest":1,"pending":0`) {
					t.Errorf("%s: %+v", name, r)
				}
			})
		}
		wg.Wait()
		if d, code := diagnose(t, dsn); code != 0 || len(d.Findings) > 0 {
			t.Errorf("%s: exit status %d, %+v", name, code, d)
		}
	}
}

// TestDoctorMakesNothing: a database without tables stays so.
func TestDoctorMakesNothing(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	for range 2 {
		d, code := diagnose(t, dsn)
		if code != 1 || len(d.Findings) != 1 || d.Findings[0].Code != "schema.older" {
			t.Fatalf("exit status %d, %+v", code, d)
		}
	}
	r := runAx(t, "", "migrate", "status", "--json", "--db", dsn)
	if r.code != 0 || !strings.Contains(r.out, `"installed":0,"newest":1,"pending":1`) {
		t.Errorf("%+v", r)
	}
	if strings.Contains(r.out, "password") {
		t.Errorf("a password is printed: %s", r.out)
	}
}

// TestDoctorBesideRun: a daemon at work is healthy, and goes on; when it is gone, its jobs are
// missed, though not at once.
func TestDoctorBesideRun(t *testing.T) {
	t.Parallel()
	for name, dsn := range databases(t) {
		path, _ := crontabFile(t, "@every 1s echo tick")
		p := start(t, "run", "-f", path, "--db", dsn)
		p.await("| tick")
		d, code := diagnose(t, dsn)
		if code != 0 || len(d.Findings) > 0 || d.Leader == "" || d.Executors != 1 {
			t.Errorf("%s: exit status %d, %+v", name, code, d)
		}
		p.await("| tick")
		p.signal(syscall.SIGTERM)
		if code := p.wait(); code != 0 {
			t.Errorf("%s: the daemon ended with %d", name, code)
		}
		if d, code := diagnose(t, dsn); code != 0 || d.Leader != "" || d.Executors != 0 {
			t.Errorf("%s, after the end: exit status %d, %+v", name, code, d)
		}
	}
}
