package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/lease"
)

// ownerWait is how long another process may take to give up the database, as one does that is
// just being replaced.
const ownerWait = 3 * time.Second

// checkOwner finds out, before anything is written, whether another process runs the tasks of this
// database and will not share them. A server's database is shared: there a second process becomes a
// stand-by, and two that run different files need two names.
func checkOwner(ctx context.Context, st ax.Store, wait time.Duration) error {
	holder := fmt.Sprintf("look-%d-%d", os.Getpid(), time.Now().UnixNano())
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
		if !clock.Sleep(ctx, 100*time.Millisecond) {
			return ctx.Err()
		}
	}
}
