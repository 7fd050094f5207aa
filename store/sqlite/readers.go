package sqlite

import (
	"context"
	"sync"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
)

// maxReaders is the most reading connections; further reads wait.
const maxReaders = 4

// readers are the connections for reading. Each read is one transaction and sees one state of the
// file, which holds everything that was committed before it began.
type readers struct {
	open func() (*lite.Conn, error)
	// slots holds a value for each read under way.
	slots chan struct{}

	mu     sync.Mutex
	closed bool
	free   []*lite.Conn
}

func newReaders(open func() (*lite.Conn, error)) *readers {
	return &readers{open: open, slots: make(chan struct{}, maxReaders)}
}

// do runs f in a read transaction. The end of the context interrupts it.
func (r *readers) do(ctx context.Context, f func(*lite.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.slots }()
	c, err := r.take()
	if err != nil {
		return err
	}
	defer r.put(c)
	err = transact(c, func(c *lite.Conn) error {
		release := interruptWith(ctx, c)
		defer release()
		return f(c)
	})
	if failed(err, lite.Interrupt) && ctx.Err() != nil {
		return ctx.Err()
	}
	return named(err)
}

// interruptWith ends what c does when ctx ends. The connection may be used for something else
// after release has returned.
func interruptWith(ctx context.Context, c *lite.Conn) (release func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		c.Interrupt()
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

// transact reads in one transaction. What f lets interrupt it must be over when f returns: the end
// of the transaction may not fail, because the connection is used again.
func transact(c *lite.Conn, f func(*lite.Conn) error) error {
	if err := execute(c, beginRead); err != nil {
		return err
	}
	err := f(c)
	if end := execute(c, rollback); err == nil {
		err = end
	}
	return err
}

func execute(c *lite.Conn, query string) error {
	s, err := c.Stmt(query)
	if err != nil {
		return err
	}
	return s.Run()
}

func (r *readers) take() (*lite.Conn, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, store.ErrClosed
	}
	if n := len(r.free); n > 0 {
		c := r.free[n-1]
		r.free = r.free[:n-1]
		return c, nil
	}
	return r.open()
}

func (r *readers) put(c *lite.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free = append(r.free, c)
}

// close waits for the reads under way and closes the connections.
func (r *readers) close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	r.mu.Unlock()
	for range maxReaders {
		r.slots <- struct{}{}
	}
	for range maxReaders {
		<-r.slots // later reads come to the answer that the store is closed
	}
	var err error
	for _, c := range r.free {
		if e := c.Close(); err == nil {
			err = e
		}
	}
	r.free = nil
	return named(err)
}

func (r *readers) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}
