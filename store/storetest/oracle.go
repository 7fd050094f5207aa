package storetest

import (
	"context"
	"os"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// perCheck is how many sequences one rapid.Check runs.
const perCheck = 100

// Sequences returns the number of sequences for RunOracle: that of the environment variable
// AX_ORACLE, or usual.
func Sequences(usual int) int {
	if n, err := strconv.Atoi(os.Getenv("AX_ORACLE")); err == nil && n > 0 {
		return n
	}
	return usual
}

// RunOracle makes about n random sequences of operations on a store and on the memory store and
// compares all answers, and at the end of each sequence all rows, histories, keys and jobs it
// made. All sequences share one store, each with names of its own; n is rounded up to hundreds.
// Hundreds run at the same time as far as the -parallel flag allows, so that a store which groups
// its commits can do so.
//
// The memory store runs at the times that the other one answers, so that also times are equal.
func RunOracle(t *testing.T, open func(t *testing.T) Full, n int) {
	t.Helper()
	o := &oracle{real: open(t), count: map[task.State]int64{}}
	t.Run("sequences", func(t *testing.T) {
		for i := range (n + perCheck - 1) / perCheck {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, o.sequence)
			})
		}
	})
	real, err := o.real.Count(t.Context(), 0)
	if err != nil {
		t.Fatalf("count: %v", err)
	}
	same(t, "count", o.count, real, cmpopts.IgnoreMapEntries(
		func(_ task.State, n int64) bool { return n == 0 }))
}

// oracle is a store and what all sequences have left in it.
type oracle struct {
	real  Full
	mu    sync.Mutex
	count map[task.State]int64
}

// sequence runs one random sequence and compares what it left.
func (o *oracle) sequence(rt *rapid.T) {
	start, err := o.real.Now(rt.Context())
	if err != nil {
		rt.Fatalf("now: %v", err)
	}
	w := &world{real: o.real, rt: rt, ctx: rt.Context(), start: start, partition: partition(),
		kind: name("kind"), group: name("g"), epochs: []int64{number(), number()}}
	w.mem = memory.New(memory.Options{Now: func() task.Time { return w.at }})
	defer o.add(w)
	for range 3 {
		w.keys = append(w.keys, name("k"))
	}
	for range 2 {
		w.overlaps = append(w.overlaps, name("o"))
	}
	ops := []func(){w.insert, w.insert, w.apply, w.apply, w.apply, w.apply, w.putJob, w.fire,
		w.fire, w.deleteJob, w.steerJob, w.install, w.scan, w.lists, w.prune}
	for range rapid.IntRange(2, 10).Draw(rt, "steps") {
		ops[rapid.IntRange(0, len(ops)-1).Draw(rt, "operation")]()
	}
	w.claimKeys()
	w.keepKeys()
	w.compareRows()
	w.compareExpired()
	w.scan()
	w.lists()
	w.compareJobs()
}

// add counts what a sequence left, also one that rapid gave up in the middle.
func (o *oracle) add(w *world) {
	count, err := w.mem.Count(w.ctx, 0)
	w.must("count", nil, err)
	o.mu.Lock()
	defer o.mu.Unlock()
	for state, n := range count {
		o.count[state] += n
	}
}

// world is one sequence: the store beside a model of its own, and what it knows and made.
type world struct {
	real  Full
	mem   *memory.Store
	at    task.Time // what the memory store takes for now
	rt    *rapid.T
	ctx   context.Context
	start task.Time

	partition      int
	kind, group    string
	keys, overlaps []string
	epochs         []int64
	ids            []task.ID
	stale          []task.Task // rows as they were read once
	jobs           []task.Job  // as last put
}

// must ends the sequence if either side failed.
func (w *world) must(what string, real, mem error) {
	if real != nil || mem != nil {
		w.rt.Fatalf("%s: %v; the oracle: %v", what, real, mem)
	}
}

// same ends the sequence if the store and the oracle differ.
func (w *world) same(what string, mem, real any) {
	if reflect.DeepEqual(mem, real) {
		return
	}
	if d := cmp.Diff(mem, real, cmpopts.EquateEmpty()); d != "" {
		w.rt.Fatalf("%s (-oracle +store):\n%s", what, d)
	}
}

// sameTasks is same, after nil and empty were made one: the quick comparison needs it.
func (w *world) sameTasks(what string, mem, real []task.Task) {
	for _, rows := range [][]task.Task{mem, real} {
		for i := range rows {
			t := &rows[i]
			if len(t.Payload) == 0 {
				t.Payload = nil
			}
			if len(t.Result) == 0 {
				t.Result = nil
			}
			if len(t.Labels) == 0 {
				t.Labels = nil
			}
		}
	}
	w.same(what, mem, real)
}

// fence draws none, the installed or a stale one, and says whether it is stale.
func (w *world) fence() (store.Fence, bool) {
	n := rapid.IntRange(0, 9).Draw(w.rt, "fence")
	if n < 5 {
		return store.Fence{}, false
	}
	token, err := w.mem.Token(w.ctx, w.partition)
	w.must("token", nil, err)
	if token == 0 {
		return store.Fence{}, false
	}
	if n == 9 {
		return store.Fence{Partition: w.partition, Token: token - 1}, true
	}
	return store.Fence{Partition: w.partition, Token: token}, false
}

