package clock

import (
	"context"
	"time"

	"github.com/ax-sched/ax/internal/plant"
)

// callLimit is how long one round of store calls may take. A connection whose other end has
// vanished may never answer: a loop that waits for it would be dead and not know it.
const callLimit = 10 * time.Second

// Limit returns a context for one round of store calls of a loop. The round is tried again after
// its end, so everything it writes must bear to be repeated.
func Limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if plant.On(plant.CallsHang) {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, callLimit)
}
