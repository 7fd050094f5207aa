package mysql

import (
	"github.com/ax-sched/ax/store/mysql/internal/wire"
	"github.com/ax-sched/ax/task"
)

// The words of package wire.
type (
	verb = wire.Verb
	args = wire.Args
	row  = wire.Row
)

// rest is the state of those that an operator looks for; 0 of all others.
func rest(s task.State) int64 {
	if s == task.Pending || s > task.Succeeded {
		return int64(s)
	}
	return 0
}

// waits is when a task that waits expires; 0 of all others.
func waits(s task.State, expires task.Time) int64 {
	if s == task.Pending || s == task.Scheduled {
		return int64(expires)
	}
	return 0
}
