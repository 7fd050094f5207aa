package guides

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/ax-sched/ax/internal/jobs"
	"github.com/ax-sched/ax/internal/manifest"
)

// TestFilesOfJobs: the files in the guide are read, and their jobs would be taken.
func TestFilesOfJobs(t *testing.T) {
	files := blocks(read(t, "operating.md"), "yaml")
	if len(files) != 2 {
		t.Fatalf("%d files", len(files))
	}
	for i, text := range files {
		f, err := manifest.Parse([]byte(text), manifest.Options{Run: i == 1, Lookup: os.LookupEnv})
		if err != nil {
			t.Errorf("file %d: %v", i, err)
			continue
		}
		if i == 0 {
			if _, err := jobs.Check(t.Context(), f, slog.New(slog.DiscardHandler)); err != nil {
				t.Errorf("file %d: %v", i, err)
			}
		}
		if len(f.Jobs) != 2+i {
			t.Errorf("file %d has %d jobs", i, len(f.Jobs))
		}
	}
}

// TestActsSayWhy: each command in the guide that acts gives a reason, or only looks.
func TestActsSayWhy(t *testing.T) {
	acts := 0
	for line := range strings.Lines(read(t, "operating.md")) {
		for i, code := range strings.Split(line, "`") {
			verb := strings.Fields(code)
			if i%2 == 0 || len(verb) < 4 || verb[0] != "ax" ||
				!strings.Contains(" cancel retry trigger resolve reschedule pause resume ",
					" "+verb[2]+" ") {
				continue
			}
			acts++
			if !strings.Contains(code, "--reason") && !strings.Contains(code, "--dry-run") {
				t.Errorf("%q gives no reason", code)
			}
		}
	}
	if acts < 8 {
		t.Errorf("%d commands act", acts)
	}
}
