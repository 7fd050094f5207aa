package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// docs counts the exported identifiers of a package and those without a comment. Fields are
// counted apart: most say all with their name and type, and a comment that repeats it is noise.
type docs struct {
	exported           int
	fields, bareFields int
	bad                []string
	internal           bool
}

// checkDocs wants a comment on each package and on everything exported, fields apart.
func checkDocs(r *repo) (bad []string) {
	for _, k := range r.sorted() {
		bad = append(bad, r.docsOf(k).bad...)
	}
	return bad
}

// docsOf reads the product files of a package that others can import.
func (r *repo) docsOf(k *pkg) docs {
	d := docs{internal: slices.Contains(strings.Split(k.dir, "/"), "internal")}
	if k.isMain() || len(k.code()) == 0 {
		return d
	}
	described := false
	for _, f := range k.code() {
		described = described || f.ast.Doc != nil
		for _, decl := range f.ast.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				d.function(r, decl)
			case *ast.GenDecl:
				d.general(r, decl)
			}
		}
	}
	if !described {
		d.bad = append(d.bad, fmt.Sprintf("%s: no package comment", k))
	}
	return d
}

func (d *docs) want(r *repo, id *ast.Ident, what string, has bool) {
	if !id.IsExported() {
		return
	}
	d.exported++
	if !has {
		d.bad = append(d.bad, r.at(id, "%s %s has no comment", what, id.Name))
	}
}

// function passes methods of unexported types over, since nobody can look them up, and those
// whose meaning the standard library fixes.
func (d *docs) function(r *repo, fn *ast.FuncDecl) {
	if fn.Recv != nil && len(fn.Recv.List) == 1 {
		if id := base(withoutTypeArgs(fn.Recv.List[0].Type)); id != nil && !id.IsExported() {
			return
		}
	}
	if fn.Recv != nil && slices.Contains([]string{"Error", "Unwrap"}, fn.Name.Name) {
		return
	}
	d.want(r, fn.Name, "function", fn.Doc != nil)
}

func withoutTypeArgs(e ast.Expr) ast.Expr {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if l, ok := e.(*ast.IndexListExpr); ok {
		return l.X
	}
	return e // base takes one argument off
}

func (d *docs) general(r *repo, g *ast.GenDecl) {
	run := r.run(g.Doc != nil)
	for _, s := range g.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			d.want(r, s.Name, "type", s.Doc != nil || g.Doc != nil && len(g.Specs) == 1)
			if s.Name.IsExported() {
				d.members(r, s.Type)
			}
		case *ast.ValueSpec:
			has := run(s, s.Doc, s.Comment)
			for _, id := range s.Names {
				d.want(r, id, g.Tok.String(), has)
			}
		}
	}
}

// members looks at the fields of a struct and the methods of an interface. An interface in an
// internal package names the part of a contract that its package uses: the contract explains
// the methods.
func (d *docs) members(r *repo, t ast.Expr) {
	run := r.run(false)
	switch t := t.(type) {
	case *ast.StructType:
		for _, f := range t.Fields.List {
			has := run(f, f.Doc, f.Comment)
			for _, id := range f.Names {
				if id.IsExported() {
					d.fields++
				}
				if id.IsExported() && !has {
					d.bareFields++
				}
			}
		}
	case *ast.InterfaceType:
		for _, f := range t.Methods.List {
			has := run(f, f.Doc, f.Comment)
			for _, id := range f.Names {
				d.want(r, id, "method", has || d.internal)
			}
		}
	}
}

// run returns a function that tells of each of a list of lines whether it is commented: above,
// behind, or by the comment above the unbroken run of lines that it stands in. A comment on
// the whole group serves all.
func (r *repo) run(group bool) func(n ast.Node, doc, behind *ast.CommentGroup) bool {
	last, covered := -1, false
	return func(n ast.Node, doc, behind *ast.CommentGroup) bool {
		first := r.line(n.Pos())
		if doc != nil {
			covered = true
		} else if first != last+1 {
			covered = false
		}
		last = r.line(n.End())
		return group || covered || behind != nil
	}
}

func (r *repo) line(p token.Pos) int { return r.fset.Position(p).Line }

// checkNames refuses names that say nothing.
func checkNames(r *repo) (bad []string) {
	r.each(func(f *file) {
		switch f.ast.Name.Name {
		case "util", "utils", "helper", "helpers", "common", "misc", "shared":
			bad = append(bad, r.at(f.ast, "package %s: name what it does", f.ast.Name.Name))
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				for _, word := range []string{"Manager", "Helper", "Impl", "Info"} {
					if strings.HasSuffix(n.Name.Name, word) {
						bad = append(bad, r.at(n, "type %s: a name without %q says more",
							n.Name.Name, word))
					}
				}
			case *ast.FuncDecl:
				rest, get := strings.CutPrefix(n.Name.Name, "Get")
				if get && rest != "" && strings.ToUpper(rest[:1]) == rest[:1] {
					bad = append(bad, r.at(n, "function %s: leave Get out", n.Name.Name))
				}
			}
			return true
		})
	})
	return bad
}
