// Package leader campaigns for a partition and lets its duties run while leadership is believed.
//
// Belief ends at a deadline counted from before the last renewal was sent, by a clock that also
// runs in suspend. It may still be wrong for a moment; the fencing token makes that harmless.
package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/store"
)

// Config says how a Leader works; all fields are required.
type Config struct {
	Lease     lease.Backend
	Store     store.Fencer
	Partition int
	Holder    string        // random for each start of a process
	TTL       time.Duration // 10 s
	// Since is a clock that only moves forward, also in suspend.
	Since func() time.Duration
	Rand  func() float64 // in [0,1): spreads stand-bys
	// Lead starts the duties of a term and returns at once. They end when ctx does, or by
	// themselves with an error; then the channel gives it and nothing of them writes any more.
	Lead func(ctx context.Context, f store.Fence) <-chan error
	// Spawn runs f on a goroutine that somebody waits for.
	Spawn func(f func())
	// Failed is told of each error; campaigning goes on.
	Failed func(error)
}

// Times of a stand-by and of the hand-over.
const (
	longestWait  = 5 * time.Second        // between two attempts at the lease
	spread       = 200 * time.Millisecond // added to the end of the lease that was read
	afterFailure = time.Second            // before the next campaign, for stand-bys to come first
	retryRenewal = 500 * time.Millisecond // after a renewal that was not answered
	releaseLimit = 2 * time.Second        // for giving the lease up
	lockedLimit  = 10 * time.Second       // an exclusive lease of another process is an error then
)

// ErrDeadline ends a term whose lease could not be renewed in time.
var ErrDeadline = errors.New("lease was not renewed in time")

// Leader campaigns for one partition.
type Leader struct {
	cfg    Config
	locked time.Duration // when an exclusive holder was first met; 0: not
}

// New returns a Leader; its Run does the work.
func New(cfg Config) *Leader { return &Leader{cfg: cfg} }

// Run campaigns and leads until ctx ends, then gives the lease up. It returns an error only if the
// lease cannot be had while another process lives; the error matches lease.ErrLocked.
func (l *Leader) Run(ctx context.Context) error {
	for {
		f, until, err := l.campaign(ctx)
		var held *lease.HeldError
		switch {
		case ctx.Err() != nil:
			l.release(ctx)
			return ctx.Err()
		case err == nil:
			l.locked = 0
			err := l.lead(ctx, f, until)
			l.release(ctx)
			if err == nil || ctx.Err() != nil {
				continue
			}
			l.cfg.Failed(err)
			clock.Sleep(ctx, afterFailure) // a term that fails at once is no reason to hurry
			continue
		case errors.As(err, &held):
			if err := l.tooLong(held); err != nil {
				return err
			}
		default:
			l.cfg.Failed(err)
		}
		l.pause(ctx, held)
	}
}

// tooLong turns an exclusive holder into an error once it has been met for lockedLimit.
func (l *Leader) tooLong(held *lease.HeldError) error {
	if !held.Exclusive {
		l.locked = 0
		return nil
	}
	now := l.cfg.Since()
	if l.locked == 0 {
		l.locked = now
	}
	if now-l.locked < lockedLimit {
		return nil
	}
	return fmt.Errorf("%w: %s; stop it, or only submit from this process", lease.ErrLocked,
		held.Holder)
}

// pause waits until the lease that was met may have ended.
func (l *Leader) pause(ctx context.Context, held *lease.HeldError) {
	d := longestWait
	switch {
	case held == nil:
		d = time.Second // the backend does not answer
	case held.Exclusive:
		d = 500 * time.Millisecond
	case held.Left > 0:
		d = min(held.Left, longestWait)
	}
	clock.Sleep(ctx, d+time.Duration(l.cfg.Rand()*float64(spread)))
}

// campaign tries once to become the leader. The token is read before the lease is asked for: a
// candidate that was paused in between then fails to install, instead of fencing the real leader.
func (l *Leader) campaign(ctx context.Context) (store.Fence, time.Duration, error) {
	c := l.cfg
	ctx, cancel := context.WithTimeout(ctx, c.TTL)
	defer cancel()
	seen, err := c.Store.Token(ctx, c.Partition)
	if err != nil {
		return store.Fence{}, 0, fmt.Errorf("read token: %w", err)
	}
	sent := c.Since()
	if err := c.Lease.Acquire(ctx, c.Partition, c.Holder, c.TTL); err != nil {
		return store.Fence{}, 0, fmt.Errorf("acquire lease: %w", err)
	}
	token, err := c.Store.Install(ctx, c.Partition, seen, c.Holder)
	if err != nil {
		l.release(ctx)
		return store.Fence{}, 0, fmt.Errorf("install token: %w", err)
	}
	return store.Fence{Partition: c.Partition, Token: token}, sent + c.TTL, nil
}

// lead runs the duties until ctx ends, they end, or belief does. A renewal that does not return is
// not waited for: belief ends at its time all the same.
func (l *Leader) lead(ctx context.Context, f store.Fence, until time.Duration) error {
	term, end := context.WithCancelCause(ctx)
	defer end(nil)
	done := l.cfg.Lead(term, f)
	renewed := make(chan renewal, 1)
	next, limit := time.NewTimer(l.cfg.TTL/3), time.NewTimer(until-l.cfg.Since())
	defer next.Stop()
	defer limit.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return <-done
		case <-limit.C:
			if left := until - l.cfg.Since(); left > 0 {
				limit.Reset(left)
				continue
			}
			end(ErrDeadline)
			return errors.Join(ErrDeadline, <-done)
		case <-next.C:
			if l.cfg.Since() >= until { // the machine was suspended
				end(ErrDeadline)
				return errors.Join(ErrDeadline, <-done)
			}
			l.cfg.Spawn(func() { renewed <- l.renew(ctx) })
		case r := <-renewed:
			switch {
			case r.err == nil:
				until = r.sent + l.cfg.TTL
				limit.Reset(until - l.cfg.Since())
				next.Reset(l.cfg.TTL / 3)
			case errors.Is(r.err, lease.ErrLost):
				end(r.err)
				return errors.Join(fmt.Errorf("renew lease: %w", r.err), <-done)
			default:
				l.cfg.Failed(fmt.Errorf("renew lease: %w", r.err))
				next.Reset(retryRenewal)
			}
		}
	}
}

// renewal is the result of one renewal, and when it was sent.
type renewal struct {
	sent time.Duration
	err  error
}

func (l *Leader) renew(ctx context.Context) renewal {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.TTL/3)
	defer cancel()
	sent := l.cfg.Since()
	return renewal{sent, l.cfg.Lease.Renew(ctx, l.cfg.Partition, l.cfg.Holder, l.cfg.TTL)}
}

// release gives the lease up even when ctx has ended: a stand-by then need not wait for its end.
func (l *Leader) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
	defer cancel()
	if err := l.cfg.Lease.Release(ctx, l.cfg.Partition, l.cfg.Holder); err != nil {
		l.cfg.Failed(fmt.Errorf("release lease: %w", err))
	}
}