// install installs the next token, or fails to over one that is not installed.
func (w *world) install() {
	seen, err := w.real.Token(w.ctx, w.partition)
	mem, merr := w.mem.Token(w.ctx, w.partition)
	w.must("token", err, merr)
	w.same("token", mem, seen)
	seen -= int64(rapid.IntRange(0, 1).Draw(w.rt, "behind"))
	got, err := w.real.Install(w.ctx, w.partition, seen, "oracle")
	want, merr := w.mem.Install(w.ctx, w.partition, seen, "oracle")
	if (err == nil) != (merr == nil) || got != want {
		w.rt.Fatalf("install over %d: %d, %v; the oracle: %d, %v", seen, got, err, want, merr)
	}
}

// drawTime draws an instant relative to the begin of the sequence: long past, just past or far
// away, so that it does not matter how long the sequence takes.
func (w *world) drawTime() task.Time {
	base := []time.Duration{-time.Hour, -time.Minute, time.Hour}[rapid.IntRange(0, 2).Draw(w.rt,
		"when")]
	return w.start.Add(base) + task.Time(rapid.IntRange(0, 3).Draw(w.rt, "microseconds"))
}

// scan compares the due pages and the live rows.
func (w *world) scan() {
	var cs []store.Cursor
	for _, b := range []task.Bucket{task.Critical, task.Normal} {
		c := store.Cursor{Group: w.group, Bucket: b, Until: w.drawTime(),
			Limit: rapid.IntRange(1, 5).Draw(w.rt, "limit")}
		if len(w.ids) > 0 && rapid.Bool().Draw(w.rt, "after") {
			c.After = store.Mark{RunAt: w.drawTime(),
				ID: rapid.SampledFrom(w.ids).Draw(w.rt, "mark")}
		}
		cs = append(cs, c, store.Cursor{Group: w.group, Bucket: b, Until: task.MaxTime, Limit: 1000})
	}
	real, _, err := w.real.Due(w.ctx, cs)
	mem, _, merr := w.mem.Due(w.ctx, cs)
	w.must("due", err, merr)
	w.same("due", mem, real)
	for _, epoch := range w.epochs {
		q := store.LiveQuery{Epoch: epoch, Asked: rapid.Bool().Draw(w.rt, "asked")}
		real, err := w.real.Live(w.ctx, q)
		mem, merr := w.mem.Live(w.ctx, q)
		w.must("live", err, merr)
		w.sameTasks("live", mem, real)
	}
}

// lists compares a page of the list and the tasks by key.
func (w *world) lists() {
	q := store.Query{Kind: w.kind, Limit: rapid.IntRange(0, 4).Draw(w.rt, "limit")}
	switch rapid.IntRange(0, 3).Draw(w.rt, "filter") {
	case 0:
		q.States = []task.State{task.Scheduled, task.Dead}
	case 1:
		q.Key = w.keys[0]
	case 2:
		if len(w.jobs) > 0 {
			q.Job = w.jobs[0].Name
		}
	}
	if len(w.ids) > 0 && rapid.Bool().Draw(w.rt, "before") {
		q.Before = rapid.SampledFrom(w.ids).Draw(w.rt, "id")
	}
	real, err := w.real.List(w.ctx, q)
	mem, merr := w.mem.List(w.ctx, q)
	w.must("list", err, merr)
	w.sameTasks("list", mem, real)
	for _, key := range w.keys {
		real, err := w.real.ByKey(w.ctx, w.kind, key)
		mem, merr := w.mem.ByKey(w.ctx, w.kind, key)
		if isNotFound(err) != isNotFound(merr) || err != nil && !isNotFound(err) {
			w.rt.Fatalf("by key: %v; the oracle: %v", err, merr)
		}
		w.same("task by key", mem, real)
	}
}

// compareRows compares every task that the sequence made, with its history.
func (w *world) compareRows() {
	real, err := w.real.Tasks(w.ctx, w.ids)
	mem, merr := w.mem.Tasks(w.ctx, w.ids)
	w.must("tasks", err, merr)
	for _, rows := range [][]task.Task{real, mem} {
		slices.SortFunc(rows, func(a, b task.Task) int { return compareIDs(a.ID, b.ID) })
	}
	w.sameTasks("rows", mem, real)
	for _, id := range w.ids {
		real, err := w.real.History(w.ctx, id)
		mem, merr := w.mem.History(w.ctx, id)
		w.must("history", err, merr)
		w.same("history of "+id.String(), mem, real)
	}
}

// prune deletes what is final in one or two states, and compares what is left.
func (w *world) prune() {
	f, stale := w.fence()
	keep := keepAll
	keep.Succeeded, keep.Canceled = atOnce, time.Hour
	if rapid.Bool().Draw(w.rt, "dead") {
		keep.Dead = atOnce
	}
	p := store.Prune{Limit: 1000, Keep: only(w.kind, keep)}
	if len(w.ids) > 0 {
		p.After = rapid.SampledFrom(w.ids).Draw(w.rt, "after")
	}
	real, err := w.pruneAll(w.real, f, p)
	mem, merr := w.pruneAll(w.mem, f, p)
	if stale {
		w.fenced("prune", err, merr)
		return
	}
	w.must("prune", err, merr)
	w.same("deleted tasks", mem, real)
	w.compareRows()
	rows, err := w.mem.Tasks(w.ctx, w.ids)
	w.must("tasks", nil, err)
	w.ids = idsOf(rows)
}

// pruneAll walks over the tasks of all sequences; the rule is for those of this one.
func (w *world) pruneAll(s store.Pruner, f store.Fence, p store.Prune) (deleted int, err error) {
	for {
		out, err := s.Prune(w.ctx, f, p)
		if err != nil || out.Next.IsZero() {
			return deleted + out.Deleted, err
		}
		deleted, p.After = deleted+out.Deleted, out.Next
	}
}
