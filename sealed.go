package ax

import (
	"errors"
	"fmt"

	"github.com/ax-sched/ax/seal"
	"github.com/ax-sched/ax/task"
)

// open returns the payload of a task that is to run. A key that is not here may come with the next
// deploy, so that is retried; nothing else here gets better.
func (s *Scheduler) open(t *task.Task) ([]byte, error) {
	p, err := s.cfg.Seal.Open(seal.Payload(t.Kind), t.Payload)
	if err == nil {
		return p, nil
	}
	err = fmt.Errorf("payload: %w", err)
	if errors.Is(err, seal.ErrDamaged) || errors.Is(err, seal.ErrNotSealed) {
		err = Permanent(err)
	}
	return nil, err
}

// shown opens a value for a person, if it can.
func (s *Scheduler) shown(to seal.Binding, value []byte) []byte {
	if p, err := s.cfg.Seal.Open(to, value); err == nil {
		return p
	}
	return value
}
