// Package storetest is the conformance suite of stores: what package store promises, as tests.
//
// An implementation runs it with one line:
//
//	func TestConformance(t *testing.T) { storetest.Run(t, open) }
//
// and compares itself with the memory store, which is the oracle, with another:
//
//	func TestOracle(t *testing.T) { storetest.RunOracle(t, open, storetest.Sequences(300)) }
//
// Where the contract leaves an answer open, the suite accepts each of the possible ones. It never
// sleeps: tests that need time to pass use a store that is an [Advancer], or times in the past and
// in the far future.
package storetest

import (
	"testing"
	"time"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store"
)

// Full is what each database of ax gives: a store, the lease of its leaders and the registry of
// its executors. The last two are reached by methods, because both contracts have a Renew.
type Full interface {
	store.Store
	// Leases grants leadership from the same database. It lives as long as the store.
	Leases() lease.Backend
	// Registry keeps the executors in the same database. It lives as long as the store.
	Registry() registry.Registry
}

// Advancer is what a store may be in addition, if the test moves its clock. The clock then stands
// still between two calls of Advance.
type Advancer interface {
	// Advance moves the store's clock by d, which may be negative.
	Advance(d time.Duration)
}

// Open makes an empty store and closes it with t.Cleanup. Closing it before is harmless.
type Open func(t *testing.T) Full

// Run runs the whole suite. Tests of one concern share a store and run at the same time, each with
// kinds, keys, groups and partitions of its own; those that need an empty store open their own.
func Run(t *testing.T, open func(t *testing.T) Full) {
	t.Helper()
	for _, c := range []concern{
		{"Clock", clockTests, false},
		{"Insert", insertTests, false},
		{"KeptKeys", keptTests, true},
		{"RoundTrip", roundTripTests, false},
		{"Apply", applyTests, false},
		{"Fence", fenceTests, false},
		{"Overlap", overlapTests, false},
		{"Jobs", jobTests, false},
		{"Fires", fireTests, false},
		{"Due", dueTests, false},
		{"Live", liveTests, false},
		{"Expiry", expiryTests, true},
		{"Inspect", inspectTests, true},
		{"List", listTests, false},
		{"Prune", pruneTests, false},
		{"Notes", noteTests, false},
		{"Concurrent", concurrentTests, false},
		{"WrongTx", wrongTxTests, false},
		{"Alone", aloneTests, true},
		{"Closing", closingTests, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open)
		})
	}
}

// concern is one part of the contract: one file of tests.
type concern struct {
	name  string
	tests []test
	// alone gives each test a store of its own.
	alone bool
}

// test checks one statement of the contract.
type test struct {
	name string
	run  func(t *testing.T, s Full)
}

func (c concern) run(t *testing.T, open Open) {
	var shared Full
	if !c.alone {
		shared = open(t)
	}
	for _, tc := range c.tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := shared
			if c.alone {
				s = open(t)
			}
			tc.run(t, s)
		})
	}
}
