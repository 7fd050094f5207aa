package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// sources are the files of a small repository.
type sources map[string]string

// parse makes a repository from sources; what every repository has is added.
func parse(t *testing.T, s sources) *repo {
	t.Helper()
	fsys := fstest.MapFS{
		".gitignore": {Data: []byte("/bin/\n*.db\n")},
		"go.mod":     {Data: []byte("module " + modulePath + "\n\n" + goLine + "\n")},
	}
	for p, src := range s {
		fsys[p] = &fstest.MapFile{Data: []byte(src)}
	}
	r, err := load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	r.places = []string{"/place/of/work"}
	return r
}

// TestRulesCanFail gives each rule what it must refuse, and what it must let pass.
func TestRulesCanFail(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			c, ok := selfTests[r.name]
			if !ok || len(c.bad) == 0 || len(c.good) == 0 {
				t.Fatal("this rule has no self-test")
			}
			for want, s := range c.bad {
				got := r.check(parse(t, s))
				if !slices.ContainsFunc(got, func(m string) bool {
					return strings.Contains(m, want)
				}) {
					t.Errorf("%v\nfound %q, want one with %q", s, got, want)
				}
			}
			for i, s := range c.good {
				if got := r.check(parse(t, s)); len(got) > 0 {
					t.Errorf("good case %d: found %q", i, got)
				}
			}
		})
	}
	for name := range maps.Keys(selfTests) {
		if !slices.ContainsFunc(rules, func(r rule) bool { return r.name == name }) {
			t.Errorf("self-test %q is for no rule", name)
		}
	}
}

// selfTest has repositories that a rule refuses, by a part of the message, and others that it
// lets pass.
type selfTest struct {
	bad  map[string]sources
	good []sources
}

func imports(name, path string) string {
	return fmt.Sprintf("package %s\n\nimport _ %q\n", name, path)
}

// task is a file of package task, given by its lines.
func task(lines ...string) string {
	return "package task\n" + strings.Join(lines, "\n")
}

// described is the same with a package comment.
func described(lines ...string) string {
	return "// Package task is.\n" + task(lines...)
}

func body(imports, stmts string) string {
	return "package task\n\nimport (\n" + imports + "\n)\n\nfunc f() {\n" + stmts + "\n}\n"
}

// long returns a function of n lines.
func long(name string, n int) string {
	return "func " + name + "() {\n" + strings.Repeat("\n", n-2) + "}\n"
}

