package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store/sqlite"
	"github.com/google/go-cmp/cmp"
)

// TestSessions plays the files of testdata/sessions: each line that begins with "$ " is a command,
// and below it stands what it prints, standard error behind "! ", an exit status other than 0
// behind "? ". AX_GOLDEN=1 writes what the commands print now.
func TestSessions(t *testing.T) {
	names, err := filepath.Glob("testdata/sessions/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("sessions %q, error %v", names, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := playSession(t, string(text))
			if os.Getenv("AX_GOLDEN") == "1" {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(string(text), got); d != "" {
				t.Errorf("%s: - as written, + as it is now:\n%s", name, d)
			}
		})
	}
}

func playSession(t *testing.T, text string) string {
	dir := t.TempDir()
	copyFiles(t, "testdata/files", dir)
	fillDatabase(t, filepath.Join(dir, "ax.db"))
	var b strings.Builder
	commands := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ ax ")
		if !ok {
			continue
		}
		if commands++; b.Len() > 0 {
			b.WriteString("\n")
		}
		r := runAx(t, dir, words(t, command)...)
		fmt.Fprintf(&b, "$ ax %s\n", command)
		b.WriteString(mask(dir, r.out))
		for e := range strings.Lines(mask(dir, r.errs)) {
			b.WriteString("! " + e)
		}
		if r.code != 0 {
			fmt.Fprintf(&b, "? %d\n", r.code)
		}
	}
	if commands == 0 {
		t.Fatal("no commands")
	}
	return b.String()
}

// words splits a command as a shell does, with single quotes only.
func words(t *testing.T, command string) (out []string) {
	t.Helper()
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

var masks = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ`), "<time with milliseconds>"},
	{regexp.MustCompile(`go1\.[0-9.]+[a-z0-9.]*`), "<go>"},
	{regexp.MustCompile(`ax \S+ <go>`), "ax <version> <go>"},
	{regexp.MustCompile(`"version":"[^"]*","go"`), `"version":"<version>","go"`},
	{regexp.MustCompile(`for \d+ days`), "for <n> days"},
	{regexp.MustCompile(`"clock_offset_ms":-?\d+`), `"clock_offset_ms":<offset>`},
	{regexp.MustCompile(`[a-z0-9_.-]+@[A-Za-z0-9_.-]+`), "<somebody>"},
}

// mask replaces what differs from run to run by words of the same sort.
func mask(dir, s string) string {
	s = strings.ReplaceAll(s, dir, "<dir>")
	for _, m := range masks {
		s = m.what.ReplaceAllString(s, m.with)
	}
	return s
}

func copyFiles(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// fillDatabase makes tasks with known ids. None runs: no scheduler does.
func fillDatabase(t *testing.T, path string) {
	t.Helper()
	st, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}()
	s, err := ax.New(st, ax.Config{Service: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	due := time.Date(2100, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	for i, n := range []ax.NewTask{
		{Kind: "order.close", Key: "4711", RunAt: due, Payload: []byte(`{"order":4711}`)},
		{Kind: "order.close", Key: "4712", RunAt: due, Priority: ax.High, MaxRetries: ax.Int(0),
			Timeout: ax.NoTimeout, Labels: map[string]string{"zone": "eu"}},
		{Kind: "mail", RunAt: due, Payload: []byte{0, 255}},
		{Kind: "mail", RunAt: due},
	} {
		id, err := parseID(fmt.Sprintf("00000000-0000-7000-8000-00000000000%d", i+1))
		if err != nil {
			t.Fatal(err)
		}
		n.ID = id
		if _, err := s.Submit(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		if i == 3 {
			by := ax.By{Actor: "tester", Reason: "not wanted\nat all"}
			if err := s.Cancel(t.Context(), id, by); err != nil {
				t.Fatal(err)
			}
		}
	}
}
