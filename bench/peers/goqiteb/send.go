package main

import (
	"context"
	"database/sql"

	"github.com/ax-sched/ax/bench/peers/measure"
	"maragu.dev/goqite"
)

// send measures durable sends: one by one, by many callers, many in one transaction.
func (b *bench) send(ctx context.Context) error {
	m := goqite.Message{Body: make([]byte, 64)}
	for _, n := range []int{1, b.callers} {
		name := b.named("Send one by one, %d goroutines", n)
		err := measure.Rate(name, "jobs/s", n, b.length, 1, func() error {
			return b.queue.Send(ctx, m)
		})
		if err != nil {
			return err
		}
	}
	name := b.named("SendTx, %d in a transaction", b.many)
	return measure.Rate(name, "jobs/s", 1, b.length, b.many, func() error {
		return b.inTx(ctx, func(tx *sql.Tx) error {
			for range b.many {
				if err := b.queue.SendTx(ctx, tx, m); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
