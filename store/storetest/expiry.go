package storetest

import (
	"testing"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

var expiryTests = []test{
	{"OnlyWhatWaits", testExpiredStates},
	{"OrderAndLimit", testExpiredOrder},
	{"TriggeredSince", testExpiredTriggered},
	{"ByTheStoresClock", testExpiredClock},
}

// expired asks for what has expired; every store has the ability.
func expired(t *testing.T, s Full, limit int) []task.Task {
	t.Helper()
	e, ok := store.As[store.Expirer](s)
	if !ok {
		t.Fatal("the store does not implement store.Expirer")
	}
	rows, err := e.Expired(t.Context(), limit)
	if err != nil {
		t.Fatalf("expired: %v", err)
	}
	return rows
}

// testExpiredStates: of tasks in all states, some with an end that has passed, only those that wait
// are found, whole but for payload and result.
func testExpiredStates(t *testing.T, s Full) {
	var want []task.Task
	for _, state := range task.States() {
		if !state.Resting() || route(task.Scheduled, state) == nil {
			continue
		}
		for i, at := range []task.Time{0, task.MaxTime, 1_700_000_000_000_000 + task.Time(state)} {
			row := inState(t, s, state, func(tk *task.Task) {
				tk.ExpiresAt, tk.Payload, tk.OnUnknown = at, []byte("payload"), task.UnknownRetry
			})
			if i == 2 && (state == task.Pending || state == task.Scheduled) {
				row.Payload, row.Result = nil, nil
				want = append(want, row)
			}
		}
	}
	if len(want) == 0 {
		t.Fatal("no state in which a task waits")
	}
	same(t, "expired", want, expired(t, s, 100))
	row := want[0]
	tr := task.Begin(&row).Then(task.Expire, task.Expired, "")
	row = mustApply(t, s, tr.Keys(&row))
	same(t, "after it has ended", want[1:], expired(t, s, 100))
	mustApply(t, s, task.Begin(&row).Then(task.Redrive, task.NoReason, "").Keys(&row))
	same(t, "after it waits again", idsOf(want), idsOf(expired(t, s, 100)))
}

func testExpiredOrder(t *testing.T, s Full) {
	var tasks []task.Task
	for i := range 30 {
		tk := newTask(t.Name())
		tk.ExpiresAt = task.Time(1_000_000 + i/2)
		tasks = append(tasks, tk)
	}
	want := idsOf(tasks)
	insert(t, s, append(tasks[15:], tasks[:15]...)...)
	for _, limit := range []int{1, 7, 30, 1000} {
		same(t, "expired", want[:min(limit, 30)], idsOf(expired(t, s, limit)))
	}
}

// testExpiredTriggered: who triggers a task that has expired wants it to run.
func testExpiredTriggered(t *testing.T, s Full) {
	const end = 1_700_000_000_000_000
	var want []task.ID
	for _, at := range []task.Time{0, end - 1, end, end + 1} {
		row := inState(t, s, task.Scheduled, func(tk *task.Task) { tk.ExpiresAt = end })
		tr := task.Begin(&row).Then(task.Trigger, task.NoReason, "")
		tr.Set.TriggeredAt = at
		mustApply(t, s, tr.Keys(&row))
		if at <= end {
			want = append(want, row.ID)
		}
	}
	same(t, "expired", want, idsOf(expired(t, s, 10)))
}

func testExpiredClock(t *testing.T, s Full) {
	at := now(t, s)
	past, future := newTask(t.Name()), newTask(t.Name())
	past.ExpiresAt, future.ExpiresAt = at-1, at.Add(time.Hour)
	insert(t, s, past, future)
	same(t, "expired", []task.ID{past.ID}, idsOf(expired(t, s, 10)))
}
