package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// programs are the built programs and what they need of the module cache.
type programs struct {
	dir    string
	ax     string // given by -ax; "" is the one in dir
	schema string // of goqite
}

func (p programs) path(name string) string {
	if name == "ax" && p.ax != "" {
		return p.ax
	}
	return filepath.Join(p.dir, name)
}

// build builds ax, if it is not given, and the peers into dir.
func build(ctx context.Context, dir, ax string) (programs, error) {
	p := programs{dir: dir, ax: ax}
	module, err := goTool(ctx, ".", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return p, err
	}
	if filepath.Base(module) != "peers" {
		return p, fmt.Errorf("the folder is of another module (%s): run it in bench/peers", module)
	}
	goqite, err := goTool(ctx, module, "list", "-m", "-f", "{{.Dir}}", "maragu.dev/goqite")
	if err != nil {
		return p, err
	}
	p.schema = filepath.Join(goqite, "schema_sqlite.sql")
	_, err = goTool(ctx, module, "build", "-buildvcs=false", "-o", dir+string(filepath.Separator),
		"./riverpg", "./riversqlite", "./goqiteb", "./timers", "./rawfsync")
	if err != nil || ax != "" {
		return p, err
	}
	_, err = goTool(ctx, filepath.Join(module, "..", ".."), "build", "-buildvcs=false", "-o",
		p.path("ax"), "./cmd/ax")
	return p, err
}

// goTool runs the go command in a folder and returns what it prints.
func goTool(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args[:2], " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
