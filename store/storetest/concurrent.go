package storetest

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

var concurrentTests = []test{
	{"Linearizable", testLinearizable},
	{"ClaimersShareNoTask", testClaimers},
	{"D08 two sweepers recover each task once", testD08},
	{"OverlappingBatches", testOverlappingBatches},
	{"ReadersSeeWholeTransitions", testReaders},
}

// access is one operation on the register that a task's row is: the version and a value.
type access struct {
	write    bool
	expected int64
	value    int
}

// seen is its answer.
type seen struct {
	applied bool
	version int64
	value   int
}

// register is the sequential model: a compare-and-set of the value on the version.
var register = porcupine.Model{
	Init: func() any { return seen{version: 1} },
	Step: func(state, input, output any) (bool, any) {
		now, in, out := state.(seen), input.(access), output.(seen)
		switch {
		case !in.write:
			return out.version == now.version && out.value == now.value, now
		case out.applied:
			return in.expected == now.version && out.version == now.version+1,
				seen{version: now.version + 1, value: in.value}
		}
		return in.expected != now.version, now
	},
}

// testLinearizable lets callers read and move one task at the same time: there must be an order of
// all operations that explains every answer and agrees with the order in time.
func testLinearizable(t *testing.T, s Full) {
	const callers, each = 5, 30
	for range 3 {
		row := inState(t, s, task.Scheduled, nil)
		var clock, values atomic.Int64
		var mu sync.Mutex
		var ops []porcupine.Operation
		async(callers, func(i int) {
			known := row
			for k := range each {
				in := access{write: (k+i)%3 != 0, expected: known.Version}
				op := porcupine.Operation{ClientId: i, Call: clock.Add(1)}
				if in.write {
					in.value = int(values.Add(1))
					tr := follow(&known, task.Reschedule)
					tr.Set.Attempt = in.value
					res, err := s.Apply(t.Context(), store.Fence{}, []*task.Transition{tr})
					if err != nil || len(res) != 1 {
						t.Errorf("apply: %v, %v", res, err)
						return
					}
					op.Output = seen{applied: res[0].Status == store.Applied, version: res[0].Version}
				} else {
					rows, err := s.Tasks(t.Context(), []task.ID{row.ID})
					if err != nil || len(rows) != 1 {
						t.Errorf("read: %d rows, %v", len(rows), err)
						return
					}
					known = rows[0]
					op.Output = seen{version: known.Version, value: known.Attempt}
				}
				op.Input, op.Return = in, clock.Add(1)
				mu.Lock()
				ops = append(ops, op)
				mu.Unlock()
			}
		})
		if got := porcupine.CheckOperationsTimeout(register, ops, time.Minute); got != porcupine.Ok {
			t.Fatalf("the history of %d operations is not linearizable: %v", len(ops), got)
		}
		history(t, s, row.ID)
	}
}

// dueTasks inserts n due tasks in a group of their own and returns its name and their ids.
func dueTasks(t *testing.T, s Full, n int) (string, []task.ID) {
	t.Helper()
	group := name("g")
	tasks := make([]task.Task, n)
	for i := range tasks {
		tasks[i] = newTask(t.Name())
		tasks[i].Group, tasks[i].RunAt = group, task.Time(1+i)
	}
	insert(t, s, tasks...)
	return group, idsOf(tasks)
}

// Claimers that read the same due tasks share them out: each task goes to one.
func testClaimers(t *testing.T, s Full) {
	const n, claimers = 600, 4
	group, ids := dueTasks(t, s, n)
	var owners [claimers]map[task.ID]task.ID
	async(claimers, func(i int) {
		owners[i] = map[task.ID]task.ID{}
		for {
			pages, _, err := s.Due(t.Context(), []store.Cursor{{Group: group, Bucket: task.Normal,
				Until: task.MaxTime, Limit: 50}})
			if err != nil || len(pages) != 1 {
				t.Errorf("due: %v", err)
				return
			}
			if len(pages[0]) == 0 {
				return
			}
			var trs []*task.Transition
			for _, d := range pages[0] {
				row := newTask(d.Kind)
				row.ID, row.Version, row.RunAt = d.ID, 1, d.RunAt
				tr := follow(&row, task.Claim)
				tr.WhenDue = true
				trs = append(trs, tr)
			}
			res, err := s.Apply(t.Context(), store.Fence{}, trs)
			if err != nil {
				t.Errorf("claim: %v", err)
				return
			}
			for k, r := range res {
				if r.Status == store.Applied {
					owners[i][trs[k].ID] = trs[k].Set.ExecutionID
				}
			}
		}
	})
	rows := readAll(t, s, ids)
	total := 0
	for i := range owners {
		total += len(owners[i])
		for id, exec := range owners[i] {
			if r := rows[id]; r.ExecutionID != exec || r.Version != 2 || r.Attempt != 1 {
				t.Errorf("task %s: execution %s, version %d, attempt %d; claimer %d made %s", id,
					r.ExecutionID, r.Version, r.Attempt, i, exec)
			}
		}
	}
	if total != n {
		t.Errorf("%d claims of %d tasks", total, n)
	}
}

