// Package executor runs handlers: it owns the slots of a process, ends what takes too long, and
// reports how each execution ended.
package executor

import "errors"

// What context.Cause gives a handler whose context has ended.
var (
	// ErrShutdown: the process stops. An error returned after it hands the task back without
	// spending a retry.
	ErrShutdown = errors.New("executor is shutting down")
	// ErrCanceled: somebody canceled the task.
	ErrCanceled = errors.New("task was canceled")
	// ErrTimeout: the execution is past its hard time-out.
	ErrTimeout = errors.New("execution is past its hard time-out")
	// ErrFenced: this executor's epoch was retired; somebody else may run the task now.
	ErrFenced = errors.New("executor was declared lost")
)
