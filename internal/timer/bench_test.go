package timer

import (
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkAddCancel is the wheel behind its lock, under a million pending timers.
func BenchmarkAddCancel(b *testing.B) {
	now := func() int64 { return time.Now().UnixMicro() }
	d, err := New(Config{Now: now, Deliver: func([]Expired) {}})
	if err != nil {
		b.Fatal(err)
	}
	base := now()
	for range 1_000_000 {
		d.Add(base+rand.Int64N(3_600_000_000), Value{})
	}
	b.ReportAllocs()
	for b.Loop() {
		d.Cancel(d.Add(base+1_800_000_000, Value{}))
	}
}
