package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

type versionCmd struct {
	JSON bool `help:"Print JSON: version, go."`
}

// Help shows an example.
func (versionCmd) Help() string { return "Example: ax version" }

// Run prints the version of the module that was built, "(devel)" in a work tree.
func (c *versionCmd) Run(a *app) error {
	v := "(devel)"
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		v = b.Main.Version
	}
	if c.JSON {
		return printJSON(a.out, struct {
			Version string `json:"version"`
			Go      string `json:"go"`
		}{v, runtime.Version()})
	}
	_, err := fmt.Fprintf(a.out, "ax %s %s\n", v, runtime.Version())
	return err
}
