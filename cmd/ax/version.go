package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/ax-sched/ax/internal/show"
)

type versionCmd struct {
	JSON bool `help:"Print JSON: version, go."`
}

// Help shows an example.
func (versionCmd) Help() string { return "Example: ax version" }

// Run prints the version.
func (c *versionCmd) Run(a *app) error {
	v := version()
	if c.JSON {
		return show.JSON(a.out, struct {
			Version string `json:"version"`
			Go      string `json:"go"`
		}{v, runtime.Version()})
	}
	_, err := fmt.Fprintf(a.out, "ax %s %s\n", v, runtime.Version())
	return err
}

// version is that of the module that was built, "(devel)" in a work tree.
func version() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "(devel)"
}
