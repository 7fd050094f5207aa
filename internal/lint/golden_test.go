package lint

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// golden makes the tests rewrite what they would compare with.
func golden() bool { return os.Getenv("AX_GOLDEN") == "1" }

// The block of ARCHITECTURE.md between these lines is written by this test.
const (
	blockBegin = "<!-- import table: written by make golden -->\n"
	blockEnd   = "<!-- end of import table -->\n"
)

func TestArchitectureShowsTheImportTable(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(root, "ARCHITECTURE.md")
	old, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want, err := replaceBlock(string(old), printTable(table))
	if err != nil {
		t.Fatalf("ARCHITECTURE.md: %v", err)
	}
	if string(old) == want {
		return
	}
	if !golden() {
		t.Fatal("ARCHITECTURE.md shows another import table than internal/lint/table_test.go: " +
			"run make golden and look at the difference")
	}
	if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestArchitectureNamesFiles: each Go file that ARCHITECTURE.md names is there, by its path from
// the root, which may be a pattern.
func TestArchitectureNamesFiles(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`([^` ]+\\.go)`").FindAllStringSubmatch(string(doc), -1)
	if len(names) == 0 {
		t.Error("ARCHITECTURE.md names no files")
	}
	for _, name := range names {
		if found, err := filepath.Glob(filepath.Join(root, name[1])); err != nil || len(found) == 0 {
			t.Errorf("ARCHITECTURE.md names %s, which is not there (%v)", name[1], err)
		}
	}
}

// replaceBlock puts a new block between the two markers of a document.
func replaceBlock(doc, block string) (string, error) {
	before, rest, ok := strings.Cut(doc, blockBegin)
	if !ok {
		return "", fmt.Errorf("no line %q", strings.TrimSpace(blockBegin))
	}
	_, after, ok := strings.Cut(rest, blockEnd)
	if !ok {
		return "", fmt.Errorf("no line %q", strings.TrimSpace(blockEnd))
	}
	return before + blockBegin + "\n" + block + "\n" + blockEnd + after, nil
}

func printTable(table map[string][]string) string {
	var b strings.Builder
	b.WriteString("| package | may import, of ours |\n|---|---|\n")
	for _, dir := range slices.Sorted(maps.Keys(table)) {
		var to []string
		for _, x := range slices.Sorted(slices.Values(table[dir])) {
			to = append(to, "`"+show(x)+"`")
		}
		if len(to) == 0 {
			to = []string{"-"}
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", show(dir), strings.Join(to, ", "))
	}
	return b.String()
}

// TestEmbeddingLinks compares what a program that imports ax and its SQLite store links with
// a list that a person has seen. The go tool is asked, because only it knows; the answer
// depends on files that here() reads, so a cached result of this test is never an old one.
func TestEmbeddingLinks(t *testing.T) {
	if _, err := here(); err != nil {
		t.Fatal(err)
	}
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	got, err := embedDeps(root)
	if err != nil {
		t.Fatal(err)
	}
	const name = "testdata/embed-deps.txt"
	if golden() {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s is missing: run make golden", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range missing(want, got) {
		t.Errorf("no longer linked: %s", line)
	}
	for _, line := range missing(got, want) {
		t.Errorf("newly linked by every embedding program: %s", line)
	}
	if t.Failed() {
		t.Log("if that is meant, run make golden and say in the commit why")
	}
}

func embedDeps(root string) ([]byte, error) {
	const format = `{{if not .Standard}}{{.ImportPath}}{{end}}`
	cmd := exec.Command("go", "list", "-deps", "-f", format, ".", "./store/sqlite")
	cmd.Dir = root
	// One platform, so that the list is the same on every machine.
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0",
		"GOFLAGS=-mod=readonly", "GOWORK=off")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, errs.Bytes())
	}
	lines := strings.Fields(string(out))
	slices.Sort(lines)
	return []byte(strings.Join(lines, "\n") + "\n"), nil
}

// missing returns the lines of a that b has not.
func missing(a, b []byte) (lines []string) {
	have := strings.Split(string(b), "\n")
	for line := range strings.SplitSeq(string(a), "\n") {
		if !slices.Contains(have, line) {
			lines = append(lines, line)
		}
	}
	return lines
}
