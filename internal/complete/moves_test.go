package complete

import (
	"testing"

	"github.com/ax-sched/ax/task"
)

func TestClaim(t *testing.T) {
	k := row(task.Scheduled)
	k.CancelAsked, k.StopAsked, k.FinishedAt = 1, 2, 3
	tr := Claim(k, another, "node", 11, 12)
	if err := tr.Check(); err != nil || events(tr) != "claim_local" {
		t.Fatalf("%s, %v", events(tr), err)
	}
	m := tr.Set
	if !tr.WhenDue || tr.TakeKey != "job/1" || tr.FreeKey != "" || tr.FreeUnique ||
		!tr.Execution.IsZero() {
		t.Errorf("conditions %+v", tr)
	}
	if m.Attempt != 2 || m.ExecutionID != another || m.Executor != "node" || m.Epoch != 11 ||
		m.Token != 12 || m.StartedAt != task.StoreNow || m.DispatchedAt != task.StoreNow {
		t.Errorf("assigned %+v", m)
	}
	if m.CancelAsked != 0 || m.StopAsked != 0 || m.FinishedAt != 0 {
		t.Errorf("the new attempt inherits cancel %d, stop %d, end %d", m.CancelAsked, m.StopAsked,
			m.FinishedAt)
	}
	if err := Claim(row(task.Running), another, "node", 11, 12).Check(); err == nil {
		t.Error("a running task can be claimed")
	}
}

// TestStopAndCancel gives every state to Stop, Cancel, Skip and Supersede.
func TestStopAndCancel(t *testing.T) {
	failed := row(task.Scheduled)
	failed.Failures = 1
	for _, c := range []struct {
		row                           *task.Task
		stop, cancel, skip, supersede string
	}{
		{row(task.Pending), "nothing", "cancel", "", "nothing"},
		{row(task.Scheduled), "nothing", "cancel", "skip", "skip"},
		{failed, "nothing", "cancel", "skip", "supersede"},
		{row(task.Dispatching), "nothing", "ask_cancel", "", "nothing"},
		{row(task.Running), "stop", "ask_cancel", "", "nothing"},
		{row(task.Held), "nothing", "cancel", "", "nothing"},
		{row(task.Succeeded), "nothing", "nothing", "", "nothing"},
		{row(task.Dead), "nothing", "nothing", "", "nothing"},
		{row(task.Canceled), "nothing", "nothing", "", "nothing"},
		{row(task.Skipped), "nothing", "nothing", "", "nothing"},
	} {
		for _, m := range []struct {
			name, want string
			tr         *task.Transition
		}{
			{"stop", c.stop, Stop(c.row)},
			{"cancel", c.cancel, Cancel(c.row, "ana", "wrong order")},
			{"skip", c.skip, Skip(c.row, task.Overlapped)},
			{"supersede", c.supersede, Supersede(c.row)},
		} {
			if m.want == "" { // illegal, and marked as such
				if err := m.tr.Check(); err == nil {
					t.Errorf("%s of %s passes the check", m.name, c.row.State)
				}
				continue
			}
			if got := events(m.tr); got != m.want {
				t.Errorf("%s of %s: %s, want %s", m.name, c.row.State, got, m.want)
			}
			if m.tr != nil && m.tr.Check() != nil {
				t.Errorf("%s of %s: %v", m.name, c.row.State, m.tr.Check())
			}
		}
	}
}

func TestCancelDetails(t *testing.T) {
	asked := row(task.Running)
	asked.CancelAsked = storeNow
	if tr := Cancel(asked, "ana", ""); tr != nil {
		t.Errorf("canceling twice gives %s", events(tr))
	}
	live := Cancel(row(task.Running), "ana", "wrong order")
	if live.Set.CancelAsked != task.StoreNow || live.FreeKey != "" || live.FreeUnique {
		t.Errorf("asking: %+v", live)
	}
	m := live.Moves[0]
	if m.Actor != "ana" || m.Detail != "wrong order" || m.Reason != task.ByRequest {
		t.Errorf("history says %+v", m)
	}
	held := Cancel(row(task.Held), "ana", "")
	if held.FreeKey != "job/1" || !held.FreeUnique || held.Set.Reason != task.ByRequest {
		t.Errorf("canceling a held task: %+v", held)
	}
	told := row(task.Running)
	told.StopAsked = storeNow
	if tr := Stop(told); tr != nil {
		t.Errorf("stopping twice gives %s", events(tr))
	}
	if tr := Stop(row(task.Running)); tr.Execution != theRun || tr.Set.StopAsked != task.StoreNow {
		t.Errorf("stop: %+v", tr)
	}
}

func TestSupersedeReasons(t *testing.T) {
	failed := row(task.Scheduled)
	failed.Failures = 2
	for k, state := range map[*task.Task]task.State{
		row(task.Scheduled): task.Skipped, failed: task.Dead} {
		tr := Supersede(k)
		if tr.Set.State != state || tr.Set.Reason != task.Superseded || !tr.FreeUnique {
			t.Errorf("after %d failures: %s(%s)", k.Failures, tr.Set.State, tr.Set.Reason)
		}
	}
}
