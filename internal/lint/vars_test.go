package lint

import (
	"go/ast"
	"go/token"
	"slices"
)

// checkVars sees package variables that vary: state that all users of a package in one
// process would share. What stays as it was made at start-up may be a variable: errors,
// tables, compiled patterns, embedded files.
func checkVars(r *repo) (bad []string) {
	for _, k := range r.sorted() {
		if k.isTestSupport() {
			continue
		}
		changed := changedNames(k)
		for _, f := range k.code() {
			for _, s := range f.packageVars() {
				for i, id := range s.spec.Names {
					why := f.variable(s, i, changed)
					if why != "" && varying[k.dir+"."+id.Name] == "" {
						bad = append(bad, r.at(id, "package variable %s %s: put it into a "+
							"struct, or enter it with a reason in `varying` in "+
							"internal/lint/table_test.go", id.Name, why))
					}
				}
			}
		}
	}
	return bad
}

// packageVar is one line of a var declaration; embed tells whether a file is embedded in it.
type packageVar struct {
	spec  *ast.ValueSpec
	embed bool
}

func (f *file) packageVars() (vars []packageVar) {
	for _, d := range f.ast.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			embed := hasDirective(g.Doc, "//go:embed") || hasDirective(v.Doc, "//go:embed")
			vars = append(vars, packageVar{v, embed})
		}
	}
	return vars
}

func hasDirective(c *ast.CommentGroup, directive string) bool {
	if c == nil {
		return false
	}
	return slices.ContainsFunc(c.List, func(c *ast.Comment) bool {
		return len(c.Text) > len(directive) && c.Text[:len(directive)] == directive
	})
}

// variable returns why the i-th name of a declaration can vary, "" if it cannot.
func (f *file) variable(v packageVar, i int, changed map[string]bool) string {
	name := v.spec.Names[i].Name
	switch {
	case name == "_" || v.embed:
		return ""
	case changed[name]:
		return "is changed after its declaration"
	case len(v.spec.Values) == 0:
		return "has no value of its own, so it must vary"
	}
	value := v.spec.Values[min(i, len(v.spec.Values)-1)]
	if f.isState(v.spec.Type) || f.isState(value) {
		return "holds state"
	}
	return ""
}

// isState reports whether a type or a value is of a kind that exists to be changed.
func (f *file) isState(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ChanType:
		return true
	case *ast.CompositeLit:
		return f.isState(e.Type)
	case *ast.UnaryExpr:
		return f.isState(e.X)
	case *ast.StarExpr:
		return f.isState(e.X)
	case *ast.IndexExpr:
		return f.isState(e.X)
	case *ast.CallExpr:
		if id, ok := e.Fun.(*ast.Ident); ok && id.Name == "make" || f.isState(e.Fun) {
			return true
		}
		if id, ok := e.Fun.(*ast.Ident); ok && id.Name == "new" && len(e.Args) == 1 {
			return f.isState(e.Args[0])
		}
		return false
	}
	_, locks := f.selects(e, "sync", "Mutex", "RWMutex", "Once", "Map", "Pool", "WaitGroup",
		"Cond")
	_, atomics := f.selects(e, "sync/atomic", "Bool", "Int32", "Int64", "Uint32", "Uint64",
		"Uintptr", "Pointer", "Value")
	_, logger := f.selects(e, "log/slog", "Default", "New")
	return locks || atomics || logger
}

// changedNames returns the package-level names that product code of k assigns to, writes into
// or counts up, outside of their declarations. A write through a pointer goes unseen.
func changedNames(k *pkg) map[string]bool {
	names := map[string]bool{}
	for _, f := range k.code() {
		for _, d := range f.ast.Decls {
			local := localNames(d)
			for _, e := range changedIn(d) {
				if id := base(e); id != nil && !local[id.Name] {
					names[id.Name] = true
				}
			}
		}
	}
	return names
}

// changedIn returns the expressions that a declaration changes.
func changedIn(d ast.Decl) (changed []ast.Expr) {
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				changed = append(changed, n.Lhs...)
			}
		case *ast.IncDecStmt:
			changed = append(changed, n.X)
		case *ast.CallExpr:
			id, ok := n.Fun.(*ast.Ident)
			if ok && (id.Name == "delete" || id.Name == "clear") && len(n.Args) > 0 {
				changed = append(changed, n.Args[0])
			}
		}
		return true
	})
	return changed
}

// localNames returns the names that a function declares anywhere inside. Where one of them
// hides a package variable in only a part of the function, the rest of it goes unseen.
func localNames(d ast.Decl) map[string]bool {
	names := map[string]bool{}
	fn, ok := d.(*ast.FuncDecl)
	if !ok {
		return names
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, id := range n.Names {
				names[id.Name] = true
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				names[id.Name] = true
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				addIdents(names, n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				addIdents(names, n.Key, n.Value)
			}
		}
		return true
	})
	return names
}

func addIdents(names map[string]bool, list ...ast.Expr) {
	for _, e := range list {
		if id, ok := e.(*ast.Ident); ok {
			names[id.Name] = true
		}
	}
}

// base returns the variable that an expression such as x.f[i] is a part of.
func base(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// checkInit keeps work out of the start of every program that imports us.
func checkInit(r *repo) (bad []string) {
	r.each(func(f *file) {
		if f.isTest {
			return
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				bad = append(bad, r.at(fn, "init function: let the caller ask for the work"))
			}
		}
	})
	return bad
}
