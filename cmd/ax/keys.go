package main

import (
	"fmt"

	"github.com/ax-sched/ax/internal/show"
	"github.com/ax-sched/ax/seal"
)

// keysFlag is the flag of commands that show what may be sealed.
type keysFlag struct {
	KeysFile string `name:"keys-file" placeholder:"FILE" help:"${keys_file}"`
}

// box reads the keys; without a file it is nil, which opens nothing.
func (f keysFlag) box() (*seal.Box, error) {
	if f.KeysFile == "" {
		return nil, nil
	}
	return seal.ReadFile(f.KeysFile)
}

// reveal opens what is sealed of a task. Where keys were given and do not open it, that is told:
// the rest of the task can be shown all the same.
func (f keysFlag) reveal(a *app, box *seal.Box, v *show.All) {
	open := func(name string, to seal.Binding, value *[]byte) {
		p, err := box.Open(to, *value)
		switch {
		case err == nil:
			*value = p
		case box != nil:
			fmt.Fprintf(a.err, "ax: %s: %v\n", name, err)
		}
	}
	t := &v.Task
	open("payload", seal.Payload(t.Kind), &t.Payload)
	open("result", seal.Result(t.Kind), &t.Result)
	if v.Progress != nil {
		open("output", seal.Result(t.Kind), &v.Progress.Output)
	}
}
