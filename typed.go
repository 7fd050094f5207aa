package ax

import (
	"context"
	"fmt"

	"github.com/ax-sched/ax/internal/kinds"
)

// Args is the typed payload of one kind, stored as JSON. Give Kind a value receiver and let it
// return a constant: it is also called on the zero value. Submit one with [NewTask.Args], handle
// it with [HandleFunc].
type Args interface {
	// Kind is the kind of the tasks that carry these arguments.
	Kind() string
}

// TaskOf is a [Task] with its decoded payload.
type TaskOf[T Args] struct {
	*Task
	Args T
}

// HandleFunc is [Scheduler.Handle] for the kind of T, with the payload decoded from JSON. Unknown
// fields are ignored, numbers keep all their digits (in fields of type any they are json.Number).
// A payload that does not decode is a [Permanent] error that names the kind and the field: no retry
// would help. T is the struct itself, not a pointer to it.
func HandleFunc[T Args](s *Scheduler, h func(ctx context.Context, t *TaskOf[T]) error,
	opts ...HandleOption) error {
	kind, err := kinds.Typed[T]()
	if err != nil {
		err = fmt.Errorf("handle %s: %w", kind, err)
		s.kinds.Fail(err)
		return err
	}
	if h == nil {
		return s.Handle(kind, nil, opts...)
	}
	return s.Handle(kind, func(ctx context.Context, t *Task) error {
		args, err := kinds.Decode[T](t.Payload)
		if err != nil {
			return Permanent(fmt.Errorf("kind %q: %w", t.Kind, err))
		}
		return h(ctx, &TaskOf[T]{Task: t, Args: args})
	}, opts...)
}
