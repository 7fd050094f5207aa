package sqlite_test

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite"
	"github.com/ax-sched/ax/task"
)

// childEnv tells the test binary to be a second process: "what path".
const childEnv = "AX_SQLITE_CHILD"

func TestMain(m *testing.M) {
	what, path, ok := strings.Cut(os.Getenv(childEnv), " ")
	if !ok {
		os.Exit(m.Run())
	}
	if err := child(what, path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child does one thing until its standard input ends or it is killed.
func child(what, path string) error {
	s, err := sqlite.Open(path)
	if err != nil {
		return err
	}
	ctx := context.Background()
	switch what {
	case "submit":
		submitForEver(ctx, s)
		return nil
	case "own":
		if err := own(ctx, s); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return s.Close()
}

// own leads partition 0 with one executor, as a scheduler on this file does.
func own(ctx context.Context, s *sqlite.Store) error {
	if err := s.Leases().Acquire(ctx, 0, "first", time.Hour); err != nil {
		return err
	}
	if _, err := s.Install(ctx, 0, 0, "first"); err != nil {
		return err
	}
	m := registry.Member{Name: "node", Instance: "first"}
	_, err := s.Registry().Register(ctx, m, time.Hour)
	return err
}

// submitForEver inserts from several goroutines and prints the ids of each acknowledged call.
func submitForEver(ctx context.Context, s *sqlite.Store) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for {
				ts := newTasks(1+i*5, i%2 == 0)
				if _, err := s.Insert(ctx, store.Fence{}, ts); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				var line strings.Builder
				for _, t := range ts {
					line.WriteString(hex.EncodeToString(t.ID[:]))
				}
				mu.Lock()
				fmt.Println(line.String())
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// start starts a second process on the file.
func start(t *testing.T, what, path string) (cmd *exec.Cmd, out *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childEnv+"="+what+" "+path)
	cmd.Stderr = os.Stderr
	// The child ends with its input, also when this process dies.
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out = bufio.NewScanner(pipe)
	out.Buffer(nil, 1<<20)
	return cmd, out
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
}

// What was acknowledged survives kill -9 of the process; what was not is there whole or not at
// all.
func TestKillNine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ax.db")
	var acknowledged []task.ID
	for range 3 {
		cmd, out := start(t, "submit", path)
		for n := 0; out.Scan(); n++ {
			if n == 100 {
				kill(t, cmd) // what it has printed until it dies is read below
			}
			raw, err := hex.DecodeString(out.Text())
			if err != nil || len(raw)%16 != 0 {
				break // the line it died in
			}
			for ; len(raw) > 0; raw = raw[16:] {
				acknowledged = append(acknowledged, task.ID(raw))
			}
		}
		_ = cmd.Wait() // it was killed
	}
	s := open(t, path)
	if len(acknowledged) < 300 {
		t.Fatalf("%d tasks were acknowledged", len(acknowledged))
	}
	rows, err := s.Tasks(t.Context(), acknowledged)
	if err != nil || len(rows) != len(acknowledged) {
		t.Errorf("%d of %d acknowledged tasks are there, %v", len(rows), len(acknowledged), err)
	}
	total, err := s.Count(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	wholeRows(t, s, total[task.Scheduled])
}

// wholeRows checks that each row has its specification and its history.
func wholeRows(t *testing.T, s *sqlite.Store, want int64) {
	t.Helper()
	q := store.Query{Limit: 1000}
	for n := int64(0); ; {
		rows, err := s.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if h, err := s.History(t.Context(), r.ID); err != nil || len(h) != 1 {
				t.Fatalf("task %s has the history %v, %v", r.ID, h, err)
			}
		}
		if n += int64(len(rows)); len(rows) == 0 {
			if n != want {
				t.Errorf("%d rows are listed, %d counted", n, want)
			}
			return
		}
		q.Before = rows[len(rows)-1].ID
	}
}

// A second process may submit and read, but not lead. When the first is killed, its lock is free
// at once, and the next owner retires its executors.
func TestSecondProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ax.db")
	cmd, out := start(t, "own", path)
	if !out.Scan() || out.Text() != "ready" {
		t.Fatalf("the first process said %q", out.Text())
	}
	s := open(t, path)
	mustInsert(t, s, newTasks(3, true))
	err := s.Leases().Acquire(t.Context(), 0, "second", time.Hour)
	var held *lease.HeldError
	if !errors.As(err, &held) || !held.Exclusive || !strings.Contains(held.Holder, "first") ||
		!strings.Contains(held.Holder, fmt.Sprint(cmd.Process.Pid)) {
		t.Errorf("acquire beside the owner gave %v; want its name and process %d", err,
			cmd.Process.Pid)
	}
	members, err := s.Registry().Members(t.Context())
	if err != nil || len(members) != 1 || members[0].Instance != "first" {
		t.Fatalf("members %v, %v", members, err)
	}
	kill(t, cmd)
	_ = cmd.Wait() // it was killed

	mine, err := s.Registry().Register(t.Context(), registry.Member{Name: "b", Instance: "b"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Leases().Acquire(t.Context(), 0, "second", time.Hour); err != nil {
		t.Fatalf("acquire after the owner was killed: %v", err)
	}
	if _, err := s.Install(t.Context(), 0, 1, "second"); err != nil {
		t.Fatal(err)
	}
	switch err := s.Registry().Renew(t.Context(), members[0].Epoch, 0); {
	case !errors.Is(err, registry.ErrRetired):
		t.Errorf("renew of the dead process's executor gave %v; want ErrRetired", err)
	}
	if err := s.Registry().Renew(t.Context(), mine, 0); err != nil {
		t.Errorf("renew of the owner's own executor: %v", err)
	}
}

// Two stores of one process exclude each other too, and closing one gives its lock up.
func TestTwoStores(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ax.db")
	a, b := open(t, path), open(t, path)
	if err := a.Leases().Acquire(t.Context(), 0, "a", 0); err != nil {
		t.Fatal(err)
	}
	var held *lease.HeldError
	if err := b.Leases().Acquire(t.Context(), 1, "b", 0); !errors.As(err, &held) {
		t.Errorf("acquire by the second store gave %v; want a HeldError", err)
	}
	// One that does not own the file retires nobody, also when it installs a token.
	epoch, err := a.Registry().Register(t.Context(), registry.Member{Name: "a", Instance: "a"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Install(t.Context(), 1, 0, "b"); err != nil {
		t.Fatal(err)
	}
	if err := a.Registry().Renew(t.Context(), epoch, 0); err != nil {
		t.Errorf("renew after an install by another store: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Leases().Acquire(t.Context(), 1, "b", 0); err != nil {
		t.Errorf("acquire after the first store was closed: %v", err)
	}
}

// A lock on a file that was removed is worth nothing: the next one would lock another file.
func TestOwnerFileRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ax.db")
	a, b := open(t, path), open(t, path)
	if err := a.Leases().Acquire(t.Context(), 0, "a", 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path + ".owner"); err != nil {
		t.Fatal(err)
	}
	if err := b.Leases().Acquire(t.Context(), 0, "b", 0); err != nil {
		t.Fatal(err)
	}
	if err := a.Leases().Renew(t.Context(), 0, "a", 0); !errors.Is(err, lease.ErrLost) {
		t.Errorf("renew after the file was removed gave %v; want ErrLost", err)
	}
	var held *lease.HeldError
	if err := a.Leases().Acquire(t.Context(), 0, "a", 0); !errors.As(err, &held) {
		t.Errorf("acquire gave %v; want a HeldError", err)
	}
}
