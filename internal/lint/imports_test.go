package lint

import (
	"fmt"
	"slices"
	"strings"
)

// checkImports holds the product code against the table.
func checkImports(r *repo) (bad []string) {
	for _, k := range r.sorted() {
		if strings.HasPrefix(k.dir, "examples/") {
			bad = append(bad, exampleImports(r, k)...)
			continue
		}
		allowed, ok := table[k.dir]
		if !ok {
			bad = append(bad, fmt.Sprintf("%s: not in the import table: add a row for it to "+
				"`table` in internal/lint/table_test.go, then run make golden", k))
			continue
		}
		for _, f := range k.code() {
			for dir, spec := range f.imports() {
				if !slices.Contains(allowed, dir) && dir != plant {
					bad = append(bad, r.at(spec, "%s may not import %s: see `table` in "+
						"internal/lint/table_test.go", k, show(dir)))
				}
			}
		}
	}
	return bad
}

// exampleImports lets the programs in examples import what a user could.
func exampleImports(r *repo, k *pkg) (bad []string) {
	for _, f := range k.code() {
		for dir, spec := range f.imports() {
			if slices.Contains(strings.Split(dir, "/"), "internal") {
				bad = append(bad, r.at(spec, "an example may not import %s: "+
					"its reader cannot", dir))
			}
		}
	}
	return bad
}

// checkTable holds the table itself to its promises: one way, no dangling names, no test
// packages in the product.
func checkTable(table map[string][]string) (bad []string) {
	for from, allowed := range table {
		for _, to := range allowed {
			if _, ok := table[to]; !ok {
				bad = append(bad, fmt.Sprintf("%s: allowed import %s has no row",
					show(from), show(to)))
			}
			if isTestSupport(to) && !isTestSupport(from) {
				bad = append(bad, fmt.Sprintf("%s: allowed import %s is for tests",
					show(from), show(to)))
			}
		}
		if slices.Contains(reach(table, from), from) {
			bad = append(bad, fmt.Sprintf("%s: the table lets it import itself in a circle",
				show(from)))
		}
	}
	return bad
}

// reach returns all packages that from imports, directly or not.
func reach(edges map[string][]string, from string) []string {
	var seen []string
	next := slices.Clone(edges[from])
	for len(next) > 0 {
		to := next[0]
		next = next[1:]
		if !slices.Contains(seen, to) {
			seen = append(seen, to)
			next = append(next, edges[to]...)
		}
	}
	return seen
}

// edges returns the imports that product code really has.
func (r *repo) edges() map[string][]string {
	edges := map[string][]string{}
	for _, k := range r.sorted() {
		var to []string
		for _, f := range k.code() {
			for dir := range f.imports() {
				if dir != plant {
					to = append(to, dir)
				}
			}
		}
		slices.Sort(to)
		edges[k.dir] = slices.Compact(to)
	}
	return edges
}

// chain returns the longest way down from a package.
func chain(edges map[string][]string, from string) []string {
	var longest []string
	for _, to := range edges[from] {
		if to == from {
			continue
		}
		if c := chain(edges, to); len(c) > len(longest) {
			longest = c
		}
	}
	return append([]string{show(from)}, longest...)
}
