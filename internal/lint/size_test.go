package lint

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// The budgets. Functions and packages are those of product code; the code of tests is bound
// by the length of its files alone.
const (
	maxFileLines    = 800
	medianFileLines = 150
	longFunc        = 60 // at most longPercent of all functions are longer
	longPercent     = 3
	maxFuncLines    = 100
	maxPkgLines     = 3000
	maxRootLines    = 1500
	maxFanOut       = 7
	maxRootFanOut   = 16
	maxChain        = 8   // that of the demo: command, demo, root, engine, and four down to the wheel
	maxColumns      = 100 // a tab counts as one
)

// measures are the numbers that the budgets bind and `make shape` prints.
type measures struct {
	fileLines     []int // of product files, ascending
	testFileLines []int
	code, tests   int // lines
	funcs         []measuredFunc
	pkgLines      map[string]int
	edges         map[string][]string
	longestChain  []string
}

type measuredFunc struct {
	name, place string
	lines       int
}

func (r *repo) measure() measures {
	m := measures{pkgLines: map[string]int{}, edges: r.edges()}
	r.each(func(f *file) {
		if f.forTests() {
			m.tests += f.lines()
			m.testFileLines = append(m.testFileLines, f.lines())
			return
		}
		m.code += f.lines()
		m.fileLines = append(m.fileLines, f.lines())
		if !strings.HasPrefix(path.Base(f.path), "queries") { // whole statements of SQL
			m.pkgLines[f.pkg.dir] += f.lines()
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				from, to := r.fset.Position(fn.Pos()), r.fset.Position(fn.End())
				m.funcs = append(m.funcs, measuredFunc{fn.Name.Name,
					fmt.Sprintf("%s:%d", f.path, from.Line), to.Line - from.Line + 1})
			}
		}
	})
	slices.Sort(m.fileLines)
	slices.Sort(m.testFileLines)
	slices.SortFunc(m.funcs, func(a, b measuredFunc) int { return cmp.Compare(b.lines, a.lines) })
	for _, k := range r.sorted() {
		if k.isTestSupport() {
			continue
		}
		if c := chain(m.edges, k.dir); len(c) > len(m.longestChain) {
			m.longestChain = c
		}
	}
	return m
}

// longFuncs returns the functions over the length that only a few may exceed.
func (m measures) longFuncs() []measuredFunc {
	return slices.DeleteFunc(slices.Clone(m.funcs), func(f measuredFunc) bool {
		return f.lines <= longFunc
	})
}

// percentile returns the p-th percentile of ascending numbers, 0 of none.
func percentile(sorted []int, p int) int {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*p/100]
}

// checkSizes holds the repository to its budgets.
func checkSizes(r *repo) (bad []string) {
	m := r.measure()
	r.each(func(f *file) {
		if f.lines() > maxFileLines {
			bad = append(bad, fmt.Sprintf("%s: %d lines, at most %d",
				f.path, f.lines(), maxFileLines))
		}
	})
	if got := percentile(m.fileLines, 50); got > medianFileLines {
		bad = append(bad, fmt.Sprintf("half of the files have more than %d lines, at most %d",
			got, medianFileLines))
	}
	for _, f := range m.funcs {
		if f.lines > maxFuncLines {
			bad = append(bad, fmt.Sprintf("%s: %s has %d lines, at most %d",
				f.place, f.name, f.lines, maxFuncLines))
		}
	}
	if long := m.longFuncs(); len(long)*100 > len(m.funcs)*longPercent {
		var list []string
		for _, f := range long {
			list = append(list, fmt.Sprintf("%s (%s, %d)", f.name, f.place, f.lines))
		}
		bad = append(bad, fmt.Sprintf("%d of %d functions have more than %d lines, at most %d %%: %s",
			len(long), len(m.funcs), longFunc, longPercent, strings.Join(list, ", ")))
	}
	return append(bad, m.checkPackages(r)...)
}

func (m measures) checkPackages(r *repo) (bad []string) {
	for _, dir := range slices.Sorted(maps.Keys(m.pkgLines)) {
		lines, fan := maxPkgLines, maxFanOut
		switch dir {
		case "":
			lines, fan = maxRootLines, maxRootFanOut
		case composition:
			fan = maxRootFanOut
		}
		if m.pkgLines[dir] > lines {
			bad = append(bad, fmt.Sprintf("%s: %d lines, at most %d",
				show(dir), m.pkgLines[dir], lines))
		}
		if to := m.edges[dir]; len(to) > fan && !r.pkgs[dir].isMain() {
			bad = append(bad, fmt.Sprintf("%s: imports %d packages of ours, at most %d: %s",
				show(dir), len(to), fan, strings.Join(to, ", ")))
		}
	}
	if len(m.longestChain) > maxChain {
		bad = append(bad, fmt.Sprintf("an import chain of %d packages, at most %d: %s",
			len(m.longestChain), maxChain, strings.Join(m.longestChain, " > ")))
	}
	return bad
}

// structTag ends a field of a struct.
var structTag = regexp.MustCompile("^\t+\\w+ .*`\\w+:\".*`$")

// checkColumns sees lines that do not fit beside each other on a screen. A line whose length
// is that of one word, an address for example, cannot be broken, and neither can a struct tag.
func checkColumns(r *repo) (bad []string) {
	r.each(func(f *file) {
		n := 0
		for line := range strings.Lines(string(f.data)) {
			n++
			line = strings.TrimRight(line, "\n")
			width := len([]rune(line))
			if width > maxColumns && len(strings.Fields(line)) > 2 && !structTag.MatchString(line) {
				bad = append(bad, fmt.Sprintf("%s:%d: %d columns, at most %d",
					f.path, n, width, maxColumns))
			}
		}
	})
	return bad
}
