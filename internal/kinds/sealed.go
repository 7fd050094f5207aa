package kinds

import (
	"errors"
	"fmt"

	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/seal"
	"github.com/ax-sched/ax/task"
)

// Open returns the payload of a task that is to run. A key that is not here may come with the next
// deploy, so that is retried; nothing else here gets better.
func Open(box *seal.Box, t *task.Task) ([]byte, error) {
	p, err := box.Open(seal.Payload(t.Kind), t.Payload)
	if err == nil {
		return p, nil
	}
	err = fmt.Errorf("payload: %w", err)
	if errors.Is(err, seal.ErrDamaged) || errors.Is(err, seal.ErrNotSealed) {
		err = retry.Permanent(err)
	}
	return nil, err
}
