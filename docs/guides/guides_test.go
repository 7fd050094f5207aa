// Package guides holds the code of the guides: what stands in a guide is compiled and run here.
package guides

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCodeRuns: each block of Go in a guide stands, line by line, in a test of this folder, where
// it is compiled and run; and the one in the documentation of axtest in an example of it.
func TestCodeRuns(t *testing.T) {
	code := flat(read(t, "*_test.go"))
	for _, path := range glob(t, "*.md") {
		blocks := goBlocks(read(t, path))
		if len(blocks) == 0 {
			t.Errorf("%s has no code", path)
		}
		for _, b := range blocks {
			if !strings.Contains(code, "\n"+flat(b)) {
				t.Errorf("%s: this code is in no test of this folder:\n%s", path, b)
			}
		}
	}
	b := docBlock(read(t, "../../axtest/axtest.go"))
	if len(b) < 200 || !strings.Contains(flat(read(t, "../../axtest/example_test.go")), "\n"+flat(b)) {
		t.Errorf("the package comment of axtest: this code is in no example of it:\n%s", b)
	}
}

var link = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)

// TestLinks: what a guide points to exists.
func TestLinks(t *testing.T) {
	for _, path := range glob(t, "*.md") {
		for _, m := range link.FindAllStringSubmatch(read(t, path), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

// TestGoBlocks: the search for code finds Go and nothing else.
func TestGoBlocks(t *testing.T) {
	got := goBlocks("a\n```go\nx\n\ty\n```\nb\n```\nnot this\n```\n```go\nz\n```\n")
	if want := []string{"x\n\ty\n", "z\n"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	doc := "// Text.\n//\n//\tx\n//\n//\t\ty\n//\n// More.\n//\n//\tz\npackage p\n"
	if got := docBlock(doc); got != "x\n\n\ty\n" {
		t.Errorf("%q", got)
	}
}

// goBlocks returns the blocks of Go in a text of Markdown.
func goBlocks(text string) []string { return blocks(text, "go") }

// blocks returns the blocks of a language in a text of Markdown.
func blocks(text, language string) (blocks []string) {
	block, inside := "", false
	for line := range strings.Lines(text) {
		switch {
		case !inside && strings.TrimSpace(line) == "```"+language:
			block, inside = "", true
		case inside && strings.TrimSpace(line) == "```":
			blocks, inside = append(blocks, block), false
		case inside:
			block += line
		}
	}
	return blocks
}

// docBlock returns the first code in a package comment.
func docBlock(text string) (block string) {
	for line := range strings.Lines(text) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			block += code
		} else if block != "" && line != "//\n" {
			break
		} else if block != "" {
			block += "\n"
		}
	}
	return strings.TrimRight(block, "\n") + "\n"
}

// flat takes off the indentation, which differs between a guide and a function.
func flat(text string) string {
	var b strings.Builder
	for line := range strings.Lines("\n" + text) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()[1:]
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no file is like %s: %v", pattern, err)
	}
	return paths
}

// read returns the texts of the files.
func read(t *testing.T, pattern string) string {
	t.Helper()
	var b strings.Builder
	for _, path := range glob(t, pattern) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
		b.WriteString("\n")
	}
	return b.String()
}
