package sim

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ax-sched/ax/task"
)

// storeClock is the store's clock: the bubble's time and what steps have added. Its owner holds
// the world's lock.
type storeClock struct{ off time.Duration }

func (c *storeClock) now() task.Time { return task.FromGo(time.Now().Add(c.off)) }

// nodeClock is the clock of one process: its wall clock is off by a constant and jumps, its
// monotonic clock does not.
type nodeClock struct {
	start time.Time    // of the bubble
	off   atomic.Int64 // nanoseconds that the wall clock is ahead
}

// reading makes a time with a wall clock and a monotonic clock that disagree, as they do on
// a machine whose clock was set. Nothing in package time builds one, so this writes its fields.
func (c *nodeClock) reading() time.Time {
	now := time.Now()
	wall := now.Add(time.Duration(c.off.Load()))
	const sinceYear1885 = 2682288000 // seconds from 1885 to 1970
	type fields struct {
		wall uint64
		ext  int64
		loc  *time.Location
	}
	var t time.Time
	f := (*fields)(unsafe.Pointer(&t))
	f.wall = 1<<63 | uint64(wall.Unix()+sinceYear1885)<<30 | uint64(wall.Nanosecond())
	f.ext = int64(now.Sub(c.start)) + 1
	return t
}
