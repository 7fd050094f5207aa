// Package measure is what the programs of this module share: one form of a printed result, a
// loop for rates, and a collection of latencies.
package measure

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

// Figure is one result, in the form that `ax bench ... --json` prints.
type Figure struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Min    float64 `json:"min,omitempty"`
	Max    float64 `json:"max,omitempty"`
	Runs   int     `json:"runs,omitempty"`
	Detail string  `json:"detail,omitempty"`
}

// Print writes f to the standard output as one line of JSON.
func Print(f Figure) error {
	line, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("print %s: %w", f.Name, err)
	}
	_, err = fmt.Printf("%s\n", line)
	return err
}

// Main parses the flags, runs f and ends the program, with status 1 if f returned an error.
func Main(f func() error) {
	flag.Parse()
	if err := f(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
		os.Exit(1)
	}
}
