package lint

import (
	"go/ast"
	"slices"
	"strings"
)

// checkTesting keeps the testing package, and what it links, out of every user's program.
func checkTesting(r *repo) (bad []string) {
	r.each(func(f *file) {
		if f.forTests() {
			return
		}
		for _, s := range f.ast.Imports {
			p := strings.Trim(s.Path.Value, "`\"")
			if p == "testing" || strings.HasPrefix(p, "testing/") {
				bad = append(bad, r.at(s, "product code imports %s", p))
			}
		}
	})
	return bad
}

// checkGoroutines sees the go keyword and the usual ways round it. context.AfterFunc stays
// allowed: its goroutine lives for one call, and the stop function tells whether it began.
func checkGoroutines(r *repo) (bad []string) {
	for _, k := range r.sorted() {
		if k.dir == goroutines || k.isTestSupport() {
			continue
		}
		waits := waitGroups(k)
		for _, f := range k.code() {
			say := func(n ast.Node, what string) {
				bad = append(bad, r.at(n, "%s starts a goroutine: only %s may, "+
					"so that each has an owner who waits for it", what, goroutines))
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if g, ok := n.(*ast.GoStmt); ok {
					say(g, "go")
				}
				if what, ok := f.selects(n, "time", "AfterFunc"); ok {
					say(n, what)
				}
				if c, ok := n.(*ast.CallExpr); ok && callsGo(c, waits) {
					say(n, "WaitGroup.Go")
				}
				return true
			})
		}
	}
	return bad
}

// waitGroups returns the names of all variables and fields of type sync.WaitGroup in k.
func waitGroups(k *pkg) (names []string) {
	for _, f := range k.code() {
		isWait := func(t ast.Expr) bool {
			if star, ok := t.(*ast.StarExpr); ok {
				t = star.X
			}
			_, ok := f.selects(t, "sync", "WaitGroup")
			return ok
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			var idents []*ast.Ident
			switch n := n.(type) {
			case *ast.ValueSpec:
				if n.Type != nil && isWait(n.Type) {
					idents = n.Names
				}
			case *ast.Field:
				if isWait(n.Type) {
					idents = n.Names
				}
			}
			for _, id := range idents {
				names = append(names, id.Name)
			}
			return true
		})
	}
	return names
}

func callsGo(c *ast.CallExpr, waits []string) bool {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != "Go" {
		return false
	}
	switch x := s.X.(type) {
	case *ast.Ident:
		return slices.Contains(waits, x.Name)
	case *ast.SelectorExpr:
		return slices.Contains(waits, x.Sel.Name)
	}
	return false
}

// checkPure keeps the clock out of the packages that take the time as an argument.
func checkPure(r *repo) (bad []string) {
	for _, dir := range pure {
		k := r.pkgs[dir]
		if k == nil {
			continue
		}
		for _, f := range k.code() {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				what, ok := f.selects(n, "time", "Now", "Since", "Until", "Sleep", "After",
					"Tick")
				if ok {
					bad = append(bad, r.at(n, "%s in a pure package: take the time "+
						"as an argument", what))
				}
				return true
			})
		}
	}
	return bad
}

// checkContexts keeps calls inside the life of their caller.
func checkContexts(r *repo) (bad []string) {
	r.each(func(f *file) {
		exempt := f.forTests() || f.pkg.isMain() || backgrounds[f.path] != ""
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if what, ok := f.selects(n, "context", "Background"); ok && !exempt {
				bad = append(bad, r.at(n, "%s: take the caller's context, or enter the file "+
					"with a reason in `backgrounds` in internal/lint/table_test.go", what))
			}
			return true
		})
	})
	return bad
}

// checkSleeps forbids waiting that nothing can end. In a synctest bubble a sleep is an exact
// step of fake time, so tests that use bubbles may.
func checkSleeps(r *repo) (bad []string) {
	r.each(func(f *file) {
		bubble := f.importSpec("testing/synctest") != nil || f.importSpec(modulePath+"/axtest") != nil
		if bubble || !f.forTests() && f.pkg.isMain() {
			return
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if what, ok := f.selects(n, "time", "Sleep"); ok {
				bad = append(bad, r.at(n, "%s: wait for a condition or a context", what))
			}
			return true
		})
	})
	return bad
}

// checkSkips sees a skipped test: a test that cannot run must fail.
func checkSkips(r *repo) (bad []string) {
	r.each(func(f *file) {
		if !f.forTests() {
			return
		}
		var walk func(n ast.Node, tests []string)
		walk = func(n ast.Node, tests []string) {
			ast.Inspect(n, func(m ast.Node) bool {
				if t, body := function(m); t != nil && m != n {
					if body != nil {
						walk(m, slices.Concat(tests, f.testParams(t)))
					}
					return false
				}
				if s, ok := m.(*ast.SelectorExpr); ok {
					x, ok := s.X.(*ast.Ident)
					if ok && slices.Contains(tests, x.Name) &&
						slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, s.Sel.Name) {
						bad = append(bad, r.at(m, "%s.%s: a test that cannot run must fail",
							x.Name, s.Sel.Name))
					}
				}
				return true
			})
		}
		walk(f.ast, nil)
	})
	return bad
}

func function(n ast.Node) (*ast.FuncType, *ast.BlockStmt) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return n.Type, n.Body
	case *ast.FuncLit:
		return n.Type, n.Body
	}
	return nil, nil
}

// testParams returns the names of the parameters that are a *testing.T or its like.
func (f *file) testParams(t *ast.FuncType) (names []string) {
	for _, p := range t.Params.List {
		typ := p.Type
		if star, ok := typ.(*ast.StarExpr); ok {
			typ = star.X
		}
		if _, ok := f.selects(typ, "testing", "T", "B", "F", "TB"); !ok {
			continue
		}
		for _, id := range p.Names {
			names = append(names, id.Name)
		}
	}
	return names
}
