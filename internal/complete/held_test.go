package complete

import (
	"testing"

	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
)

// TestLateFailureOfHeldAfterStop: the late report of a held execution that was told to stop.
func TestLateFailureOfHeldAfterStop(t *testing.T) {
	ex := task.ID{1}
	for _, stopAsked := range []task.Time{0, 5} {
		for _, stopped := range []bool{false, true} {
			row := &task.Task{ID: task.ID{2}, Version: 3, Mutable: task.Mutable{State: task.Held,
				ExecutionID: ex, StopAsked: stopAsked}}
			tr := Decide(row, task.Report{ID: row.ID, Execution: ex, Outcome: task.OutFailed,
				Stopped: stopped}, Policy{MaxRetries: 1, Retry: retry.Default()}, 1000, 0)
			if tr == nil {
				t.Fatalf("stop asked %d, stopped %v: the late report means nothing", stopAsked, stopped)
			}
			if err := tr.Check(); err != nil {
				t.Errorf("stop asked %d, stopped %v: %v", stopAsked, stopped, err)
			}
		}
	}
}