var selfTests = map[string]selfTest{
	"imports": {
		bad: map[string]sources{
			"task/a.go:3: task may not import store": {
				"task/a.go": imports("task", modulePath+"/store")},
			"cron may not import ax (root)":                {"cron/a.go": imports("cron", modulePath)},
			"surprise: not in the import table: add a row": {"surprise/a.go": "package surprise"},
			"an example may not import internal/wheel": {
				"examples/x/main.go": imports("main", modulePath+"/internal/wheel")},
		},
		good: []sources{
			{"store/a.go": imports("store", modulePath+"/task")},
			{"task/a_test.go": imports("task", modulePath+"/store/storetest")},
			{"task/a.go": imports("task", modulePath+"/internal/plant")},
			{"examples/x/main.go": imports("main", modulePath+"/store/sqlite")},
			{"other/go.mod": "module other", "other/a.go": "package other"},
			{"task/testdata/a.go": "package broken ("},
		},
	},
	"testing": {
		bad: map[string]sources{
			"task/a.go:3: product code imports testing": {"task/a.go": imports("task", "testing")},
			"product code imports testing/synctest": {
				"cron/a.go": imports("cron", "testing/synctest")},
			"internal/plant/a.go:3: product code imports testing/fstest": {
				"internal/plant/a.go": imports("plant", "testing/fstest")},
		},
		good: []sources{
			{"task/a_test.go": imports("task", "testing")},
			{"store/storetest/a.go": imports("storetest", "testing")},
			{"internal/testdb/a.go": imports("testdb", "testing")},
		},
	},
	"goroutines": {
		bad: map[string]sources{
			"go starts a goroutine": {"task/a.go": body("", "go f()")},
			"time.AfterFunc starts": {"task/a.go": body(`"time"`, "time.AfterFunc(1, f)")},
			"a.go:9: WaitGroup.Go starts": {
				"task/a.go": body(`s "sync"`, "var wg s.WaitGroup\nwg.Go(f)")},
			"b.go:3: WaitGroup.Go starts": {
				"task/a.go": task("import \"sync\"", "type t struct { w *sync.WaitGroup }"),
				"task/b.go": task("", "func (x *t) f() { x.w.Go(nil) }")},
		},
		good: []sources{
			{"task/a_test.go": body("", "go f()")},
			{"internal/group/a.go": "package group\n\nfunc f() { go f() }"},
			{"task/a.go": body("", "g.Go(f)")},
			{"store/storetest/a.go": "package storetest\n\nfunc f() { go f() }"},
		},
	},
	"pure": {
		bad: map[string]sources{
			"task/a.go:9: time.Now":         {"task/a.go": body(`"time"`, "\ntime.Now()")},
			"clock.Since in a pure package": {"task/a.go": body(`clock "time"`, "clock.Since(x)")},
			"time.Now in a pure package": {
				"cron/a.go": "package cron\nimport \"time\"\nvar n = time.Now"},
			"internal/wheel/a.go:3: time.After": {"internal/wheel/a.go": "package wheel\n" +
				"import \"time\"\nvar c = time.After(1)"},
		},
		good: []sources{
			{"task/a.go": body(`"time"`, "time.Unix(0, 0)")},
			{"task/a.go": body(`"time"`, "clock.Now()")},
			{"task/a_test.go": body(`"time"`, "time.Now()")},
			{"internal/clock/a.go": "package clock\n\nimport \"time\"\n\nvar n = time.Now"},
		},
	},
	"contexts": {
		bad: map[string]sources{
			"context.Background: take the caller's": {
				"task/a.go": body(`"context"`, "context.Background()")},
		},
		good: []sources{
			{"task/a_test.go": body(`"context"`, "context.Background()")},
			{"cmd/ax/a.go": "package main\nimport \"context\"\nvar c = context.Background()"},
			{"task/a.go": body(`"context"`, "context.WithoutCancel(nil)")},
		},
	},
	"sleeps": {
		bad: map[string]sources{
			"task/a.go:8: time.Sleep": {"task/a.go": body(`"time"`, "time.Sleep(1)")},
			"task/a_test.go":          {"task/a_test.go": body(`"time"`, "time.Sleep(1)")},
		},
		good: []sources{
			{"task/a_test.go": body("\"time\"\n\"testing/synctest\"", "time.Sleep(1)")},
			{"task/a_test.go": body("\"time\"\n\""+modulePath+"/axtest\"", "time.Sleep(1)")},
			{"cmd/ax/a.go": "package main\nimport \"time\"\nfunc f() { time.Sleep(1) }"},
		},
	},
	"skips": {
		bad: map[string]sources{
			"t.Skip:": {"task/a_test.go": "package task\nimport \"testing\"\n" +
				"func TestA(t *testing.T) { t.Skip() }"},
			"inner.SkipNow:": {"task/a_test.go": "package task\nimport \"testing\"\n" +
				"func TestA(t *testing.T) { f(func(inner *testing.T) { inner.SkipNow() }) }"},
			"tb.Skipf:": {"store/storetest/a.go": "package storetest\nimport \"testing\"\n" +
				"func Run(tb testing.TB) { f(func() { tb.Skipf(\"\") }) }"},
		},
		good: []sources{
			{"task/a_test.go": task("func f(t *rapid.T) { t.Skip() }")},
			{"task/a_test.go": "package task\nimport \"testing\"\n" +
				"func TestA(t *testing.T) { t.Fatal(r.Skip()) }"},
		},
	},
	"vars": {
		bad: map[string]sources{
			"n is changed": {"task/a.go": task("var n = 1", "func f() { n++ }")},
			"m is changed": {"task/a.go": task("var m = t{}"),
				"task/b.go": task("func f() { m.x[1] = 2 }")},
			"d is changed":   {"task/a.go": task("var d = map[int]int{}", "func f() { delete(d, 1) }")},
			"late has no va": {"task/a.go": task("var late int")},
			"mu holds state": {"task/a.go": task("import \"sync\"", "var mu = sync.Mutex{}")},
			"p holds state":  {"task/a.go": task("import \"sync/atomic\"", "var p = new(atomic.Int64)")},
			"c holds state":  {"task/a.go": task("var c = make(chan int)")},
			"g holds state":  {"task/a.go": task("import \"log/slog\"", "var g = slog.Default()")},
			"q has no value": {"cmd/ax/a.go": "package main\nvar (\n\ta = 1\n\tq *int\n)"},
		},
		good: []sources{
			{"task/a.go": task("import \"errors\"", "var ErrGone = errors.New(\"gone\")")},
			{"task/a.go": task("var _ I = (*t)(nil)", "var names = map[int]string{1: \"a\"}")},
			{"task/a.go": task("import \"embed\"", "//go:embed *.sql", "var files embed.FS")},
			{"task/a.go": task("var n = 1", "func f() { n := 2; n = 3; g(n) }")},
			{"task/a.go": task("var n = t{}", "func f(n t) { n.x = 3 }")},
			{"task/a_test.go": task("var n int")},
			{"internal/testdb/a.go": "package testdb\nvar n int"},
		},
	},
	"init": {
		bad: map[string]sources{
			"task/a.go:2: init function": {"task/a.go": task("func init() {}")},
		},
		good: []sources{
			{"task/a.go": task("func (t T) init() {}")},
		},
	},
	"sizes": {
		bad: map[string]sources{
			"task/a_test.go: 801 lines, at most 800": {
				"task/a_test.go": "package task\n" + strings.Repeat("\n", 800)},
			"half of the files have more than 151 lines": {
				"task/a.go": "package task\n" + strings.Repeat("\n", 150)},
			"task/a.go:2: f has 101 lines": {"task/a.go": "package task\n" + long("f", 101)},
			"1 of 1 functions have more than 60 lines, at most 3 %: f": {
				"task/a.go": "package task\n" + long("f", 61)},
			"task: 3200 lines, at most 3000":                  manyFiles("task", 4),
			"ax (root): 1600 lines, at most 1500":             manyFiles(".", 2),
			"executor: imports 8 packages of ours, at most 7": importsMany("executor", 8),
			"an import chain of 9 packages":                   chainOf(9),
		},
		good: []sources{
			{"task/a.go": "package task\n" + strings.Repeat("\n", 149),
				"task/a_test.go": "package task\n" + long("f", 700)},
			{"task/a.go": "package task\n" + long("f", 60)},
			manyFiles("store/storetest", 4),
			{"store/a.go": "package store\n" + strings.Repeat("\n", 149),
				"store/queries.go": "package store\n" + strings.Repeat("\n", 700)},
			importsMany("executor", 7),
			importsMany("cmd/ax", 8),
			chainOf(7),
		},
	},
	"columns": {
		bad: map[string]sources{
			"task/a.go:2: 101 columns": {
				"task/a.go": "package task\n// " + strings.Repeat("a ", 48) + "ab"},
		},
		good: []sources{
			{"task/a.go": "package task\n// " + strings.Repeat("a ", 48) + "b"},
			{"task/a.go": "package task\n// " + strings.Repeat("a", 200)},
			{"task/a.go": "package task\ntype T struct {\n\tA int `help:\"" +
				strings.Repeat("a ", 60) + "\"`\n}"},
		},
	},
	"docs": {
		bad: map[string]sources{
			"task: no package comment":  {"task/a.go": "package task"},
			"function F has no comment": {"task/a.go": task("func F() {}")},
			"function M has no comment": {"task/a.go": task("func (t *T[K]) M() {}")},
			"type T has no comment":     {"task/a.go": task("type T int")},
			"const C has no comment": {
				"task/a.go": task("const (", "// B is.", "B = 1", "", "C = 2", ")")},
			"var V has no comment": {"task/a.go": task("var V = 1")},
			"a.go:4: method M has no comme": {
				"task/a.go": task("// I is.", "type I interface {", "M()", "}")},
		},
		good: []sources{
			{"task/a.go": "// Package task is.\npackage task\n\n// F does.\nfunc F() {}"},
			{"task/a.go": described("// All kinds.", "const (", "A = 1", "", "B = 2", ")")},
			{"internal/admit/a.go": described("// I is.", "type I interface {", "M()", "}")},
			{"task/a.go": "// Package task is.\npackage task\n\nfunc f() {}\nfunc (t t) M() {}\n" +
				"func (t *E) Error() string { return \"\" }"},
			{"cmd/ax/a.go": "package main\nfunc F() {}"},
			{"task/a_test.go": task("func F() {}")},
		},
	},
	"names": {
		bad: map[string]sources{
			"package util:":     {"task/util/a.go": "package util"},
			"type TaskManager:": {"task/a.go": task("type TaskManager int")},
			"function GetTask:": {"task/a.go": task("func (t T) GetTask() {}")},
		},
		good: []sources{
			{"task/a.go": task("type Task int", "func Get() {}", "func Getaway() {}")},
		},
	},
	"logs": {
		bad: map[string]sources{
			`a.go:2: key "taskID" is not in`: {"task/a.go": task(
				`func f() { x.Logger.Info("done", "kind", k, "taskID", id) }`)},
			`key "for" is not in`: {"task/a.go": task(`func f() { log.With("for", 1) }`)},
			"a key that is no literal": {"task/a.go": task(
				`func f() { c.logger.Warn("a" + "b", key, 1) }`)},
			`key "error" has no value`: {"task/a.go": task(`func f() { log.Error("a", "error") }`)},
		},
		good: []sources{
			{"task/a.go": task(`func f() { x.Logger.Debug("done", "task_id", id, "error", err) }`)},
			{"task/a.go": task(`func f() { t.Error("no log", x); log.Error("alone"); log.Warn() }`)},
			{"task/a.go": task(`func f() { log.With(attrs...); log.Info("a", attrs...) }`)},
			{"task/a_test.go": task(`func f() { log.Info("a", "anything", 1) }`)},
		},
	},
	"texts": {
		bad: map[string]sources{
			"README.md:2: TO" + "DO":               {"README.md": "a\nTO" + "DO: b\n"},
			"a.sql:1: FIX" + "ME":                  {"store/testdata/a.sql": "-- FIX" + "ME\n"},
			"Makefile:1: names the registry":       {"Makefile": "P=https://proxy.golang" + ".org\n"},
			"a.go:1: names /place/of/work, a fold": {"task/a.go": "package task // /place/of/work/x\n"},
		},
		good: []sources{
			{"README.md": "a Todo, not a mark\n"},
			{"README.md": "https://example.org/place/of/work/x and /place/of/workers\n"},
			{"go.sum": "h1:a/X" + "XX+=\n"},
			{"bin/notes.txt": "TO" + "DO\n", "task/a.db": "TO" + "DO\n"},
			{"logo.png": "\x00 TO" + "DO\n"},
		},
	},
	"gomod": {
		bad: map[string]sources{
			`"go 1.26.0": want`:                {"go.mod": "module m\n\ngo 1.26.0\n"},
			`"toolchain go1.26.8": want`:       {"go.mod": goLine + "\ntoolchain go1.26.8\n"},
			`"replace a => ../a": want`:        {"go.mod": goLine + "\nreplace a => ../a\n"},
			`go.mod: no line "` + goLine + `"`: {"go.mod": "module m\n"},
		},
		good: []sources{{}},
	},
}

