package main

import "time"

// runtimeTimers are the timers of the Go runtime.
type runtimeTimers struct{ handles []*time.Timer }

func newRuntime(n int) pending { return &runtimeTimers{make([]*time.Timer, n)} }

func (r *runtimeTimers) add(i int, d time.Duration) { r.handles[i] = time.AfterFunc(d, func() {}) }

func (r *runtimeTimers) cancel(i int) { r.handles[i].Stop() }

func (r *runtimeTimers) close() {
	for _, t := range r.handles {
		t.Stop()
	}
}
