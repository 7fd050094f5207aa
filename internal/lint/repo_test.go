package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// modulePath is the module's name; imports below it are "ours".
const modulePath = "github.com/ax-sched/ax"

// repo is the repository, read and parsed.
type repo struct {
	fset   *token.FileSet
	pkgs   map[string]*pkg // by folder relative to the root, "" for the root package
	texts  []text          // every file that git would keep and a person can read
	places []string        // absolute paths of the machine that no file may contain
}

// pkg is a folder of Go files, tests included, whatever their build tags.
type pkg struct {
	dir   string
	files []*file
}

// file is one Go file.
type file struct {
	text
	pkg    *pkg
	ast    *ast.File
	isTest bool // named _test.go
}

// text is one file as it is.
type text struct {
	path string // relative to the root, with slashes
	data []byte
}

func (t text) lines() int { return bytes.Count(t.data, []byte("\n")) }

// load reads a repository. Go files in testdata and in nested modules are texts only.
func load(fsys fs.FS) (*repo, error) {
	r := &repo{fset: token.NewFileSet(), pkgs: map[string]*pkg{}}
	ignore, err := readIgnore(fsys)
	if err != nil {
		return nil, err
	}
	nested := "" // the nested module that the walk is in
	err = fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case p != "." && (d.Name() == ".git" || ignore.match(p, d.IsDir())):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			if _, err := fs.Stat(fsys, path.Join(p, "go.mod")); err == nil && p != "." {
				nested = p + "/"
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		inNested := nested != "" && strings.HasPrefix(p, nested)
		return r.add(fsys, p, !inNested)
	})
	return r, err
}

func (r *repo) add(fsys fs.FS, p string, ourModule bool) error {
	data, err := fs.ReadFile(fsys, p)
	if err != nil {
		return err
	}
	if bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 {
		return nil // not a text
	}
	t := text{p, data}
	r.texts = append(r.texts, t)
	isData := slices.Contains(strings.Split(p, "/"), "testdata")
	if !ourModule || isData || path.Ext(p) != ".go" {
		return nil
	}
	const mode = parser.ParseComments | parser.SkipObjectResolution
	a, err := parser.ParseFile(r.fset, p, data, mode)
	if err != nil {
		return err
	}
	dir := path.Dir(p)
	if dir == "." {
		dir = ""
	}
	k := r.pkgs[dir]
	if k == nil {
		k = &pkg{dir: dir}
		r.pkgs[dir] = k
	}
	k.files = append(k.files, &file{t, k, a, strings.HasSuffix(p, "_test.go")})
	return nil
}

// sorted returns the packages by folder, so that messages come in a fixed order.
func (r *repo) sorted() []*pkg {
	var all []*pkg
	for _, k := range r.pkgs {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b *pkg) int { return strings.Compare(a.dir, b.dir) })
	return all
}

// each calls f for all Go files.
func (r *repo) each(f func(*file)) {
	for _, k := range r.sorted() {
		for _, x := range k.files {
			f(x)
		}
	}
}

// at makes a message about a place in a Go file.
func (r *repo) at(n ast.Node, format string, args ...any) string {
	p := r.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d: %s", p.Filename, p.Line, fmt.Sprintf(format, args...))
}

// code returns the files that are part of the package as others import it.
func (k *pkg) code() []*file {
	return slices.DeleteFunc(slices.Clone(k.files), func(f *file) bool { return f.isTest })
}

func (k *pkg) isMain() bool {
	return slices.ContainsFunc(k.code(), func(f *file) bool { return f.ast.Name.Name == "main" })
}

// isTestSupport reports whether a package exists for tests: suites, harnesses, this one.
func (k *pkg) isTestSupport() bool { return isTestSupport(k.dir) }

func isTestSupport(dir string) bool {
	return strings.HasSuffix(dir, "test") || slices.Contains(testSupport, dir)
}

// String is how messages call a package.
func (k *pkg) String() string { return show(k.dir) }

func show(dir string) string {
	if dir == "" {
		return "ax (root)"
	}
	return dir
}

// forTests reports whether code in f runs only in tests.
func (f *file) forTests() bool { return f.isTest || f.pkg.isTestSupport() }

// imports returns the packages of ours that f imports, as folders.
func (f *file) imports() map[string]*ast.ImportSpec {
	ours := map[string]*ast.ImportSpec{}
	for _, s := range f.ast.Imports {
		p := strings.Trim(s.Path.Value, "`\"")
		if p == modulePath {
			ours[""] = s
		} else if dir, ok := strings.CutPrefix(p, modulePath+"/"); ok {
			ours[dir] = s
		}
	}
	return ours
}

// importSpec returns the import of a package by its path, nil if f does not import it.
func (f *file) importSpec(p string) *ast.ImportSpec {
	for _, s := range f.ast.Imports {
		if strings.Trim(s.Path.Value, "`\"") == p {
			return s
		}
	}
	return nil
}

// selects reports whether n is pkgPath.name for one of the names, as f calls that package.
func (f *file) selects(n ast.Node, pkgPath string, names ...string) (string, bool) {
	s, ok := n.(*ast.SelectorExpr)
	if !ok || !slices.Contains(names, s.Sel.Name) {
		return "", false
	}
	x, ok := s.X.(*ast.Ident)
	if !ok {
		return "", false
	}
	spec := f.importSpec(pkgPath)
	if spec == nil {
		return "", false
	}
	name := path.Base(pkgPath)
	if spec.Name != nil {
		name = spec.Name.Name
	}
	return x.Name + "." + s.Sel.Name, x.Name == name
}

// ignore is the part of .gitignore that this repository uses: names and anchored paths, with
// wildcards inside a name.
type ignore []string

func readIgnore(fsys fs.FS) (ignore, error) {
	data, err := fs.ReadFile(fsys, ".gitignore")
	if err != nil {
		return nil, err
	}
	var ig ignore
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			ig = append(ig, line)
		}
	}
	return ig, nil
}

func (ig ignore) match(p string, isDir bool) bool {
	for _, pattern := range ig {
		pattern, onlyDir := strings.CutSuffix(pattern, "/")
		pattern, anchored := strings.CutPrefix(pattern, "/")
		name := path.Base(p)
		if anchored {
			name = p
		}
		if ok, err := path.Match(pattern, name); ok && err == nil && (isDir || !onlyDir) {
			return true
		}
	}
	return false
}
