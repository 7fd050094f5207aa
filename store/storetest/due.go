package storetest

import (
	"slices"
	"testing"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

var dueTests = []test{
	{"OrderAndPages", testDueOrder},
	{"UntilIsInclusive", testDueUntil},
	{"GroupsAndBuckets", testDueQueues},
	{"OnlyScheduled", testDueStates},
	{"Rescheduled", testDueRescheduled},
	{"TenThousandInOrder", testDueMany},
	{"OldLowRowsHideNoCriticalOne", testDueHidden},
	{"Time", testDueTime},
	{"S05 finished rows cost nothing", testS05},
}

// due reads one page of each cursor.
func due(t *testing.T, s store.Watcher, cs ...store.Cursor) [][]store.Due {
	t.Helper()
	pages, _, err := s.Due(t.Context(), cs)
	if err != nil {
		t.Fatalf("due: %v", err)
	}
	if len(pages) != len(cs) {
		t.Fatalf("%d cursors gave %d pages", len(cs), len(pages))
	}
	return pages
}

// walk reads all pages of a cursor.
func walk(t *testing.T, s store.Watcher, c store.Cursor) []store.Due {
	t.Helper()
	var all []store.Due
	for {
		page := due(t, s, c)[0]
		if len(page) > c.Limit {
			t.Fatalf("a page of %d rows; the limit is %d", len(page), c.Limit)
		}
		all = append(all, page...)
		if len(page) < c.Limit {
			return all
		}
		c.After = page[len(page)-1].Mark
	}
}

// expected returns what a walk over tasks must give.
func expected(tasks []task.Task) []store.Due {
	out := make([]store.Due, len(tasks))
	for i, tk := range tasks {
		out[i] = store.Due{Mark: store.Mark{RunAt: tk.RunAt, ID: tk.ID}, Kind: tk.Kind}
	}
	slices.SortFunc(out, func(a, b store.Due) int {
		if a.Less(b.Mark) {
			return -1
		}
		return 1
	})
	return out
}

func testDueOrder(t *testing.T, s Full) {
	group := name("g")
	var tasks []task.Task
	for i := range 100 {
		tk := newTask(t.Name())
		tk.Group, tk.RunAt = group, task.Time(1_000_000+(i*37)%10)
		tk.Kind = []string{"a", "b", "c"}[i%3]
		tasks = append(tasks, tk)
	}
	slices.Reverse(tasks) // equal instants come in the order of ids, not of inserts
	insert(t, s, tasks...)
	want := expected(tasks)
	for _, limit := range []int{1, 7, 50, 99, 100, 101, 5000} {
		c := store.Cursor{Group: group, Bucket: task.Normal, Until: task.MaxTime, Limit: limit}
		same(t, "walk", want, walk(t, s, c))
	}
	// A mark need not be a row, and cursors are independent of each other.
	mid := store.Mark{RunAt: want[50].RunAt, ID: want[50].ID}
	mid.ID[15]++
	pages := due(t, s,
		store.Cursor{Group: group, Bucket: task.Normal, Until: task.MaxTime, Limit: 9, After: mid},
		store.Cursor{Group: group, Bucket: task.Normal, Until: task.MaxTime, Limit: 3},
		store.Cursor{Group: group, Bucket: task.Normal, Until: task.MaxTime, Limit: 3,
			After: want[99].Mark},
		store.Cursor{Group: group, Bucket: task.Normal, Until: task.MaxTime, Limit: 2,
			After: store.Mark{RunAt: 1_000_004}},
	)
	from := slices.IndexFunc(want, func(d store.Due) bool { return mid.Less(d.Mark) })
	tie := slices.IndexFunc(want, func(d store.Due) bool { return d.RunAt >= 1_000_004 })
	same(t, "page after a mark between rows", want[from:from+9], pages[0])
	same(t, "first page", want[:3], pages[1])
	same(t, "page after the last row", []store.Due{}, pages[2])
	same(t, "page after an instant", want[tie:tie+2], pages[3])
	if got := due(t, s); len(got) != 0 {
		t.Errorf("no cursor gave %d pages", len(got))
	}
}

func testDueUntil(t *testing.T, s Full) {
	group := name("g")
	var tasks []task.Task
	for _, at := range []task.Time{999, 1000, 1001, task.MaxTime} {
		tk := newTask(t.Name())
		tk.Group, tk.RunAt = group, at
		tasks = append(tasks, tk)
	}
	insert(t, s, tasks...)
	for until, n := range map[task.Time]int{998: 0, 999: 1, 1000: 2, 1001: 3,
		task.MaxTime - 1: 3, task.MaxTime: 4, 0: 0} {
		c := store.Cursor{Group: group, Bucket: task.Normal, Until: until, Limit: 10}
		same(t, "page", expected(tasks)[:n], due(t, s, c)[0])
	}
}

func testDueQueues(t *testing.T, s Full) {
	groups := []string{name("g"), name("g"), "Группа-" + name("g")}
	var cs []store.Cursor
	var want [][]store.Due
	for i, g := range groups {
		for _, b := range task.Buckets() {
			var tasks []task.Task
			for range i + int(b) {
				tk := newTask(t.Name())
				tk.Group, tk.Bucket = g, b
				tk.RunAt = task.Time(1000 - len(tasks)*10)
				tasks = append(tasks, tk)
			}
			insert(t, s, tasks...)
			cs = append(cs, store.Cursor{Group: g, Bucket: b, Until: 2000, Limit: 100})
			want = append(want, expected(tasks))
		}
	}
	cs = append(cs, store.Cursor{Group: name("nobody"), Bucket: task.High, Until: 2000, Limit: 5})
	want = append(want, nil)
	slices.Reverse(cs)
	slices.Reverse(want)
	same(t, "pages", want, due(t, s, cs...))
}

func testDueStates(t *testing.T, s Full) {
	group := name("g")
	var want []task.Task
	for _, state := range task.States() {
		if !state.Resting() || state == task.Pending {
			continue
		}
		row := inState(t, s, state, func(tk *task.Task) { tk.Group, tk.RunAt = group, 77 })
		if state == task.Scheduled {
			want = append(want, row)
		}
	}
	c := store.Cursor{Group: group, Bucket: task.Normal, Until: task.MaxTime, Limit: 100}
	same(t, "page", expected(want), due(t, s, c)[0])
}

// A task is found at its new time only, and again after each way back to SCHEDULED.
func testDueRescheduled(t *testing.T, s Full) {
	group := name("g")
	row := inState(t, s, task.Scheduled, func(tk *task.Task) { tk.Group, tk.RunAt = group, 1000 })
	c := store.Cursor{Group: group, Bucket: task.Normal, Until: task.MaxTime, Limit: 100}
	for _, at := range []task.Time{2000, 500, 500, task.MaxTime, 1} {
		tr := follow(&row, task.Reschedule)
		tr.Set.RunAt = at
		row = mustApply(t, s, tr)
		same(t, "page", expected([]task.Task{row}), due(t, s, c)[0])
	}
	row = mustApply(t, s, follow(&row, task.Claim))
	same(t, "page after the claim", []store.Due{}, due(t, s, c)[0])
	row = mustApply(t, s, follow(&row, task.Return))
	same(t, "page after the return", expected([]task.Task{row}), due(t, s, c)[0])
}

func testDueMany(t *testing.T, s Full) {
	const n = 10_000
	group := name("g")
	tasks := make([]task.Task, n)
	for i := range tasks {
		tasks[i] = newTask(t.Name())
		tasks[i].Group, tasks[i].RunAt = group, task.Time(1+(i*7919)%n)
	}
	insert(t, s, tasks...)
	c := store.Cursor{Group: group, Bucket: task.Normal, Until: n, Limit: 1000}
	got := walk(t, s, c)
	if want := expected(tasks); !slices.Equal(want, got) {
		t.Errorf("the walk gave %d rows, not the %d due ones in their order", len(got), len(want))
	}
}

func testDueHidden(t *testing.T, s Full) {
	group := name("g")
	old := make([]task.Task, 2000)
	for i := range old {
		old[i] = newTask(t.Name())
		old[i].Group, old[i].Bucket, old[i].RunAt = group, task.Low, task.Time(1+i)
	}
	urgent := newTask(t.Name())
	urgent.Group, urgent.Bucket, urgent.RunAt = group, task.Critical, past(t, s)
	insert(t, s, append(old, urgent)...)
	var cs []store.Cursor
	for _, b := range task.Buckets() {
		cs = append(cs, store.Cursor{Group: group, Bucket: b, Until: now(t, s), Limit: 1})
	}
	pages := due(t, s, cs...)
	same(t, "the critical page", expected([]task.Task{urgent}), pages[0])
	same(t, "the low page", expected(old[:1]), pages[3])
}

func testDueTime(t *testing.T, s Full) {
	before := now(t, s)
	_, at, err := s.Due(t.Context(), []store.Cursor{{Group: "g", Bucket: task.Low, Limit: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if after := now(t, s); at < before || at > after {
		t.Errorf("the store's time is %d, outside of %d to %d", at, before, after)
	}
}

// Finished and far rows neither appear nor take a place in the pages.
func testS05(t *testing.T, s Full) {
	const n = 3000
	group := name("g")
	tasks := make([]task.Task, n)
	for i := range tasks {
		tasks[i] = newTask(t.Name())
		tasks[i].Group, tasks[i].RunAt = group, task.Time(1+i)
	}
	insert(t, s, tasks...)
	var trs []*task.Transition
	for i := range tasks {
		if i%100 != 99 {
			row := tasks[i]
			row.Version = 1
			trs = append(trs, follow(&row, task.ClaimLocal, task.Succeed))
		}
	}
	for i, r := range apply(t, s, trs...) {
		if r.Status != store.Applied {
			t.Fatalf("end %d: %s", i, r.Status)
		}
	}
	var want []task.Task
	for i := range tasks {
		if i%100 == 99 {
			want = append(want, tasks[i])
		}
	}
	c := store.Cursor{Group: group, Bucket: task.Normal, Until: task.MaxTime, Limit: 7}
	same(t, "walk", expected(want), walk(t, s, c))
}
