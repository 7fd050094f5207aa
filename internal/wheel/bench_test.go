package wheel

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

const hour = 3_600_000 // ticks of one millisecond

// sizes are the numbers of pending timers measured. WHEEL_BENCH_MAX raises the limit; ten
// million timers take half a gigabyte.
func sizes() []int {
	limit, err := strconv.Atoi(os.Getenv("WHEEL_BENCH_MAX"))
	if err != nil {
		limit = 1_000_000
	}
	var list []int
	for _, n := range []int{10_000, 1_000_000, 10_000_000} {
		if n <= limit {
			list = append(list, n)
		}
	}
	return list
}

func perSize(b *testing.B, f func(b *testing.B, n int)) {
	for _, n := range sizes() {
		b.Run(strconv.Itoa(n), func(b *testing.B) { f(b, n) })
	}
}

// full returns a wheel with n timers over the next hour, and their handles.
func full(n int) (*Wheel, []Handle) {
	w := New(1 << 41)
	hs := make([]Handle, n)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range hs {
		hs[i] = w.Add(w.Now()+1_000+r.Int64N(hour), Value{Version: int64(i)})
	}
	return w, hs
}

func delays() []int64 {
	d := make([]int64, 1<<16)
	for i := range d {
		d[i] = 1_000 + rand.Int64N(hour)
	}
	return d
}

const window = 200_000 // timers added, then cancelled, on top of the pending ones

// BenchmarkAdd adds on top of n pending timers, into memory that exists.
func BenchmarkAdd(b *testing.B) {
	perSize(b, func(b *testing.B, n int) {
		w, _ := full(n)
		now, d := w.Now(), delays()
		hs := make([]Handle, window)
		for i := range hs {
			hs[i] = w.Add(now+d[i&(len(d)-1)], Value{})
		}
		bytes := float64(w.Bytes()) / float64(w.Len())
		i := window
		b.ReportAllocs()
		for b.Loop() {
			if i == window {
				b.StopTimer()
				for _, h := range hs {
					w.Cancel(h)
				}
				i = 0
				b.StartTimer()
			}
			hs[i] = w.Add(now+d[i&(len(d)-1)], Value{Version: int64(i)})
			i++
		}
		b.ReportMetric(bytes, "bytes/timer")
	})
}

// BenchmarkCancel cancels the 200,000 timers added last, in random order, under n older ones.
func BenchmarkCancel(b *testing.B) {
	perSize(b, func(b *testing.B, n int) {
		w, _ := full(n)
		now, d := w.Now(), delays()
		hs := make([]Handle, window)
		i := window
		b.ReportAllocs()
		for b.Loop() {
			if i == window {
				b.StopTimer()
				for j := range hs {
					hs[j] = w.Add(now+d[j&(len(d)-1)], Value{})
				}
				rand.Shuffle(window, func(i, j int) { hs[i], hs[j] = hs[j], hs[i] })
				i = 0
				b.StartTimer()
			}
			if !w.Cancel(hs[i]) {
				b.Fatal("not pending")
			}
			i++
		}
	})
}

// BenchmarkReplace cancels any one of all n timers and adds it again: each step is a miss of
// every cache.
func BenchmarkReplace(b *testing.B) {
	perSize(b, func(b *testing.B, n int) {
		w, hs := full(n)
		now, d := w.Now(), delays()
		r := rand.New(rand.NewPCG(2, 2))
		i := 0
		b.ReportAllocs()
		for b.Loop() {
			k := r.IntN(n)
			w.Cancel(hs[k])
			hs[k] = w.Add(now+d[i&(len(d)-1)], Value{})
			i++
		}
	})
}

// BenchmarkExpire hands over n timers of one hour to a driver that looks each 5 ticks; cascades
// and empty looks are in the time per timer.
func BenchmarkExpire(b *testing.B) {
	perSize(b, func(b *testing.B, n int) {
		buf := make([]Expired, 256)
		got := 0
		for b.Loop() {
			b.StopTimer()
			w, _ := full(n)
			b.StartTimer()
			for now := w.Now(); w.Len() > 0; now += 5 {
				k := w.Take(now, buf)
				for got += k; k == len(buf); got += k {
					k = w.Take(now, buf)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(got), "ns/timer")
	})
}

// BenchmarkGrow fills an empty wheel with n timers, memory from the system included.
func BenchmarkGrow(b *testing.B) {
	perSize(b, func(b *testing.B, n int) {
		d := delays()
		for b.Loop() {
			w := New(0)
			for i := range n {
				w.Add(d[i&(len(d)-1)], Value{})
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/timer")
	})
}

func BenchmarkIdleAdvance(b *testing.B) {
	w := New(0)
	w.Add(1<<40, Value{})
	now := int64(0)
	for b.Loop() {
		now++
		w.Advance(now, func(int64, Value) {})
	}
}
