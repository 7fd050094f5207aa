// Package notes takes what handlers say while they run (progress, output and log lines), keeps it
// for a moment and writes it to the store: of many executions at once, about once a second, and
// soon after an execution has ended.
//
// Nothing here decides anything about a task. What the store does not take is kept for the next
// round; of what would be too much the oldest lines are dropped and counted.
package notes

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/internal/plant"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Config says how a Collector works; Store and Redact may be nil.
type Config struct {
	// Store takes the notes; nil: nothing is kept but the output of an execution until its end.
	Store store.Noter
	// Level is the lowest level of log lines that are kept.
	Level slog.Leveler
	// Redact masks log lines before they are cut, see [task.Masked].
	Redact func(text string) string
	Now    func() task.Time // estimate of the store's time
	// Failed is told of each error of the store, and of what was dropped because of it.
	Failed func(error)
	// Every is how often running executions are written. 0 is a second.
	Every time.Duration
	// Held is how many bytes may wait to be written before the oldest are dropped: lines, and the
	// outputs of executions that have ended. An output counts from the end of its execution, which
	// needs it until then as the result. 0 is 32 MiB.
	Held int
}

const (
	// maxBatch and maxBytes bound one call of the store.
	maxBatch = 200
	maxBytes = 4 << 20
	// entryBytes is about what an execution takes that waits to be written, without its texts.
	entryBytes = 512
	lastPause  = 8 * time.Second
)

// Collector holds what was said and not yet written. Its Run does the work. All methods are safe
// for concurrent use.
type Collector struct {
	cfg Config
	// dirty has a token if something waits, hurry if it shall not wait for Every, retry if a pause
	// after an error shall end.
	dirty, hurry, retry chan struct{}

	mu    sync.Mutex
	queue []*said // with something to write, the oldest first
	busy  bool    // a round is under way
	held  int     // bytes
	lost  int     // lines and outputs dropped since they were last told of
	empty chan struct{}
}

// New returns a Collector that holds nothing.
func New(cfg Config) *Collector {
	if cfg.Every == 0 {
		cfg.Every = time.Second
	}
	if cfg.Held == 0 {
		cfg.Held = 32 << 20
	}
	signal := func() chan struct{} { return make(chan struct{}, 1) }
	return &Collector{cfg: cfg, dirty: signal(), hurry: signal(), retry: signal()}
}

func raise(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// Run writes until ctx ends. What is left then is for Flush before.
func (c *Collector) Run(ctx context.Context) error {
	pause, took, last := c.cfg.Every, time.Duration(0), time.Time{}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.dirty:
		}
		// Executions that end one after the other would be a write each: at most a third of the time
		// goes to writing.
		if !rest(ctx, c.cfg.Every, c.hurry) || !rest(ctx, 2*took-time.Since(last), nil) {
			return ctx.Err()
		}
		for {
			began := time.Now()
			err := c.round(ctx)
			last = time.Now()
			took = last.Sub(began)
			if err == nil {
				pause = c.cfg.Every
				break
			}
			c.cfg.Failed(err)
			if !rest(ctx, pause, c.retry) {
				return ctx.Err()
			}
			pause = min(2*pause, lastPause)
		}
	}
}

// rest waits for d or for a signal, and reports false when ctx has ended.
func rest(ctx context.Context, d time.Duration, signal <-chan struct{}) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-signal:
	case <-ctx.Done():
		return false
	}
	return true
}

// Flush returns when everything that was said so far is written, or with the context's error.
func (c *Collector) Flush(ctx context.Context) error {
	c.mu.Lock()
	if len(c.queue) == 0 && !c.busy {
		c.mu.Unlock()
		return nil
	}
	if c.empty == nil {
		c.empty = make(chan struct{})
	}
	empty := c.empty
	c.mu.Unlock()
	raise(c.hurry)
	raise(c.retry)
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Backlog returns how many executions have something that is not written.
func (c *Collector) Backlog() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue)
}

