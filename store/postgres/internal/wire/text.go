package wire

import (
	"bytes"

	"github.com/ax-sched/ax/task"
)

// CompareIDs orders ids as PostgreSQL does.
func CompareIDs(a, b task.ID) int { return bytes.Compare(a[:], b[:]) }
