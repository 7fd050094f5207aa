package main

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/seal"
	"github.com/ax-sched/ax/store/sqlite"
)

// TestShowSealed: without the key a task is shown with the id of its key, with it in plaintext; a
// file without the key says so and shows the rest, a wrong file is refused without showing it.
func TestShowSealed(t *testing.T) {
	dir := t.TempDir()
	secret := func(b byte) string {
		return base64.StdEncoding.EncodeToString(append(make([]byte, 31), b))
	}
	for name, text := range map[string]string{"keys": "k2 " + secret(2) + "\nk1 " + secret(1),
		"other": "k3 " + secret(3), "wrong": "k1 " + secret(1)[:40]} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	id := sealedTask(t, filepath.Join(dir, "ax.db"), secret(1)).String()
	show := func(args ...string) result {
		return runAx(t, dir, append([]string{"tasks", "show", id, "--db", "sqlite:ax.db"}, args...)...)
	}
	for _, c := range []struct {
		args      []string
		code      int
		out, errs string
	}{
		{nil, 0, "sealed with key k1 (--keys-file FILE shows it)", ""},
		{[]string{"--keys-file", "keys"}, 0, `{"card":4111}`, ""},
		{[]string{"--keys-file", "other"}, 0, "sealed with key k1",
			"ax: payload: sealed with key \"k1\", which this process does not have\n"},
		{[]string{"--keys-file", "wrong"}, 1, "", "ax: keys file wrong: line 1: the secret is not 32 " +
			"bytes; make one with: openssl rand -base64 32\n"},
		{[]string{"--keys-file", "none"}, 1, "", "ax: keys file: open none: no such file or " +
			"directory\n"},
	} {
		r := show(c.args...)
		if r.code != c.code || r.errs != c.errs || !strings.Contains(r.out, c.out) ||
			c.code == 0 && !strings.Contains(r.out, "SCHEDULED") {
			t.Errorf("%q: %+v", c.args, r)
		}
	}
	for args, want := range map[string]string{"--json": "k1", "--json --keys-file keys": ""} {
		r := show(strings.Fields(args)...)
		var got struct {
			Payload []byte `json:"payload_base64"`
			Sealed  string `json:"sealed_with"`
		}
		if err := json.Unmarshal([]byte(r.out), &got); err != nil || got.Sealed != want ||
			(want == "") != (string(got.Payload) == `{"card":4111}`) ||
			(want == "") == strings.Contains(r.out, "sealed_with") {
			t.Errorf("%s: %+v, %v", args, r, err)
		}
	}
}

// sealedTask makes a database with a task whose payload is sealed with the key k1.
func sealedTask(t *testing.T, path, secret string) ax.ID {
	t.Helper()
	keys, err := seal.ParseKeys(strings.NewReader("k1 " + secret))
	if err != nil {
		t.Fatal(err)
	}
	box, err := seal.New(keys[0])
	if err != nil {
		t.Fatal(err)
	}
	st, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	a, err := ax.New(st, ax.Config{Seal: box})
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.Delay(t.Context(), "charge", "", time.Hour, []byte(`{"card":4111}`))
	if err != nil {
		t.Fatal(err)
	}
	return res.ID
}

// TestJobsSealed: without the key a file is neither compared with jobs whose payloads are encrypted
// nor applied over them; with it, equal is equal, and what is written is encrypted.
func TestJobsSealed(t *testing.T) {
	dir := t.TempDir()
	secret := base64.StdEncoding.EncodeToString(append(make([]byte, 31), 1))
	sealedTask(t, filepath.Join(dir, "ax.db"), secret)
	for name, text := range map[string]string{"keys": "k1 " + secret,
		"jobs.yaml": "jobs: {nightly: {kind: charge, payload: {card: 4111}, schedule: \"0 3 * * *\"}}"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(want int, args ...string) result {
		t.Helper()
		r := runAx(t, dir, append([]string{"jobs"}, append(args, "--db", "sqlite:ax.db")...)...)
		if r.code != want {
			t.Errorf("%q: %+v", args, r)
		}
		return r
	}
	run(0, "apply", "-f", "jobs.yaml", "--keys-file", "keys")
	for _, verb := range []string{"apply", "diff"} {
		r := run(1, verb, "-f", "jobs.yaml")
		if !strings.Contains(r.errs, `encrypted with key "k1"; give --keys-file FILE`) {
			t.Errorf("%s without the key: %q", verb, r.errs)
		}
	}
	run(1, "export")
	run(0, "diff", "-f", "jobs.yaml", "--exit-code", "--keys-file", "keys")
	if r := run(0, "export", "--keys-file", "keys"); !strings.Contains(r.out, "4111") {
		t.Errorf("exported %q", r.out)
	}
	file, err := os.ReadFile(filepath.Join(dir, "ax.db"))
	if wal, werr := os.ReadFile(filepath.Join(dir, "ax.db-wal")); werr == nil {
		file = append(file, wal...)
	}
	if err != nil || strings.Contains(string(file), "4111") {
		t.Errorf("the payload stands in the database as it is, %v", err)
	}
}
