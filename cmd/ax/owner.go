package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/lease"
)

// ownerWait is how long another process may take to give up the database, as one does that is
// just being replaced.
const ownerWait = 3 * time.Second

// checkOwner finds out whether another process runs the tasks of this database and will not share
// them, before anything is written to it: a second `ax run` must not delete the jobs of the first.
func checkOwner(ctx context.Context, st ax.Store, wait time.Duration) error {
	const holder = "look"
	ctx, cancel := context.WithTimeout(ctx, wait+time.Minute)
	defer cancel()
	for began := time.Now(); ; {
		err := st.Leases().Acquire(ctx, 0, holder, time.Second)
		if err == nil {
			return st.Leases().Release(ctx, 0, holder)
		}
		var held *lease.HeldError
		switch {
		case !errors.As(err, &held):
			return err
		case !held.Exclusive:
			return nil // leadership changes hands there; this process becomes a stand-by
		case time.Since(began) >= wait:
			return fmt.Errorf("another process runs the tasks of this database: %s; stop it, or use "+
				"another database", held.Holder)
		}
		if !pause(ctx, 100*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// pause waits, and reports false if ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
