// Package batch is group commit without a goroutine.
//
// A caller hands over an item and waits. The first caller becomes the flusher: it takes what
// waits now, runs the batch, wakes the others and hands its role to the first caller still
// waiting. There is no timer and no least size: one caller alone pays nothing, and batches grow
// by themselves while the batch before is under way.
package batch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Group batches the calls of Do. Fill the fields before the first call; a Group must not be
// copied after it.
type Group[T any] struct {
	// Run does the work of all items, which came in this order. Results go into the items, so T
	// is usually a pointer; an error is that of every caller. Its context carries the values of
	// the flusher's, and ends only when the context of every caller in the batch has ended.
	Run func(ctx context.Context, items []T) error
	// Limit is the largest total weight of one batch; an item that is heavier alone goes alone.
	// 0 is 1,000.
	Limit int
	// Weight is the weight of one item; nil counts each as 1.
	Weight func(T) int

	mu      sync.Mutex
	busy    bool // somebody is the flusher, or was woken to become it
	waiting []*waiter[T]
}

// waiter is one call of Do.
type waiter[T any] struct {
	ctx  context.Context
	item T
	wake chan struct{} // capacity 1: done or lead is set
	done bool
	lead bool
	err  error
}

// runLimit is how long one batch may take, whoever waits for it: a connection whose other end has
// vanished may never answer, and the flusher has a loop of its own to go on with.
const runLimit = 10 * time.Second

// Do hands item over and returns when its batch has run. If ctx ends before item was taken into
// a batch, Do returns the context's error at once and item is never run. If ctx ends while
// the batch is under way, a caller that only waits returns the context's error and the work goes
// on, and must no longer look into item; the caller that flushes stays to the end of its batch.
func (g *Group[T]) Do(ctx context.Context, item T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &waiter[T]{ctx: ctx, item: item, wake: make(chan struct{}, 1)}
	g.mu.Lock()
	g.waiting = append(g.waiting, w)
	if g.busy {
		g.mu.Unlock()
		select {
		case <-w.wake:
		case <-ctx.Done():
			if g.leave(w) {
				return ctx.Err()
			}
		}
		if w.done {
			return w.err
		}
		g.mu.Lock() // woken as the next flusher
	}
	g.busy = true
	return g.flush(w)
}

// flush runs one batch as its flusher, then hands the role on. The caller holds the lock and w is
// the first that waits.
func (g *Group[T]) flush(w *waiter[T]) error {
	taken := g.take()
	g.mu.Unlock()
	finished := false
	defer func() {
		// A panic of Run goes up in the flusher alone: the others get an error instead of hanging.
		g.finish(w, taken, finished)
	}()
	err := g.run(taken)
	for _, t := range taken {
		t.err = err
	}
	finished = true
	return err
}

// take removes from the queue what fits into one batch: always the first, then as long as the
// limit holds, in the order of arrival.
func (g *Group[T]) take() []*waiter[T] {
	limit := g.Limit
	if limit <= 0 {
		limit = 1000
	}
	n, sum := 0, 0
	for _, w := range g.waiting {
		weight := 1
		if g.Weight != nil {
			weight = g.Weight(w.item)
		}
		if n > 0 && sum+weight > limit {
			break
		}
		n, sum = n+1, sum+weight
	}
	taken := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	if len(g.waiting) == 0 {
		g.waiting = nil // the old array goes with the batch
	}
	return taken
}

func (g *Group[T]) run(taken []*waiter[T]) error {
	items := make([]T, len(taken))
	for i, t := range taken {
		items[i] = t.item
	}
	ctx, release := common(taken)
	defer release()
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	return g.Run(ctx, items)
}

// finish wakes the others of the batch and the next flusher.
func (g *Group[T]) finish(self *waiter[T], taken []*waiter[T], finished bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range taken {
		t.done = true
		if !finished {
			t.err = errAborted
		}
		if t != self {
			t.wake <- struct{}{}
		}
	}
	g.handOn()
}

// handOn makes the first that waits the flusher. The caller holds the lock.
func (g *Group[T]) handOn() {
	if len(g.waiting) == 0 {
		g.busy = false
		return
	}
	g.waiting[0].lead = true
	g.waiting[0].wake <- struct{}{}
}

// leave takes w out of the queue because its context has ended. It reports false if the
// call already has its answer.
func (g *Group[T]) leave(w *waiter[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.done {
		return false
	}
	for i, q := range g.waiting {
		if q == w {
			g.waiting = append(g.waiting[:i:i], g.waiting[i+1:]...)
			break
		}
	}
	if w.lead {
		g.handOn() // it was just made the flusher: the next one is it instead
	}
	return true
}

// common returns a context that ends when those of all callers have ended.
func common[T any](taken []*waiter[T]) (context.Context, context.CancelFunc) {
	base := context.WithoutCancel(taken[0].ctx)
	for _, t := range taken {
		if t.ctx.Done() == nil {
			return base, func() {} // one caller never leaves
		}
	}
	ctx, cancel := context.WithCancel(base)
	var left atomic.Int64
	left.Store(int64(len(taken)))
	stops := make([]func() bool, len(taken))
	for i, t := range taken {
		stops[i] = context.AfterFunc(t.ctx, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}
