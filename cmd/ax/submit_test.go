package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/task"
)

// TestOverlapNames: the flag's names stand for the policies of the library.
func TestOverlapNames(t *testing.T) {
	for name, want := range map[string]ax.Overlap{"skip": ax.Skip, "allow": ax.Allow,
		"Queue": ax.Queue, "REPLACE": ax.Replace, "": 0} {
		n, err := (&submitCmd{Kind: "mail", Priority: "low", Overlap: name}).task()
		if err != nil || n.Overlap != want || n.Priority != ax.Low {
			t.Errorf("%q: %d, %v; want %d", name, n.Overlap, err, want)
		}
	}
}

// TestPayloadOfFile: the bytes of a file as they are, and no more than can be stored.
func TestPayloadOfFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "payload")
	for _, want := range []string{"", "{not JSON\x00", strings.Repeat("x", task.MaxPayload)} {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readPayload("@" + path); err != nil || string(got) != want {
			t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
		}
	}
	if err := os.WriteFile(path, make([]byte, 2*task.MaxPayload), 0o600); err != nil {
		t.Fatal(err)
	}
	r := runAx(t, filepath.Dir(path), "migrate", "up", "--db", "sqlite:ax.db")
	if r.code != 0 {
		t.Fatalf("%+v", r)
	}
	r = runAx(t, filepath.Dir(path), "submit", "mail", "--payload", "@payload", "--db", "sqlite:ax.db")
	if r.code != 2 || !strings.Contains(r.errs, "--payload: has ") {
		t.Errorf("%+v", r)
	}
}

// TestPayloadOfStdin: through the program, because only it has a standard input of its own.
func TestPayloadOfStdin(t *testing.T) {
	dir := t.TempDir()
	if r := runAx(t, dir, "migrate", "up", "--db", "sqlite:ax.db"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	cmd := axCommand(t.Context(), "submit", "mail", "--payload", "-", "--db", "sqlite:ax.db",
		"--id", "00000000-0000-7000-8000-000000000001")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(`{"from":"a pipe"}`)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := runAx(t, dir, "tasks", "show", "00000000-0000-7000-8000-000000000001", "--db",
		"sqlite:ax.db")
	if !strings.Contains(r.out, `{"from":"a pipe"}`) {
		t.Errorf("%+v", r)
	}
}
