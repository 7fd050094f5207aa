package main

import (
	"container/heap"
	"time"
)

// item is a timer in a heap; at is where it stands.
type item struct {
	due   int64
	value int64
	at    int
}

type items []*item

func (q items) Len() int           { return len(q) }
func (q items) Less(i, j int) bool { return q[i].due < q[j].due }

func (q items) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i, j
}

func (q *items) Push(x any) {
	it := x.(*item)
	it.at = len(*q)
	*q = append(*q, it)
}

func (q *items) Pop() any {
	last := len(*q) - 1
	it := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return it
}

// heapTimers is what most schedulers in memory are built on.
type heapTimers struct {
	queue   items
	handles []*item
}

func newHeap(n int) pending { return &heapTimers{handles: make([]*item, n)} }

func (h *heapTimers) add(i int, d time.Duration) {
	it := &item{due: int64(d), value: int64(i)}
	heap.Push(&h.queue, it)
	h.handles[i] = it
}

func (h *heapTimers) cancel(i int) { heap.Remove(&h.queue, h.handles[i].at) }

func (h *heapTimers) close() {}
