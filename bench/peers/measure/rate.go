package measure

import (
	"sync"
	"sync/atomic"
	"time"
)

// Rate calls f from n goroutines for d and prints how much was made a second; one call of f
// makes per. The first error ends the goroutine it came to, and is returned.
func Rate(name, unit string, n int, d time.Duration, per int, f func() error) error {
	var calls atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	start := time.Now()
	for range n {
		wg.Go(func() {
			for time.Since(start) < d {
				if err := f(); err != nil {
					failed.CompareAndSwap(nil, &err)
					return
				}
				calls.Add(1)
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	made := float64(calls.Load()) * float64(per)
	return Print(Figure{Name: name, Unit: unit, Value: made / time.Since(start).Seconds(), Runs: 1})
}