// manyFiles is a package of n files with 800 lines each, and small ones for the median.
func manyFiles(dir string, n int) sources {
	s := sources{}
	for i := range n {
		s[fmt.Sprintf("%s/big%d.go", dir, i)] = "package p\n" + strings.Repeat("\n", 799)
		s[fmt.Sprintf("cron/small%d.go", 2*i)] = "package cron\n"
		s[fmt.Sprintf("cron/small%d.go", 2*i+1)] = "package cron\n"
	}
	for p, src := range s {
		delete(s, p)
		s[strings.TrimPrefix(p, "./")] = src
	}
	return s
}

// importsMany is a package that imports n of ours.
func importsMany(dir string, n int) sources {
	src := "package p\n"
	if strings.HasPrefix(dir, "cmd/") {
		src = "package main\n"
	}
	for i := range n {
		src += fmt.Sprintf("import _ %q\n", fmt.Sprintf("%s/p%d", modulePath, i))
	}
	return sources{dir + "/a.go": src}
}

// chainOf is n packages, each of which imports the next.
func chainOf(n int) sources {
	s := sources{}
	for i := range n - 1 {
		s[fmt.Sprintf("p%d/a.go", i)] = imports("p", fmt.Sprintf("%s/p%d", modulePath, i+1))
	}
	s[fmt.Sprintf("p%d/a.go", n-1)] = "package p\n"
	return s
}

