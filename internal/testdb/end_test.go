package testdb

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childEnv makes this test binary start a server, print its folder and process number, and end
// in the way that the variable names.
const childEnv = "AX_TESTDB_CHILD"

func TestMain(m *testing.M) {
	if how := os.Getenv(childEnv); how != "" {
		os.Exit(child(how))
	}
	os.Exit(m.Run())
}

func child(how string) int {
	s, err := newServer(Options{Fast: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(s.dir, s.proc.cmd.Process.Pid)
	switch how {
	case "exit":
		return 0
	case "panic":
		panic("as a test that fails badly")
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return 1
}

func TestNothingIsLeftBehindHoweverTheBinaryEnds(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"exit", "panic", "kill"} {
		t.Run(how, func(t *testing.T) {
			var out, errs bytes.Buffer
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), childEnv+"="+how)
			cmd.Stdout, cmd.Stderr = &out, &errs
			err := cmd.Run()
			var dir string
			var pid int
			if _, e := fmt.Sscan(out.String(), &dir, &pid); e != nil {
				t.Fatalf("child: %v, %s%s", err, &out, &errs)
			}
			if (err == nil) != (how == "exit") {
				t.Errorf("child ended with %v", err)
			}
			await(t, "end of the server", func() bool {
				return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
			})
			await(t, "removal of its folder", func() bool {
				_, err := os.Stat(dir)
				return errors.Is(err, os.ErrNotExist)
			})
		})
	}
}

func TestPrivateServerEndsWithItsTest(t *testing.T) {
	var s *Server
	t.Run("user", func(t *testing.T) { s = StartPostgres(t, Options{Fast: true}) })
	if _, err := os.Stat(s.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder after the test: %v, want that it does not exist", err)
	}
	if s.running() {
		t.Error("the server runs after its test")
	}
}

// await waits for a condition that another process brings about.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(startTimeout)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline:
			t.Fatalf("%s did not come within %v", what, startTimeout)
		case <-tick.C:
		}
	}
}

func TestFindPrograms(t *testing.T) {
	root := t.TempDir()
	put := func(dir string, names ...string) string {
		t.Helper()
		dir = filepath.Join(root, dir)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			if err := os.WriteFile(filepath.Join(dir, n), []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	old := put("v/9/bin", "initdb", "postgres")
	newest := put("v/15/bin", "initdb", "postgres")
	put("v/16/bin", "postgres") // half of an installation
	empty := put("empty")
	linked := put("linked")
	link := filepath.Join(linked, "postgres")
	if err := os.Symlink(filepath.Join(old, "postgres"), link); err != nil {
		t.Fatal(err)
	}
	folders := []string{filepath.Join(root, "v/*/bin")}
	path := func(dirs ...string) string {
		return strings.Join(dirs, string(filepath.ListSeparator))
	}
	for _, c := range []struct {
		name, path string
		folders    []string
		want       string
	}{
		{"newest of the folders, by number", empty, folders, newest},
		{"PATH before the folders", path(empty, old), folders, old},
		{"a link in PATH", linked, folders, old},
		{"half of an installation", filepath.Join(root, "v/16/bin"), nil, ""},
		{"nothing", "", nil, ""},
	} {
		if got := findPrograms(c.path, c.folders); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
