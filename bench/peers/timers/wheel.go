package main

import (
	"time"

	"github.com/RussellLuo/timingwheel"
)

// wheelTimers are those of RussellLuo/timingwheel, with ax's tick of 1 ms.
type wheelTimers struct {
	wheel   *timingwheel.TimingWheel
	handles []*timingwheel.Timer
}

func newWheel(n int) pending {
	w := &wheelTimers{timingwheel.NewTimingWheel(time.Millisecond, 256),
		make([]*timingwheel.Timer, n)}
	w.wheel.Start()
	return w
}

func (w *wheelTimers) add(i int, d time.Duration) { w.handles[i] = w.wheel.AfterFunc(d, func() {}) }

func (w *wheelTimers) cancel(i int) { w.handles[i].Stop() }

func (w *wheelTimers) close() { w.wheel.Stop() }
