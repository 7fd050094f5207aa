package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// rule looks at a repository and returns what is wrong, with the place.
type rule struct {
	name  string
	check func(*repo) []string
}

// rules are all rules about files, each with its self-test of the same name.
var rules = []rule{
	{"imports", checkImports},
	{"testing", checkTesting},
	{"goroutines", checkGoroutines},
	{"pure", checkPure},
	{"contexts", checkContexts},
	{"sleeps", checkSleeps},
	{"skips", checkSkips},
	{"vars", checkVars},
	{"init", checkInit},
	{"sizes", checkSizes},
	{"columns", checkColumns},
	{"docs", checkDocs},
	{"names", checkNames},
	{"logs", checkLogs},
	{"texts", checkTexts},
	{"gomod", checkGoMod},
}

// here is the repository that the tests run in, read once.
var here = sync.OnceValues(func() (*repo, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	r, err := load(os.DirFS(root))
	if err != nil {
		return nil, err
	}
	r.places = places(root)
	return r, nil
})

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "../.."), nil
}

// places are the folders of this machine that give away where the work was done: the one that
// holds the repository, unless everybody has it, and the user's home.
func places(root string) []string {
	list := []string{root}
	parent := filepath.Dir(root)
	everybodys := []string{"/", "/tmp", "/usr", "/opt", "/var", "/home", "/srv", "/mnt", "/root"}
	if !slices.Contains(everybodys, parent) {
		list = append(list, parent)
	}
	if home, err := os.UserHomeDir(); err == nil && home != "/" {
		list = append(list, home)
	}
	return list
}

func TestRepository(t *testing.T) {
	r, err := here()
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			for _, msg := range rule.check(r) {
				t.Error(msg)
			}
		})
	}
}

func TestTable(t *testing.T) {
	for _, msg := range checkTable(table) {
		t.Error(msg)
	}
}

// TestShape prints the numbers of `make shape`. The budgets are bound by TestRepository; here
// only what cannot be right fails.
func TestShape(t *testing.T) {
	r, err := here()
	if err != nil {
		t.Fatal(err)
	}
	m := r.measure()
	if len(m.fileLines) == 0 || len(m.funcs) == 0 || m.tests == 0 {
		t.Fatal("found no files, no functions or no tests: the repository was not read")
	}
	t.Log("\n" + r.shape(m))
}

func (r *repo) shape(m measures) string {
	var b strings.Builder
	long := m.longFuncs()
	fmt.Fprintf(&b, "files      %d of code, lines: median %d, p90 %d, max %d\n",
		len(m.fileLines), percentile(m.fileLines, 50), percentile(m.fileLines, 90),
		percentile(m.fileLines, 100))
	fmt.Fprintf(&b, "           %d of tests, lines: median %d, p90 %d, max %d\n",
		len(m.testFileLines), percentile(m.testFileLines, 50),
		percentile(m.testFileLines, 90), percentile(m.testFileLines, 100))
	fmt.Fprintf(&b, "lines      code %d, tests %d, tests per line of code %.2f\n",
		m.code, m.tests, float64(m.tests)/float64(m.code))
	fmt.Fprintf(&b, "functions  %d, over %d lines: %d (%.1f %%)\n", len(m.funcs), longFunc,
		len(long), 100*float64(len(long))/float64(len(m.funcs)))
	for _, f := range long {
		fmt.Fprintf(&b, "           %4d  %s  %s\n", f.lines, f.name, f.place)
	}
	fmt.Fprintf(&b, "chain      %d: %s\n\n", len(m.longestChain),
		strings.Join(m.longestChain, " > "))
	r.printPackages(&b, m)
	return b.String()
}

func (r *repo) printPackages(b *strings.Builder, m measures) {
	fmt.Fprintf(b, "%5s %7s %8s %10s %6s %10s  %-26s %s\n", "lines", "fan-out", "exported",
		"documented", "fields", "documented", "package", "allowed but unused")
	for _, k := range r.sorted() {
		d := r.docsOf(k)
		var unused []string
		for _, to := range table[k.dir] {
			if !slices.Contains(m.edges[k.dir], to) {
				unused = append(unused, show(to))
			}
		}
		fmt.Fprintf(b, "%5d %7d %8d %10d %6d %10d  %-26s %s\n", k.lines(), len(m.edges[k.dir]),
			d.exported, d.exported-len(d.bad), d.fields, d.fields-d.bareFields,
			k, strings.Join(unused, " "))
	}
}

// lines counts the lines of the package as others import it.
func (k *pkg) lines() (n int) {
	for _, f := range k.code() {
		n += f.lines()
	}
	return n
}
