package wire

import (
	"time"

	"github.com/ax-sched/ax/task"
)

// Keeping returns the rows whose key is to stay taken beyond the life of their task.
func Keeping(rows []*NewRow) (want []*NewRow) {
	for _, r := range rows {
		if r.Unique != task.UniqueLive {
			want = append(want, r)
		}
	}
	return want
}

// FirstOfKey leaves out rows with the kind and key of the one before: a statement may write a key
// only once. Equal ones stand side by side.
func FirstOfKey(rows []*NewRow) (first []*NewRow) {
	for _, r := range rows {
		n := len(first)
		if n == 0 || first[n-1].Kind != r.Kind || first[n-1].Key != r.Key {
			first = append(first, r)
		}
	}
	return first
}

// Kept returns the rows that may be inserted, in their order, and those of them that have just got
// a key: of want those whose task is in got.
func Kept(rows, want []*NewRow, got map[task.ID]bool) (ready, kept []*NewRow) {
	tried := make(map[*NewRow]bool, len(want))
	for _, r := range want {
		tried[r] = true
	}
	for _, r := range rows {
		switch {
		case r.Unique == task.UniqueLive:
			ready = append(ready, r)
		case tried[r] && got[r.ID]:
			ready, kept = append(ready, r), append(kept, r)
		}
	}
	return ready, kept
}

// Without returns the rows that were not found.
func Without(rows []*NewRow, found map[*NewRow]bool) (rest []*NewRow) {
	for _, r := range rows {
		if !found[r] {
			rest = append(rest, r)
		}
	}
	return rest
}

// KeepFor is a scope as the statements read it: microseconds, -1 for ever, 0 for none.
func KeepFor(u task.Unique) int64 {
	if u == task.UniqueForever || u == task.UniqueLive {
		return int64(u)
	}
	return max(time.Duration(u).Microseconds(), 1)
}
