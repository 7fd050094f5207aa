package storetest

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

var listTests = []test{
	{"NewestFirstInPages", testListPages},
	{"Filters", testListFilters},
	{"WithoutPayload", testListLight},
	{"Tasks", testTasks},
}

// aloneTests need a store that nobody else writes.
var aloneTests = []test{
	{"Count", testCount},
	{"PruneBoundary", testPruneBoundary},
	{"ListAll", testListAll},
	{"Kinds", testKinds},
	{"EmptyStore", testEmptyStore},
}

func compareIDs(a, b task.ID) int { return bytes.Compare(a[:], b[:]) }

func list(t *testing.T, s store.Reader, q store.Query) []task.ID {
	t.Helper()
	rows, err := s.List(t.Context(), q)
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return idsOf(rows)
}

func testListPages(t *testing.T, s Full) {
	kind := name("kind")
	tasks := make([]task.Task, 1250)
	ids := make([]task.ID, len(tasks))
	for i := range tasks {
		tasks[i] = newTask(kind)
		tasks[i].RunAt = task.Time(1 + i%7) // the order is that of ids
		ids[i] = tasks[i].ID
	}
	insert(t, s, tasks...)
	slices.Reverse(ids)
	for limit, n := range map[int]int{0: 100, 1: 1, 99: 99, 1000: 1000, 5000: 1000} {
		same(t, "first page", ids[:n], list(t, s, store.Query{Kind: kind, Limit: limit}))
	}
	var got []task.ID
	q := store.Query{Kind: kind, Limit: 500}
	for {
		page := list(t, s, q)
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
		q.Before = page[len(page)-1]
	}
	same(t, "all pages", ids, got)
}

func testListFilters(t *testing.T, s Full) {
	kind, job, key := name("kind"), name("job"), name("key")
	ids := map[task.State][]task.ID{}
	var jobIDs, keyIDs []task.ID
	for i := range 3 {
		for _, state := range []task.State{task.Scheduled, task.Running, task.Dead,
			task.Succeeded} {
			row := inState(t, s, state, func(tk *task.Task) {
				tk.Kind = kind
				if i == 1 {
					tk.Job, tk.JobID = job, newID()
				}
				if state == task.Succeeded {
					tk.Key = key
				}
			})
			ids[state] = append(ids[state], row.ID)
			if i == 1 {
				jobIDs = append(jobIDs, row.ID)
			}
			if state == task.Succeeded {
				keyIDs = append(keyIDs, row.ID)
			}
		}
	}
	newest := func(parts ...[]task.ID) []task.ID {
		all := slices.Concat(parts...)
		slices.SortFunc(all, func(a, b task.ID) int { return compareIDs(b, a) })
		return all
	}
	states := func(s ...task.State) []task.State { return s }
	for _, c := range []struct {
		q    store.Query
		want []task.ID
	}{
		{store.Query{Kind: kind, States: states(task.Running)}, newest(ids[task.Running])},
		{store.Query{Kind: kind, States: states(task.Dead, task.Scheduled)},
			newest(ids[task.Dead], ids[task.Scheduled])},
		{store.Query{Kind: kind, States: states(task.Held)}, nil},
		{store.Query{Kind: kind, States: states(task.Dead)}, newest(ids[task.Dead])},
		{store.Query{Kind: kind, States: states(task.Dead), Before: ids[task.Dead][2]},
			newest(ids[task.Dead][:2])},
		{store.Query{Kind: kind, States: states(task.Dead), Limit: 1}, ids[task.Dead][2:]},
		{store.Query{Job: job}, newest(jobIDs)},
		{store.Query{Job: job, States: states(task.Dead)}, newest(ids[task.Dead][1:2])},
		{store.Query{Key: key}, newest(keyIDs)},
		{store.Query{Kind: kind, Key: key}, newest(keyIDs)},
		{store.Query{Kind: name("kind"), Key: key}, nil},
		{store.Query{Key: key, Before: keyIDs[2]}, newest(keyIDs[:2])},
		{store.Query{Kind: kind, Job: job, Key: key, States: states(task.Succeeded)}, keyIDs[1:2]},
	} {
		same(t, "list", c.want, list(t, s, c.q))
	}
}

func testListLight(t *testing.T, s Full) {
	tk := fullTask(name("kind"))
	insert(t, s, tk)
	row := read(t, s, tk.ID)
	tr := follow(&row, task.Claim)
	tr.Set = fullMutable(task.Dispatching)
	want := mustApply(t, s, tr)
	want.Payload, want.Result = nil, nil
	rows, err := s.List(t.Context(), store.Query{Kind: tk.Kind})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "list", []task.Task{want}, rows)
}

