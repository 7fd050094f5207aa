package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
	"github.com/ax-sched/ax/task"
)

// groupRows bounds one transaction: the first call, and what waits until so many rows are
// reached. Larger groups gain nothing and make everybody wait longer.
const groupRows = 2000

// call is one write that waits for its turn.
type call struct {
	do    func(*tx) error // may run again after a rollback, so it must start from nothing
	rows  int
	since time.Time
	err   error

	// Guarded by the writer's lock.
	taken bool
	// wake is sent true when the call is done, and false when its goroutine must become the
	// writer. Capacity 1, and only one value is ever sent.
	wake chan bool
}

// writer runs the calls of all goroutines on one connection, many in one transaction. It has no
// goroutine of its own: a caller that finds nobody writing writes, its own call first and then
// what waits, and hands the role to one that still waits. So a single caller pays for nothing, and
// the groups grow by themselves while a commit is under way.
type writer struct {
	conn  *lite.Conn
	opts  options
	known map[task.ID]found // of whoever has the role
	waits waits             // how long writes wait; of whoever has the role
	// blocked are told of a write that waits for somebody else's transaction; seats guards them.
	seats   sync.Mutex
	blocked []*func(waited time.Duration)

	mu     sync.Mutex
	active bool // somebody has the role
	closed bool
	idle   *sync.Cond // signalled when the role is given up
	urgent []*call    // leases, membership, fences: before the others
	usual  []*call
}

func newWriter(conn *lite.Conn, o options) *writer {
	w := &writer{conn: conn, opts: o, known: make(map[task.ID]found)}
	w.idle = sync.NewCond(&w.mu)
	return w
}

// do runs a write and returns when it is durable. A context that ends while the call still waits
// takes it out; once it is taken it is finished.
func (w *writer) do(ctx context.Context, urgent bool, rows int, f func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &call{do: f, rows: rows, since: time.Now()}
	w.mu.Lock()
	switch {
	case w.closed:
		w.mu.Unlock()
		return store.ErrClosed
	case !w.active:
		w.active, c.taken = true, true
		w.mu.Unlock()
		w.lead(ctx, c)
		return c.err
	}
	c.wake = make(chan bool, 1)
	if urgent {
		w.urgent = append(w.urgent, c)
	} else {
		w.usual = append(w.usual, c)
	}
	w.mu.Unlock()
	select {
	case done := <-c.wake:
		if !done {
			w.lead(ctx, c)
		}
		return c.err
	case <-ctx.Done():
	}
	return w.leave(ctx, c)
}

// leave takes a call out of the queue, or waits for its end if it was taken meanwhile.
func (w *writer) leave(ctx context.Context, c *call) error {
	w.mu.Lock()
	if !c.taken {
		w.urgent, w.usual = without(w.urgent, c), without(w.usual, c)
		w.mu.Unlock()
		return ctx.Err()
	}
	w.mu.Unlock()
	if done := <-c.wake; !done {
		w.lead(ctx, c)
	}
	return c.err
}

func without(cs []*call, c *call) []*call {
	for i := range cs {
		if cs[i] == c {
			return slices.Delete(cs, i, i+1)
		}
	}
	return cs
}

// lead writes one group that begins with c, and hands the role on.
func (w *writer) lead(ctx context.Context, c *call) {
	defer w.handOver()
	if c.err = w.begin(ctx, c.since); c.err != nil {
		return
	}
	// What arrived while the lock of the file was awaited joins the group.
	group := w.take(c)
	finished := false
	defer func() { // a panic goes up in this caller alone: the others get an error, not a wait
		for _, other := range group[1:] {
			if !finished {
				other.err = errAborted
			}
			other.wake <- true
		}
		if !finished {
			w.rollback()
		}
	}()
	w.run(context.WithoutCancel(ctx), group)
	finished = true
}

var errAborted = errors.New("the transaction ended in a panic of another call")

