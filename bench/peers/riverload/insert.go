package riverload

import (
	"context"
	"fmt"

	"github.com/ax-sched/ax/bench/peers/measure"
	"github.com/riverqueue/river"
)

// insert measures durable inserts: one by one, by many callers, in bulk.
func (b *bench[T]) insert(ctx context.Context) error {
	for _, n := range []int{1, b.callers} {
		name := fmt.Sprintf("%s, Insert one by one, %d goroutines", b.tag, n)
		err := measure.Rate(name, "jobs/s", n, b.length, 1, func() error {
			_, err := b.inserter.Insert(ctx, args{Pad: pad}, nil)
			return err
		})
		if err != nil {
			return err
		}
	}
	params := make([]river.InsertManyParams, b.many)
	for i := range params {
		params[i].Args = args{Number: i, Pad: pad}
	}
	name := fmt.Sprintf("%s, InsertManyFast of %d", b.tag, b.many)
	return measure.Rate(name, "jobs/s", 1, b.length, b.many, func() error {
		_, err := b.inserter.InsertManyFast(ctx, params)
		return err
	})
}