func testD08(t *testing.T, s Full) {
	const n = 1000
	epoch := number()
	ids := claimed(t, s, epoch, n)
	var recovered [2]int
	async(2, func(i int) {
		for {
			rows, err := s.Live(t.Context(), store.LiveQuery{Epoch: epoch, Limit: 200})
			if err != nil {
				t.Errorf("live: %v", err)
				return
			}
			if len(rows) == 0 {
				return
			}
			trs := make([]*task.Transition, len(rows))
			for k := range rows {
				trs[k] = follow(&rows[k], task.Lose, task.Recover)
				trs[k].Execution = rows[k].ExecutionID
			}
			res, err := s.Apply(t.Context(), store.Fence{}, trs)
			if err != nil {
				t.Errorf("recover: %v", err)
				return
			}
			for _, r := range res {
				if r.Status == store.Applied {
					recovered[i]++
				}
			}
		}
	})
	if got := recovered[0] + recovered[1]; got != n {
		t.Errorf("%d recoveries of %d tasks", got, n)
	}
	for id, r := range readAll(t, s, ids) {
		if r.Recoveries != 1 || r.Version != 4 || r.State != task.Scheduled {
			t.Errorf("task %s: %d recoveries, version %d, %s", id, r.Recoveries, r.Version, r.State)
		}
	}
}

// Batches that meet in the same rows in different orders neither deadlock nor lose an answer.
func testOverlappingBatches(t *testing.T, s Full) {
	const n, callers = 150, 3
	_, ids := dueTasks(t, s, n)
	rows := readAll(t, s, ids)
	var applied atomic.Int64
	async(callers, func(i int) {
		mine := slices.Clone(ids)
		if i%2 == 1 {
			slices.Reverse(mine)
		}
		for round := range 10 {
			trs := make([]*task.Transition, n)
			for k, id := range mine {
				row := rows[id]
				row.Version = int64(1 + round)
				trs[k] = follow(&row, task.Reschedule)
			}
			res, err := s.Apply(t.Context(), store.Fence{}, trs)
			if err != nil {
				t.Errorf("apply: %v", err)
				return
			}
			for _, r := range res {
				switch r.Status {
				case store.Applied:
					applied.Add(1)
				case store.Conflict:
				default:
					t.Errorf("%s; want applied or conflict", r.Status)
				}
			}
		}
	})
	total := int64(0)
	for _, r := range readAll(t, s, ids) {
		total += r.Version - 1
	}
	if total != applied.Load() || total == 0 {
		t.Errorf("the rows moved %d times, %d results say applied", total, applied.Load())
	}
	history(t, s, ids[0])
}

// A reader sees a row before or after a transition, and never its history without it.
func testReaders(t *testing.T, s Full) {
	row := inState(t, s, task.Scheduled, func(tk *task.Task) { tk.Attempt = 1 })
	var done atomic.Bool
	async(3, func(i int) {
		if i > 0 {
			for !done.Load() {
				rows, err := s.Tasks(t.Context(), []task.ID{row.ID})
				if err != nil || len(rows) != 1 {
					t.Errorf("read: %d rows, %v", len(rows), err)
					return
				}
				h, err := s.History(t.Context(), row.ID)
				if err != nil || int64(len(h)) < rows[0].Version || int64(len(h))%2 != 1 {
					t.Errorf("a row of version %d, then %d entries, %v", rows[0].Version, len(h), err)
					return
				}
				if rows[0].Attempt != int(rows[0].Version) {
					t.Errorf("version %d with the fields of %d", rows[0].Version, rows[0].Attempt)
					return
				}
			}
			return
		}
		defer done.Store(true)
		known := row
		for range 40 {
			tr := follow(&known, task.Claim, task.Return)
			tr.Set.Attempt = int(known.Version) + 2
			res, err := s.Apply(t.Context(), store.Fence{}, []*task.Transition{tr})
			if err != nil || res[0].Status != store.Applied {
				t.Errorf("apply: %v, %v", res, err)
				return
			}
			known.Version, known.Mutable = res[0].Version, tr.Set
		}
	})
}
