package kinds

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/seal"
	"github.com/ax-sched/ax/task"
)

// keyWait is when a payload is looked at again that could not be opened here.
const keyWait = 30 * time.Second

// Open returns the payload of a task that is to run. That a key is not here, or a form too new, is
// no failure of the task: its handler was not called, and both may come with the next deploy. So
// the error snoozes it, which costs no retry, and the log says so once for each key. Nothing else
// here gets better.
func (s *Set[H]) Open(box *seal.Box, t *task.Task, log *slog.Logger) ([]byte, error) {
	p, err := box.Open(seal.Payload(t.Kind), t.Payload)
	if err == nil {
		return p, nil
	}
	if errors.Is(err, seal.ErrDamaged) || errors.Is(err, seal.ErrNotSealed) {
		return nil, retry.Permanent(fmt.Errorf("payload: %w", err))
	}
	if _, told := s.told.LoadOrStore(err.Error(), true); !told {
		log.Warn("a payload cannot be opened here; such tasks are looked at again every 30 s",
			"error", err, "task_id", t.ID.String(), "kind", t.Kind)
	}
	return nil, &complete.Steer{Outcome: task.OutSnoozed, Delay: keyWait,
		Err: fmt.Errorf("payload: %w", err)}
}