// Any number of ids may be asked for; unknown and repeated ones give no row of their own.
func testTasks(t *testing.T, s Full) {
	tasks := make([]task.Task, 2500)
	ids := make([]task.ID, 0, 3*len(tasks))
	for i := range tasks {
		tasks[i] = newTask(t.Name())
		ids = append(ids, tasks[i].ID, newID())
	}
	insert(t, s, tasks...)
	ids = append(ids, ids[:10]...)
	rows, err := s.Tasks(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	got := idsOf(rows)
	slices.SortFunc(got, compareIDs)
	want := idsOf(tasks)
	slices.SortFunc(want, compareIDs)
	if !slices.Equal(want, got) {
		t.Errorf("%d rows for %d tasks", len(got), len(want))
	}
}

func testCount(t *testing.T, s Full) {
	want := map[task.State]int64{}
	for i, state := range task.States() {
		if !state.Resting() || state == task.Pending {
			continue
		}
		for range i + 1 {
			inState(t, s, state, nil)
			want[state]++
		}
	}
	limit := int64(0)
	count := func() map[task.State]int64 {
		t.Helper()
		got, err := s.Count(t.Context(), limit)
		if err != nil {
			t.Fatal(err)
		}
		for state, n := range got {
			if n == 0 {
				delete(got, state) // a state without tasks may be listed or not
			}
		}
		return got
	}
	same(t, "count", want, count())
	row := inState(t, s, task.Running, nil)
	mustApply(t, s, follow(&row, task.Fail, task.Retry))
	want[task.Scheduled]++
	same(t, "count after a retry", want, count())
	limit = 3
	for state, n := range want {
		want[state] = min(n, limit)
	}
	same(t, "count up to 3", want, count())
}

func testListAll(t *testing.T, s Full) {
	var want []task.ID
	for range 150 {
		tk := newTask(name("kind"))
		insert(t, s, tk)
		want = append(want, tk.ID)
	}
	slices.Reverse(want)
	same(t, "first page", want[:100], list(t, s, store.Query{}))
	same(t, "second page", want[100:], list(t, s, store.Query{Before: want[99]}))
}

func testKinds(t *testing.T, s Full) {
	kinds := func() []task.Kind {
		t.Helper()
		ks, err := s.Kinds(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(ks, func(a, b task.Kind) int { return strings.Compare(a.Name, b.Name) })
		return ks
	}
	put := func(ks ...task.Kind) {
		t.Helper()
		before := now(t, s)
		if err := s.PutKinds(t.Context(), ks); err != nil {
			t.Fatal(err)
		}
		for _, k := range kinds() {
			for _, p := range ks {
				if k.Name == p.Name && (k.UpdatedAt < before || k.UpdatedAt > now(t, s)) {
					t.Errorf("kind %s was put at %d; want the store's now", k.Name, k.UpdatedAt)
				}
			}
		}
	}
	a := task.Kind{Name: "a", Timeout: 30 * time.Second, MaxRetries: 5,
		OnUnknown: task.UnknownHold, MaxLifetime: time.Hour}
	b := task.Kind{Name: "订单", Timeout: task.NoTimeout, RetryPolicy: `{"kind":"fixed"}`}
	put()
	put(b, a)
	compare := func(want ...task.Kind) {
		t.Helper()
		got := kinds()
		for i := range got {
			got[i].UpdatedAt = 0
		}
		same(t, "kinds", want, got)
	}
	compare(a, b)
	a.Timeout, a.MaxRetries, a.RetryPolicy = time.Microsecond, 0, "{}"
	a.OnUnknown, a.MaxLifetime = task.UnknownRetry, 0
	c := task.Kind{Name: "c", MaxRetries: 1}
	put(c, a)
	compare(a, c, b)
	async(4, func(int) {
		if err := s.PutKinds(t.Context(), []task.Kind{c, b, a}); err != nil {
			t.Errorf("put kinds: %v", err)
		}
	})
	compare(a, c, b)
}

func testEmptyStore(t *testing.T, s Full) {
	if n, err := s.Count(t.Context(), 0); err != nil || len(n) != 0 {
		t.Errorf("count: %v, %v", n, err)
	}
	if got := list(t, s, store.Query{}); len(got) != 0 {
		t.Errorf("list: %v", got)
	}
	if got := live(t, s, store.LiveQuery{}); len(got) != 0 {
		t.Errorf("live: %v", got)
	}
	if got := jobs(t, s, 0); len(got) != 0 {
		t.Errorf("jobs: %v", got)
	}
	if ks, err := s.Kinds(t.Context()); err != nil || len(ks) != 0 {
		t.Errorf("kinds: %v, %v", ks, err)
	}
	if ms, err := s.Registry().Members(t.Context()); err != nil || len(ms) != 0 {
		t.Errorf("members: %v, %v", ms, err)
	}
}
