// Package owner is leadership of a SQLite file by a lock of the operating system.
package owner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/store"
)

// errLocked: another open file holds the lock.
var errLocked = errors.New("the lock is held")

// Owner is the lease.Backend of a store: a lock of the operating system on a file beside the
// database. The kernel gives it back when the process dies, so nothing is renewed by time and
// nothing has to expire. One process owns all partitions; who leads which is decided within it.
//
// The file is never removed: a process that locks a removed file and one that locks its successor
// would both own the database.
type Owner struct {
	path string

	mu      sync.Mutex
	closed  bool
	file    *os.File       // locked, or nil
	holders map[int]string // by partition
}

// New returns the Owner that locks the file at path, which is made if it is missing. It locks
// nothing yet. Its methods are safe for concurrent use.
func New(path string) *Owner { return &Owner{path: path, holders: make(map[int]string)} }

// Acquire implements lease.Backend. It does not wait.
func (o *Owner) Acquire(ctx context.Context, partition int, holder string, _ time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return store.ErrClosed
	}
	if other, ok := o.holders[partition]; ok && other != holder && o.ours() {
		return &lease.HeldError{Holder: other, Exclusive: true}
	}
	if !o.ours() {
		o.drop()
		if err := o.lock(holder); err != nil {
			return err
		}
	}
	o.holders[partition] = holder
	return nil
}

// lock takes the lock of the file and writes who has it.
func (o *Owner) lock(holder string) error {
	f, err := os.OpenFile(o.path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("acquire: %w", err)
	}
	if err := lockFile(f); err != nil {
		_ = f.Close() // nothing was written
		if errors.Is(err, errLocked) {
			return &lease.HeldError{Holder: heldBy(o.path), Exclusive: true}
		}
		return fmt.Errorf("acquire: lock %s: %w", o.path, err)
	}
	o.file = f
	if !o.ours() { // the file was removed in between
		o.drop()
		return fmt.Errorf("acquire: %s was removed while it was locked; try again", o.path)
	}
	// For a reader only: the lock is what counts, so a failure to write is none to lead.
	_ = f.Truncate(0)
	_, _ = f.WriteAt(fmt.Appendf(nil, "%d\n%s\n", os.Getpid(), holder), 0)
	return nil
}

// heldBy says who wrote the file of the owner.
func heldBy(path string) string {
	b, err := os.ReadFile(path)
	pid, name, ok := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if _, bad := strconv.Atoi(pid); err != nil || !ok || bad != nil {
		return "another process"
	}
	return fmt.Sprintf("%s (process %s)", name, pid)
}

// Look implements lease.Looker. Whether another process has the lock can only be found by trying:
// for that moment a process that tries too is refused, and comes again.
func (o *Owner) Look(ctx context.Context, partition int) (lease.Holding, error) {
	if err := ctx.Err(); err != nil {
		return lease.Holding{}, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
		return lease.Holding{}, store.ErrClosed
	case o.ours():
		return lease.Holding{Holder: o.holders[partition], Exclusive: true}, nil
	}
	f, err := os.OpenFile(o.path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return lease.Holding{}, nil // nobody has ever led
	}
	if err != nil {
		return lease.Holding{}, fmt.Errorf("look at the lease: %w", err)
	}
	locked := lockFile(f)
	_ = f.Close() // which unlocks it; nothing was written
	switch {
	case errors.Is(locked, errLocked):
		return lease.Holding{Holder: heldBy(o.path), Exclusive: true}, nil
	case locked != nil:
		return lease.Holding{}, fmt.Errorf("look at the lease: lock %s: %w", o.path, locked)
	}
	return lease.Holding{}, nil
}

// ours reports whether the lock is held and the file still has its name.
func (o *Owner) ours() bool {
	if o.file == nil {
		return false
	}
	locked, err := o.file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(o.path)
	return err == nil && os.SameFile(locked, named)
}

// drop gives the lock back.
func (o *Owner) drop() {
	if o.file != nil {
		_ = o.file.Close() // which is what unlocks it; there is nothing to lose
		o.file = nil
	}
	clear(o.holders)
}

// Renew implements lease.Backend: it checks that the lock is still held.
func (o *Owner) Renew(ctx context.Context, partition int, holder string, _ time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
		return store.ErrClosed
	case o.holders[partition] != holder:
		return lease.ErrLost
	case !o.ours():
		o.drop()
		return lease.ErrLost
	}
	return nil
}

// Release implements lease.Backend.
func (o *Owner) Release(ctx context.Context, partition int, holder string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return store.ErrClosed
	}
	if o.holders[partition] == holder {
		delete(o.holders, partition)
	}
	if len(o.holders) == 0 {
		o.drop()
	}
	return nil
}

// Held reports whether this store owns the database.
func (o *Owner) Held() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ours()
}

// Close gives the lock back; later calls give store.ErrClosed. Closing twice is harmless.
func (o *Owner) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.drop()
	return nil
}
