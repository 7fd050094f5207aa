// Package group owns goroutines. It is the only package of ax that starts any.
//
// A Group holds parts, which live as long as it does, and short functions, which do not. Every
// goroutine has its group, and every group is waited for. A panic in one becomes an error; a
// part that ends before it is told to is an error too, because a loop that ends silently is a
// service that is down and says it is up. [Run] stops several groups in order.
package group

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ErrEnded is the error of a part that returned nil before it was told to stop.
var ErrEnded = errors.New("ended without being told to")

// PanicError is a panic in a goroutine of a group.
type PanicError struct {
	Value any    // what was given to panic; nil after runtime.Goexit
	Stack []byte // where
}

func (e *PanicError) Error() string {
	if e.Value == nil {
		return "goroutine ended by runtime.Goexit"
	}
	return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack)
}

var errGoexit = &PanicError{}

// BudgetError says that a group was told to stop and did not end within its budget. Its
// goroutines go on; Wait still waits for them.
type BudgetError struct {
	Group  string
	Budget time.Duration
	Parts  []string // the parts still running
	Spawns int      // the short functions still running
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("%s: not stopped after %v: parts %q and %d others still run",
		e.Group, e.Budget, e.Parts, e.Spawns)
}

// Group runs goroutines under one context. All methods are safe for concurrent use.
type Group struct {
	name   string
	ctx    context.Context
	cancel context.CancelFunc

	// Short functions are counted without the lock: under it, thousands of them a second would
	// queue for it. Spawn counts first and looks at stopping second, Stop the other way round.
	spawns   atomic.Int64
	stopping atomic.Bool // set under the lock

	mu     sync.Mutex
	parts  []string      // names of those that run
	err    error         // of the first that failed
	failed chan struct{} // closed when err is set
	idle   chan struct{} // closed when stopping and nothing runs
}

// New returns an empty group. Its context carries the values of ctx but not its end: only Stop
// ends it, so that groups under one context can be stopped in order.
func New(ctx context.Context, name string) *Group {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return &Group{name: name, ctx: ctx, cancel: cancel,
		failed: make(chan struct{}), idle: make(chan struct{})}
}

// Go starts a part: f runs until its context ends, and then returns nil or the error of the
// context. Anything else is a failure: see Failed. It is false, and f is not run, once the group
// has been told to stop.
func (g *Group) Go(name string, f func(context.Context) error) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopping.Load() {
		return false
	}
	g.parts = append(g.parts, name)
	go g.part(name, f)
	return true
}

// Spawn starts a short function that ends by itself. A panic in it is a failure of the group.
// The context ends when the group is told to stop; the group waits for f all the same. It is
// false, and f is not run, once the group has been told to stop.
func (g *Group) Spawn(f func(context.Context)) bool {
	g.spawns.Add(1)
	if g.stopping.Load() {
		g.spawnEnded()
		return false
	}
	go g.spawned(f)
	return true
}

// Failed is closed when the first goroutine of the group has failed. The others go on: their
// owner stops them.
func (g *Group) Failed() <-chan struct{} { return g.failed }

// Err is the error of the first goroutine that failed, with the names of group and part, or nil.
func (g *Group) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// Wait waits until the group has been told to stop and all its goroutines have ended, and
// returns Err.
func (g *Group) Wait() error {
	<-g.idle
	return g.Err()
}

// Stop ends the context of the group and waits for its goroutines, at most for the budget; 0 is
// no limit. It returns Err, or a *BudgetError, or both joined. It may be called again.
func (g *Group) Stop(budget time.Duration) error {
	g.mu.Lock()
	g.stopping.Store(true)
	g.settle()
	g.mu.Unlock()
	g.cancel()
	if budget <= 0 {
		return g.Wait()
	}
	t := time.NewTimer(budget)
	defer t.Stop()
	select {
	case <-g.idle:
		return g.Err()
	case <-t.C:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.parts) == 0 && g.spawns.Load() == 0 {
		return g.err
	}
	late := &BudgetError{g.name, budget, slices.Clone(g.parts), int(g.spawns.Load())}
	return errors.Join(g.err, late)
}

func (g *Group) part(name string, f func(context.Context) error) {
	err := error(errGoexit) // stays if f ends the goroutine without returning
	defer func() {
		err = recovered(recover(), err)
		g.mu.Lock()
		defer g.mu.Unlock()
		i := slices.Index(g.parts, name)
		g.parts = slices.Delete(g.parts, i, i+1)
		switch {
		case err == nil && !g.stopping.Load():
			g.fail(name, ErrEnded)
		case err != nil && !(g.stopping.Load() && errors.Is(err, context.Canceled)):
			g.fail(name, err)
		}
		g.settle()
	}()
	err = f(g.ctx)
}

func (g *Group) spawned(f func(context.Context)) {
	err := error(errGoexit)
	defer func() {
		if err = recovered(recover(), err); err != nil {
			g.mu.Lock()
			g.fail("spawned", err)
			g.mu.Unlock()
		}
		g.spawnEnded()
	}()
	f(g.ctx)
	err = nil
}

func (g *Group) spawnEnded() {
	if g.spawns.Add(-1) == 0 && g.stopping.Load() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.settle()
	}
}

// recovered turns what recover returned into an error; without a panic err stays.
func recovered(v any, err error) error {
	if v == nil {
		return err
	}
	return &PanicError{Value: v, Stack: debug.Stack()}
}

// fail keeps the first error. The lock is held.
func (g *Group) fail(part string, err error) {
	if g.err == nil {
		g.err = fmt.Errorf("%s: %s: %w", g.name, part, err)
		close(g.failed)
	}
}

// settle closes idle when nothing runs and nothing can start. The lock is held.
func (g *Group) settle() {
	if !g.stopping.Load() || len(g.parts) > 0 || g.spawns.Load() > 0 {
		return
	}
	select {
	case <-g.idle:
	default:
		close(g.idle)
	}
}
