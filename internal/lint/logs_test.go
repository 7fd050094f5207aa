package lint

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
)

// logKeys are the keys of log lines and what they hold. A line that calls the same thing otherwise
// is not found by who looks for it, so a new key is entered here.
var logKeys = map[string]string{
	"task_id":        "the task",
	"kind":           "its kind",
	"key":            "its business key",
	"job":            "the job whose fire it is, by name",
	"run":            "number of its life",
	"attempt":        "starts in this run",
	"execution_id":   "the attempt",
	"state":          "where the task rests",
	"reason":         "why it rests there",
	"executor":       "name of an executor",
	"node":           "this process",
	"token":          "fencing token",
	"part":           "part of the scheduler",
	"event":          "kind of event",
	"error":          "an error or its text",
	"cause":          "why a context ended",
	"stack":          "of a panic",
	"detail":         "words for a reader",
	"actor":          "the person who acts",
	"verb":           "what the person does",
	"waited":         "how long something has waited",
	"outcomes":       "number of outcomes",
	"executions":     "number of executions",
	"running":        "number of handlers",
	"running_for":    "how long a handler has run",
	"store_ahead_by": "how far the clock of the store is ahead",
	"stepped_by":     "size of a step of the clock",
	"suspended_for":  "how long the machine slept",
}

// checkLogs holds the keys of log lines against the list. It knows a logger by its name.
func checkLogs(r *repo) (bad []string) {
	r.each(func(f *file) {
		if f.forTests() {
			return
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			args, ok := logged(c)
			if !ok {
				return true
			}
			for i := 0; i < len(args); i += 2 {
				key, ok := args[i].(*ast.BasicLit)
				if !ok || key.Kind != token.STRING {
					bad = append(bad, r.at(args[i], "a key that is no literal: nobody can look for it"))
					return true
				}
				name, err := strconv.Unquote(key.Value)
				if err != nil || logKeys[name] == "" {
					bad = append(bad, r.at(key, "key %q is not in `logKeys` in "+
						"internal/lint/logs_test.go: use one that is, or enter it", name))
				}
				if i+1 == len(args) {
					bad = append(bad, r.at(key, "key %q has no value", name))
				}
			}
			return true
		})
	})
	return bad
}

// logged returns the keys and values of a call of a logger.
func logged(c *ast.CallExpr) ([]ast.Expr, bool) {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || c.Ellipsis.IsValid() {
		return nil, false
	}
	name := ""
	switch x := s.X.(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		name = x.Sel.Name
	}
	if !slices.Contains([]string{"log", "logger", "Logger", "Log"}, name) {
		return nil, false
	}
	switch s.Sel.Name {
	case "With":
		return c.Args, true
	case "Debug", "Info", "Warn", "Error":
		return c.Args[min(1, len(c.Args)):], true
	}
	return nil, false
}
