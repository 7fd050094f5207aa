package ax_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/testdb"
	"github.com/ax-sched/ax/store/postgres"
	"github.com/ax-sched/ax/store/sqlite"
	"github.com/ax-sched/ax/task"
)

// The environment by which this test binary becomes a scheduler that the test can kill.
const (
	childDSN = "AX_TEST_CHILD_DSN"
	childLog = "AX_TEST_CHILD_LOG"
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv(childDSN); dsn != "" {
		child(dsn, os.Getenv(childLog))
		return
	}
	os.Exit(m.Run())
}

// open opens a store of either kind.
func open(ctx context.Context, dsn string) (ax.Store, error) {
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		return sqlite.Open(path)
	}
	return postgres.Open(ctx, dsn)
}

// quick are times under which another process takes over within seconds.
var quick = ax.Config{LeaseTTL: time.Second, ExecutorTTL: 2 * time.Second,
	Heartbeat: 500 * time.Millisecond, Sweep: 200 * time.Millisecond}

// child runs a scheduler until it is killed; its handler writes the id and attempt of each
// execution to a log before and after some work.
func child(dsn, log string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	st, err := open(ctx, dsn)
	if err != nil {
		fail(err)
	}
	f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		fail(err)
	}
	a, err := ax.New(st, quick)
	if err != nil {
		fail(err)
	}
	a.Handle("count", func(_ context.Context, t *ax.Task) error {
		if now := time.Now(); now.Before(t.RunAt) {
			fmt.Fprintf(f, "early %s %s\n", t.ID, t.RunAt.Sub(now))
		}
		_, err := fmt.Fprintf(f, "start %s %d\n", t.ID, t.Attempt)
		return err
	})
	a.Handle("order.close", dieInTx(dsn, f))
	if err := a.Run(ctx); err != nil {
		fail(err)
	}
}

// spawn starts a child; kill ends it as the kernel would.
func spawn(t *testing.T, dsn, log string) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDSN+"="+dsn, childLog+"="+log)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	t.Cleanup(kill)
	return kill
}

// TestKilledTwice submits 3,000 delayed tasks and kills the process that runs them with SIGKILL
// in the middle, twice. None may be lost, none may start early.
func TestKilledTwice(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		killedTwice(t, "sqlite:"+filepath.Join(t.TempDir(), "ax.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		killedTwice(t, testdb.Postgres(t))
	})
}

func killedTwice(t *testing.T, dsn string) {
	const n = 3000
	st, err := open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	a, err := ax.New(st, ax.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	tasks := make([]ax.NewTask, n)
	for i := range tasks {
		tasks[i] = ax.NewTask{Kind: "count", Key: fmt.Sprint(i),
			Delay: time.Second + time.Duration(i)*2*time.Millisecond}
	}
	made, err := a.SubmitMany(t.Context(), tasks)
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "starts")
	for _, enough := range []int{n / 3, 2 * n / 3} {
		kill := spawn(t, dsn, log)
		await(t, fmt.Sprintf("%d starts", enough), func() bool { return len(starts(t, log)) >= enough })
		kill()
	}
	spawn(t, dsn, log)
	await(t, "the end of all tasks", func() bool {
		m, err := st.Count(t.Context(), 0)
		return err == nil && m[task.Succeeded] == n
	})
	seen := starts(t, log)
	for _, r := range made {
		if seen[r.ID.String()] == 0 {
			t.Errorf("task %s is SUCCEEDED and never ran", r.ID)
		}
	}
	again := 0
	for _, times := range seen {
		again += times - 1
	}
	t.Logf("%d tasks, %d executions again after the kills", len(seen), again)
	// At each kill 256 may run, and 1,000 more may have ended without being recorded yet.
	if again > 2*(256+1000+256) {
		t.Errorf("%d executions ran again; at most what was not recorded at the two kills may", again)
	}
}

// starts counts the executions in the log by task.
func starts(t *testing.T, log string) map[string]int {
	t.Helper()
	m := map[string]int{}
	f, err := os.Open(log)
	if err != nil {
		return m // no child has started yet
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 3 && words[0] == "early" {
			t.Errorf("task %s started %s early", words[1], words[2])
		}
		if len(words) == 3 && words[0] == "start" {
			m[words[1]]++
		}
	}
	return m
}

// await waits for a condition of other processes.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("waited two minutes for %s", what)
		}
	}
}
