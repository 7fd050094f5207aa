package sim

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestNodeClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &nodeClock{start: time.Now()}
		c.off.Store(int64(-10 * time.Minute))
		a := c.reading()
		if got := a.UnixMicro() - time.Now().UnixMicro(); got != -600_000_000 {
			t.Errorf("wall clock is off by %d us, want -10 minutes", got)
		}
		time.Sleep(3 * time.Second)
		c.off.Store(int64(2 * time.Hour))
		b := c.reading()
		if got := b.Sub(a); got != 3*time.Second {
			t.Errorf("monotonic clock moved by %v over a jump, want 3s", got)
		}
		if got := b.UnixMicro() - time.Now().UnixMicro(); got != 7_200_000_000 {
			t.Errorf("wall clock is off by %d us, want 2 hours", got)
		}
	})
}
