package timer

import "sync"

// queue is a consumer's queue as the dispatcher has one: the driver puts, and never waits.
type queue struct {
	mu    sync.Mutex
	items []Expired
	ready chan struct{}
}

// newQueue returns an empty queue.
func newQueue() *queue {
	return &queue{ready: make(chan struct{}, 1)}
}

// Put appends a batch, as the Deliver of a driver. It copies the batch and never blocks.
func (q *queue) Put(batch []Expired) {
	q.mu.Lock()
	q.items = append(q.items, batch...)
	q.mu.Unlock()
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// Ready is a channel of capacity 1 that receives after Put. It is a hint: call TakeAll after it,
// and expect that to be empty at times.
func (q *queue) Ready() <-chan struct{} { return q.ready }

// TakeAll returns what waits, oldest first, and leaves spare as the empty storage of the queue:
// pass the slice of the call before, or nil.
func (q *queue) TakeAll(spare []Expired) []Expired {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items = spare[:0]
	return items
}

// Len is the number of timers that wait.
func (q *queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items)
}