func TestTableCanFail(t *testing.T) {
	for want, table := range map[string]map[string][]string{
		"a: allowed import b has no row":         {"a": {"b"}},
		"a: allowed import atest is for tests":   {"a": {"atest"}, "atest": {}},
		"b: the table lets it import itself":     {"a": {"b"}, "b": {"c"}, "c": {"b"}},
		"ax (root): the table lets it import it": {"": {"a"}, "a": {""}},
	} {
		if got := checkTable(table); !slices.ContainsFunc(got, func(m string) bool {
			return strings.Contains(m, want)
		}) {
			t.Errorf("found %q, want one with %q", got, want)
		}
	}
}

func TestReplaceBlock(t *testing.T) {
	doc := "before\n" + blockBegin + "former\n" + blockEnd + "after\n"
	got, err := replaceBlock(doc, printTable(map[string][]string{"": {"b", "a"}, "a": {}}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"before\n", "after\n", "| `ax (root)` | `a`, `b` |\n| `a` | - |\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if strings.Contains(got, "former") {
		t.Errorf("%q has the old block", got)
	}
	again, err := replaceBlock(got, printTable(map[string][]string{"": {"b", "a"}, "a": {}}))
	if err != nil || again != got {
		t.Errorf("a second time it changes: %q, %v", again, err)
	}
	for _, bad := range []string{"nothing", blockBegin, blockEnd + blockBegin} {
		if _, err := replaceBlock(bad, ""); err == nil {
			t.Errorf("no error for a document %q", bad)
		}
	}
}
