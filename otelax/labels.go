package otelax

import (
	"slices"
	"strings"

	"github.com/ax-sched/ax/task"
)

// put adds a label, if it can be one and there is room for it.
func put(ls map[string]string, key, value string) {
	if key == "tracestate" {
		value = fitState(value)
	}
	if value == "" {
		return
	}
	if ls[key] = value; task.CheckLabels(ls) != nil {
		delete(ls, key)
	}
}

// bigEntry is what W3C Trace Context says to leave out first: a longer entry.
const bigEntry = 128

// fitState leaves entries of a tracestate out until it fits into a label: long ones first, then
// from the end, where the oldest are.
func fitState(state string) string {
	entries := strings.Split(state, ",")
	size := len(state)
	for i := len(entries) - 1; i >= 0 && size > task.MaxName; i-- {
		if len(entries[i]) > bigEntry {
			size -= len(entries[i]) + 1
			entries = slices.Delete(entries, i, i+1)
		}
	}
	for size > task.MaxName {
		last := len(entries) - 1
		size -= len(entries[last]) + 1
		entries = entries[:last]
	}
	return strings.Join(entries, ",")
}
