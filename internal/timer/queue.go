package timer

import "sync"

// Queue passes expired timers from a driver to a consumer that may be slow. Its bound is the
// number of timers that were pending: it takes no more than the wheel let out. The zero Queue is
// not ready; use NewQueue. All methods are safe for concurrent use.
type Queue struct {
	mu    sync.Mutex
	items []Expired
	ready chan struct{}
}

// NewQueue returns an empty queue.
func NewQueue() *Queue {
	return &Queue{ready: make(chan struct{}, 1)}
}

// Put appends a batch, as the Deliver of a driver. It copies the batch and never blocks.
func (q *Queue) Put(batch []Expired) {
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
func (q *Queue) Ready() <-chan struct{} { return q.ready }

// TakeAll returns what waits, oldest first, and leaves spare as the empty storage of the queue:
// pass the slice of the call before, or nil.
func (q *Queue) TakeAll(spare []Expired) []Expired {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items = spare[:0]
	return items
}

// Len is the number of timers that wait.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items)
}
