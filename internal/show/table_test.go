package show

import (
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax/task"
)

func TestFirstLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"a\tb":                    "a b",
		"a\nb":                    "a ...",
		strings.Repeat("é", 80):   strings.Repeat("é", 80),
		strings.Repeat("é", 81):   strings.Repeat("é", 80) + " ...",
		"panic: x\n\ngoroutine 1": "panic: x ...",
	} {
		if got := FirstLine(in); got != want {
			t.Errorf("firstLine(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestShowOptions: what was set for this task alone is shown, and a later run.
func TestShowOptions(t *testing.T) {
	row := task.Task{MaxRetries: 3, Timeout: 90 * time.Second,
		Labels: map[string]string{"zone": "eu", "app": "web"}, Mutable: task.Mutable{Run: 2}}
	show := func() string {
		var b strings.Builder
		if err := (&All{Task: row}).Print(&b); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	for _, want := range []string{" run 2 ", " max retries 3 ", " timeout 1m30s ",
		" labels app=web, zone=eu "} {
		if got := show(); !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	row = task.Task{MaxRetries: -1, Mutable: task.Mutable{Run: 1}}
	for _, no := range []string{" run 1", "max retries", "timeout", "labels"} {
		if got := show(); strings.Contains(got, no) {
			t.Errorf("%q in %s", no, got)
		}
	}
}
