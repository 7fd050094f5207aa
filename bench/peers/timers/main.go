// Command timers measures other structures that hold many pending timers, in the way that
// `ax bench wheel` measures ax's: add all, cancel every second one. Memory is the live heap after
// a collection, which is to the advantage of these; ax counts all that was ever allocated.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/ax-sched/ax/bench/peers/measure"
)

// pending is a structure under test. Its timers have the numbers from 0 to n-1.
type pending interface {
	add(i int, d time.Duration)
	cancel(i int)
	close()
}

// structures are what is measured, by the name in the figures.
var structures = []struct {
	name string
	make func(n int) pending
}{
	{"container/heap", newHeap},
	{"time.AfterFunc", newRuntime},
	{"timingwheel", newWheel},
}

func main() {
	sizes := flag.String("timers", "1000000,10000000", "numbers of pending timers")
	measure.Main(func() error {
		for size := range strings.SplitSeq(*sizes, ",") {
			n, err := strconv.Atoi(size)
			if err != nil || n < 1 {
				return fmt.Errorf("-timers: %q; use numbers of 1 or more", size)
			}
			for _, s := range structures {
				if err := run(s.name, n, s.make); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// ops is how many timers come and go beside the pending ones, after the structure has grown: the
// same as in ax bench wheel.
const ops = 200_000

// run measures one structure. The timers are due one to two hours ahead: none fires meanwhile.
func run(name string, n int, makeNew func(n int) pending) error {
	due := make([]time.Duration, n+ops)
	for i := range due {
		due[i] = time.Hour + time.Duration(1+rand.IntN(3_600_000))*time.Millisecond
	}
	p := makeNew(n + ops)
	defer p.close()
	before := memory()
	for i := range n {
		p.add(i, due[i])
	}
	size := float64(memory().HeapAlloc-before.HeapAlloc) / float64(n)
	grow := func(i int) { p.add(n+i, due[n+i]) }
	drop := func(i int) { p.cancel(n + i) }
	each(ops, grow)
	each(ops, drop)
	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	add := each(ops, grow)
	runtime.ReadMemStats(&m1)
	allocs := float64(m1.Mallocs-m0.Mallocs) / ops
	cancel := each(ops, drop)
	runtime.KeepAlive(due)
	show := func(what, unit string, v float64) error {
		return measure.Print(measure.Figure{Name: fmt.Sprintf("%s, %d timers: %s", name, n, what),
			Value: v, Unit: unit, Runs: 1})
	}
	return errors.Join(show("add", "ns", add), show("cancel", "ns", cancel),
		show("memory a timer", "bytes", size), show("allocations an add", "", allocs))
}

// each returns the nanoseconds of one call of f.
func each(n int, f func(i int)) float64 {
	start := time.Now()
	for i := range n {
		f(i)
	}
	return float64(time.Since(start).Nanoseconds()) / float64(n)
}

// memory collects what is garbage, so that the live heap is left.
func memory() runtime.MemStats {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m
}