// take returns c and the calls that wait, the urgent ones first.
func (w *writer) take(c *call) []*call {
	w.mu.Lock()
	defer w.mu.Unlock()
	group, rows := []*call{c}, c.rows
	for _, q := range []*[]*call{&w.urgent, &w.usual} {
		n := 0
		for n < len(*q) && (rows+(*q)[n].rows <= groupRows || q == &w.urgent) {
			(*q)[n].taken = true
			rows += (*q)[n].rows
			n++
		}
		group = append(group, (*q)[:n]...)
		*q = slices.Delete(*q, 0, n)
	}
	return group
}

// handOver makes the next one that waits the writer, or gives the role up.
func (w *writer) handOver() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range []*[]*call{&w.urgent, &w.usual} {
		if len(*q) > 0 {
			next := (*q)[0]
			*q = slices.Delete(*q, 0, 1)
			next.taken = true
			next.wake <- false
			return
		}
	}
	w.active = false
	w.idle.Broadcast()
}

// blockedAfter is how long a write waits before somebody is told.
const blockedAfter = time.Second

// begin takes the write lock of the file. Another process or a transaction of the program's own can
// hold it; it is waited for here and not inside SQLite, so that the caller's context ends the wait.
func (w *writer) begin(ctx context.Context, since time.Time) error {
	pause := time.Millisecond
	for {
		err := execute(w.conn, beginWrite)
		if !failed(err, lite.Busy) {
			w.waits = waits{}
			return named(err)
		}
		w.tell()
		if time.Since(since) >= w.opts.busy {
			return fmt.Errorf("after %s another transaction still writes (a submit inside a "+
				"transaction of your own must be a SubmitTx): %w", w.opts.busy, named(err))
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		pause = min(2*pause, 20*time.Millisecond)
	}
}

// waits is a time in which no write could begin, of one call or of several after each other.
type waits struct {
	since, last time.Time
	told        bool
}

// tell says once that writes have waited for too long, whichever of them it was.
func (w *writer) tell() {
	now := time.Now()
	if now.Sub(w.waits.last) > blockedAfter {
		w.waits = waits{since: now} // the last call gave up, and nobody has tried since
	}
	w.waits.last = now
	waited := now.Sub(w.waits.since)
	if w.waits.told || waited < blockedAfter {
		return
	}
	w.waits.told = true
	w.seats.Lock()
	blocked := slices.Clone(w.blocked)
	w.seats.Unlock()
	for _, tell := range blocked {
		(*tell)(waited)
	}
}

// run applies the calls of a group in the open transaction and commits it. If one fails after it
// has written something, or the commit fails, all is taken back and each call gets a transaction
// of its own, so that none suffers for another.
func (w *writer) run(ctx context.Context, group []*call) {
	if w.attempt(group) {
		return
	}
	for _, c := range group {
		if c.err = w.begin(ctx, time.Now()); c.err == nil {
			w.attempt([]*call{c})
		}
	}
}

// attempt reports whether the fate of all calls is decided; each has its error then.
func (w *writer) attempt(group []*call) bool {
	t := &tx{conn: w.conn, now: w.opts.now(), known: w.known}
	for _, c := range group {
		before := w.conn.TotalChanges()
		c.err = named(c.do(t))
		// A full disk or a read error may have ended the transaction already; what came after would
		// be committed statement by statement.
		if c.err != nil && (w.conn.TotalChanges() != before || !w.conn.InTransaction()) {
			w.rollback()
			return len(group) == 1
		}
	}
	err := named(execute(w.conn, commit))
	if err == nil {
		return true
	}
	w.rollback()
	for _, c := range group {
		c.err = fmt.Errorf("commit: %w", err)
	}
	return len(group) == 1
}

// rollback takes back the open transaction; some errors of SQLite have done so already.
func (w *writer) rollback() {
	clear(w.known) // versions that were taken back will be given again
	if w.conn.InTransaction() {
		// It fails only where the transaction is gone, which is what it is for.
		_ = execute(w.conn, rollback)
	}
}

// close lets the calls under way and those that wait end, and refuses later ones.
func (w *writer) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	for w.active {
		w.idle.Wait()
	}
	return named(w.conn.Close())
}
