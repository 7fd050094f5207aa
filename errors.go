package ax

import (
	"errors"

	"github.com/ax-sched/ax/cron"
	"github.com/ax-sched/ax/executor"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Errors to match with errors.Is. Bad input gives an *[InputError] that names the field.
var (
	// ErrNotFound: there is no such task or job.
	ErrNotFound = store.ErrNotFound
	// ErrConflict: the task's state does not allow it, or somebody changed it at the same time.
	ErrConflict = complete.ErrConflict
	// ErrUnknownKind: no handler for the kind in this process, and Config.RequireKind is set.
	ErrUnknownKind = errors.New("no handler for this kind")
	// ErrDuplicateKind: the kind has a handler already.
	ErrDuplicateKind = errors.New("this kind has a handler already")
	// ErrTooLarge: the payload is over the limit. It is refused, never cut.
	ErrTooLarge = task.ErrTooLarge
	// ErrNeverFires: the schedule has no fire in the future.
	ErrNeverFires = cron.ErrNeverFires
	// ErrRunning: Run is running already.
	ErrRunning = errors.New("Run is running already")
	// ErrLocked: another process owns the database; this one can only submit and read.
	ErrLocked = lease.ErrLocked
	// The others come from the store.
	ErrClosed   = store.ErrClosed
	ErrBusy     = store.ErrBusy
	ErrFull     = store.ErrFull
	ErrReadOnly = store.ErrReadOnly
	ErrNewer    = store.ErrNewer
	ErrDamaged  = store.ErrDamaged
)

// What context.Cause gives a handler whose context has ended. An error returned after ErrShutdown
// or ErrFenced hands the task back without spending a retry.
var (
	ErrShutdown = executor.ErrShutdown // the process stops
	ErrCanceled = executor.ErrCanceled // somebody canceled the task
	ErrTimeout  = executor.ErrTimeout  // the attempt is past its hard time-out
	ErrFenced   = executor.ErrFenced   // this process was declared lost; the task may run elsewhere
)
