package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/ax-sched/ax/internal/wheel"
)

// wheelCmd measures the timing wheel alone.
type wheelCmd struct {
	Timers []int `help:"Numbers of pending timers." default:"1000000,10000000"`
	Runs   int   `help:"Runs whose median is printed." default:"3"`
	JSON   bool  `help:"Print JSON, one object a line." name:"json"`
}

func (c *wheelCmd) Run(e *Env) error {
	b := e.bencher(target{Runs: c.Runs, JSON: c.JSON})
	for _, n := range c.Timers {
		if n < 1 {
			return fmt.Errorf("--timers: %d; use 1 or more", n)
		}
		c.measure(b, n)
	}
	return nil
}

// wheelSpan is over how many ticks the timers are due; wheelOps is how many timers come and go
// beside the pending ones. The slab has grown before they are timed: that is the state in which a
// scheduler lives.
const (
	wheelSpan = 3_600_000
	wheelOps  = 200_000
)

func (c *wheelCmd) measure(b *bencher, n int) {
	due := func() int64 { return 1 + rand.Int64N(wheelSpan) }
	var dues [wheelOps]int64
	for i := range dues {
		dues[i] = due()
	}
	handles := make([]wheel.Handle, wheelOps)
	var add, cancel, expire, size, allocs []float64
	for range c.Runs {
		before := heap()
		w := wheel.New(0)
		for i := range n {
			w.Add(due(), wheel.Value{Version: int64(i)})
		}
		after := heap()
		size = append(size, float64(after.HeapAlloc-before.HeapAlloc)/float64(n))
		grow := func(i int) { handles[i] = w.Add(dues[i], wheel.Value{Version: int64(i)}) }
		drop := func(i int) { w.Cancel(handles[i]) }
		each(wheelOps, grow)
		each(wheelOps, drop)
		var m0, m1 runtime.MemStats
		runtime.ReadMemStats(&m0)
		add = append(add, each(wheelOps, grow))
		runtime.ReadMemStats(&m1)
		allocs = append(allocs, float64(m1.Mallocs-m0.Mallocs)/wheelOps)
		cancel = append(cancel, each(wheelOps, drop))
		left := w.Len()
		start := time.Now()
		w.Advance(wheelSpan+1, func(int64, wheel.Value) {})
		expire = append(expire, float64(time.Since(start).Nanoseconds())/float64(max(left, 1)))
	}
	for _, f := range []figure{
		{Name: "add", Value: median(add), Unit: "ns"},
		{Name: "cancel", Value: median(cancel), Unit: "ns"},
		{Name: "expire", Value: median(expire), Unit: "ns"},
		{Name: "memory a timer", Value: median(size), Unit: "bytes"},
		{Name: "allocations an add", Value: median(allocs), Unit: ""},
	} {
		f.Name = fmt.Sprintf("wheel, %d timers: %s", n, f.Name)
		b.print(f)
	}
}

// heap collects what is garbage, so that the live heap is left.
func heap() (m runtime.MemStats) {
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}

// each returns the nanoseconds of one call of f.
func each(n int, f func(i int)) float64 {
	start := time.Now()
	for i := range n {
		f(i)
	}
	return float64(time.Since(start).Nanoseconds()) / float64(n)
}