// round writes the executions that wait when it begins, in as many calls as it takes.
func (c *Collector) round(ctx context.Context) error {
	c.mu.Lock()
	n, lost := len(c.queue), c.lost
	c.busy, c.lost = true, 0
	c.mu.Unlock()
	if lost > 0 {
		c.cfg.Failed(fmt.Errorf("%d log lines and outputs were dropped: the store did not take them "+
			"in time", lost))
	}
	var err error
	for err == nil {
		batch := c.take(n)
		if len(batch) == 0 {
			break // all is written, or was dropped meanwhile
		}
		n -= len(batch)
		limited, cancel := clock.Limit(ctx)
		err = c.cfg.Store.Note(limited, batch.notes())
		cancel()
		c.written(batch, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	if len(c.queue) == 0 && c.empty != nil {
		close(c.empty)
		c.empty = nil
	}
	return err
}

// batch is what one call writes.
type batch []taken

// taken is the note of one execution, and how many of its bytes were held.
type taken struct {
	s     *said
	note  store.Note
	bytes int
	lost  int // the first line of the note tells of so many that were dropped
}

func (b batch) notes() []store.Note {
	ns := make([]store.Note, len(b))
	for i := range b {
		ns[i] = b[i].note
	}
	return ns
}

// take removes up to n executions from the queue.
func (c *Collector) take(n int) (b batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, bytes := min(n, maxBatch), 0
	for len(b) < min(n, len(c.queue)) && (bytes < maxBytes) {
		t := c.queue[len(b)].take(c.cfg.Now)
		bytes += t.bytes
		if !t.s.ended { // else it is counted
			bytes += len(t.note.Output)
		}
		b = append(b, t)
	}
	c.queue = c.queue[len(b):]
	if len(c.queue) == 0 {
		c.queue = nil
	}
	return b
}

// written settles a batch: what the store did not take waits again, before all else.
func (c *Collector) written(b batch, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil || plant.On(plant.NotesDropped) {
		for i := range b {
			c.held -= b[i].bytes
		}
		return
	}
	back := make([]*said, 0, len(b)+len(c.queue))
	for i := range b {
		s := b[i].s
		if b[i].restore(); !s.queued {
			s.queued = true
			back = append(back, s)
		}
		s.bytes += b[i].bytes
		c.weigh(s)
	}
	// One that has said more meanwhile stands in the queue already.
	c.queue = append(back, c.queue...)
	c.shrink()
}

// add puts what an execution has said into the queue if it is not there; the caller holds the lock.
func (c *Collector) add(s *said, bytes int) {
	if c.cfg.Store == nil {
		return
	}
	if !s.queued {
		s.queued = true
		c.queue = append(c.queue, s)
		raise(c.dirty)
	}
	s.bytes += bytes
	c.held += bytes
	c.shrink()
}

// weigh counts anew what an execution holds; the caller holds the lock.
func (c *Collector) weigh(s *said) {
	n := s.weight()
	c.held += n - s.bytes
	s.bytes = n
}

// shrink drops what is oldest when more is held than may be: all of executions that have ended,
// the lines of those that run. It makes room for a tenth more than it must: what is said next must
// not pay for a walk through the queue each time. The caller holds the lock.
func (c *Collector) shrink() {
	if c.held <= c.cfg.Held {
		return
	}
	seen, kept := 0, 0
	for goal := c.cfg.Held - c.cfg.Held/10; seen < len(c.queue) && c.held > goal; seen++ {
		s := c.queue[seen]
		drop := s.dropLines
		if s.ended {
			drop = s.forget
		} else {
			c.queue[kept] = s
			kept++
		}
		lost, freed := drop()
		c.lost, c.held = c.lost+lost, c.held-freed
	}
	gone := seen - kept
	copy(c.queue[gone:seen], c.queue[:kept])
	clear(c.queue[:gone])
	c.queue = c.queue[gone:]
}
