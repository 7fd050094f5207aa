package storetest

import (
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// serial numbers ids, keys, epochs and partitions, so that no two tests meet.
var serial atomic.Int64

// started is the time part of the first id.
var started = time.Now().UnixMilli()

// newID returns ids that ascend in the order of the calls.
func newID() task.ID {
	var rnd [10]byte
	for i := range rnd {
		rnd[i] = byte(rand.Uint32())
	}
	return task.NewID(started+serial.Add(1), rnd)
}

// number returns an epoch that no other test uses and no registry of a test gives.
func number() int64 { return 1_000_000 + serial.Add(1) }

// partitions counts the partitions in use. Number 0 is left to tests of the zero fence.
var partitions atomic.Int32

// partition returns a partition that no other test uses.
func partition() int { return int(partitions.Add(1)) }

// name returns a name that no other test uses.
func name(prefix string) string {
	return prefix + "-" + strconv.FormatInt(serial.Add(1), 36)
}

// newTask returns a plain task that is due at once. Its kind is that of the test, cut to what a
// name may be long.
func newTask(kind string) task.Task {
	kind = strings.ReplaceAll(kind, "/", ".")
	return task.Task{
		ID: newID(), Kind: kind[max(0, len(kind)-100):], Group: "default", Bucket: task.Normal,
		FireTime: task.StoreNow, MaxRetries: -1,
		Mutable: task.Mutable{State: task.Scheduled, Run: 1, RunAt: task.StoreNow},
	}
}

// insert inserts tasks without a fence.
func insert(t *testing.T, s store.Inserter, tasks ...task.Task) []store.Inserted {
	t.Helper()
	return insertFenced(t, s, store.Fence{}, tasks...)
}

func insertFenced(
	t *testing.T, s store.Inserter, f store.Fence, tasks ...task.Task,
) []store.Inserted {
	t.Helper()
	in, err := s.Insert(t.Context(), f, tasks)
	if err != nil {
		t.Fatalf("insert: %v", err)
	}
	if len(in) != len(tasks) {
		t.Fatalf("insert of %d tasks gave %d answers", len(tasks), len(in))
	}
	return in
}

// apply applies transitions without a fence.
func apply(t *testing.T, s store.Applier, trs ...*task.Transition) []store.Result {
	t.Helper()
	res, err := s.Apply(t.Context(), store.Fence{}, trs)
	if err != nil {
		t.Fatalf("apply: %v", err)
	}
	if len(res) != len(trs) {
		t.Fatalf("apply of %d transitions gave %d results", len(trs), len(res))
	}
	return res
}

// mustApply applies one transition, which must succeed, and returns the row after it.
func mustApply(t *testing.T, s Full, tr *task.Transition) task.Task {
	t.Helper()
	if got := apply(t, s, tr)[0]; got.Status != store.Applied {
		t.Fatalf("task %s, %v: %s; want applied", tr.ID, tr.Moves, got.Status)
	}
	return read(t, s, tr.ID)
}

// read returns one row, which must exist.
func read(t *testing.T, s store.Reader, id task.ID) task.Task {
	t.Helper()
	rows, err := s.Tasks(t.Context(), []task.ID{id})
	if err != nil {
		t.Fatalf("read task: %v", err)
	}
	if len(rows) != 1 {
		t.Fatalf("task %s: %d rows; want 1", id, len(rows))
	}
	return rows[0]
}

// readAll returns rows by id; each must exist.
func readAll(t *testing.T, s store.Reader, ids []task.ID) map[task.ID]task.Task {
	t.Helper()
	rows, err := s.Tasks(t.Context(), ids)
	if err != nil {
		t.Fatalf("read tasks: %v", err)
	}
	out := make(map[task.ID]task.Task, len(rows))
	for _, r := range rows {
		out[r.ID] = r
	}
	if len(out) != len(ids) || len(rows) != len(ids) {
		t.Fatalf("asked for %d tasks, got %d rows of %d tasks", len(ids), len(rows), len(out))
	}
	return out
}

// history returns the entries of a task after checking what is true of every history: versions
// 1, 2, 3 ... without a gap, each from where the one before led, the last equal to the row.
func history(t *testing.T, s store.Reader, id task.ID) []task.Entry {
	t.Helper()
	h, err := s.History(t.Context(), id)
	if err != nil {
		t.Fatalf("history: %v", err)
	}
	row := read(t, s, id)
	at := task.None
	for i, e := range h {
		to, err := task.Next(at, e.Event)
		if err != nil || e.From != at || e.To != to || e.Version != int64(i+1) || e.TaskID != id {
			t.Errorf("history entry %d after %s: %+v (%v)", i+1, at, e, err)
		}
		at = e.To
	}
	if at != row.State || int64(len(h)) != row.Version {
		t.Errorf("history of %d entries ends in %s; the row has version %d and %s", len(h), at,
			row.Version, row.State)
	}
	return h
}

// now reads the store's clock.
func now(t *testing.T, s store.Clock) task.Time {
	t.Helper()
	at, err := s.Now(t.Context())
	if err != nil {
		t.Fatalf("now: %v", err)
	}
	return at
}

// lead installs a token in a partition of its own and returns the fence.
func lead(t *testing.T, s store.Fencer) store.Fence {
	t.Helper()
	f := store.Fence{Partition: partition()}
	f.Token = install(t, s, f.Partition)
	return f
}

// install installs the next token of a partition.
func install(t *testing.T, s store.Fencer, partition int) int64 {
	t.Helper()
	seen, err := s.Token(t.Context(), partition)
	if err != nil {
		t.Fatalf("token: %v", err)
	}
	token, err := s.Install(t.Context(), partition, seen, "storetest")
	if err != nil {
		t.Fatalf("install: %v", err)
	}
	return token
}

// same compares two values; nil and empty are equal.
func same(t *testing.T, what string, want, got any, opts ...cmp.Option) {
	t.Helper()
	if reflect.DeepEqual(want, got) {
		return // cmp takes its time with many ids
	}
	opts = append(opts, cmpopts.EquateEmpty())
	if d := cmp.Diff(want, got, opts...); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// async runs n calls of fn at the same time and waits for them.
func async(n int, fn func(i int)) {
	begin, done := make(chan struct{}), make(chan struct{})
	for i := range n {
		go func() {
			defer func() { done <- struct{}{} }()
			<-begin
			fn(i)
		}()
	}
	close(begin)
	for range n {
		<-done
	}
}
