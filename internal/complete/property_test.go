package complete

import (
	"testing"

	"github.com/ax-sched/ax/task"
)

// TestDecidedIsLegal: whatever the row and the report are, the answer passes the table of moves
// and leaves the counts of others alone. All combinations are tried.
func TestDecidedIsLegal(t *testing.T) {
	const flags = 5
	for _, s := range task.States() {
		for n := range 8 * 8 * 3 << flags {
			flag := func(i int) bool { return n>>i&1 == 1 }
			k := &task.Task{ID: theTask, OverlapKey: "o", Version: 4}
			k.State, k.ExecutionID, k.Recoveries = s, theRun, 2
			r := task.Report{ID: theTask, Execution: theRun, Permanent: flag(0), Stopped: flag(1),
				HasDelay: flag(2)}
			if flag(3) {
				k.CancelAsked = storeNow
			}
			if flag(4) {
				k.StopAsked = storeNow
			}
			rest := n >> flags
			r.Outcome, k.LastOutcome = task.Outcome(rest%8), task.Outcome(rest/8%8)
			k.Failures = rest / 64
			p := Policy{MaxRetries: n % 2, OnUnknown: task.Unknown(n % 3)}
			r.Interrupted = n%5 == 0
			tr := Decide(k, r, p, storeNow, 0)
			if tr == nil {
				continue
			}
			if again := tr.Set.State == task.Scheduled; again && p.once() && s != task.Scheduled &&
				r.Outcome != task.OutSnoozed && (r.Outcome != task.OutReleased || r.Interrupted) {
				t.Fatalf("%s, report %+v: at most once, and %s", s, r, events(tr))
			}
			if err := tr.Check(); err != nil {
				t.Fatalf("%s, last %s, %s, report %+v: %v", s, k.LastOutcome, events(tr), r, err)
			}
			if m := tr.Set; m.Recoveries != 2 || m.Failures-k.Failures > 1 || m.Failures < k.Failures {
				t.Fatalf("%s: failures %d to %d, recoveries %d", s, k.Failures, m.Failures, m.Recoveries)
			}
		}
	}
}
