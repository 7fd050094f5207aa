package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

var wrongTxTests = []test{{"IsRefused", testWrongTx}}

// What is no transaction of the store's database gives an error that says so, and writes nothing.
func testWrongTx(t *testing.T, s Full) {
	w := store.Writer(s)
	tk := newTask(t.Name())
	for _, tx := range []store.Tx{nil, 7, "tx", struct{}{}} {
		_, err := w.InsertTx(t.Context(), tx, []task.Task{tk})
		_, end := w.CompleteTx(t.Context(), tx, tk.ID, newID())
		for _, err := range []error{err, end} {
			var input *task.InputError
			if !errors.As(err, &input) || input.Field != "tx" || !strings.Contains(input.Reason,
				"store/sqlite") && !strings.Contains(input.Reason, "store/postgres") &&
				!strings.Contains(input.Reason, "store/mysql") {
				t.Errorf("transaction %#v: %v; want an InputError of tx that names a store", tx, err)
			}
		}
	}
	if rows, err := s.Tasks(t.Context(), []task.ID{tk.ID}); err != nil || len(rows) != 0 {
		t.Errorf("after refused inserts: %v, %v", rows, err)
	}
}

// CallerTx is an open transaction of a program's own.
type CallerTx struct {
	Tx               store.Tx
	Commit, Rollback func() error
}

// Begin begins a transaction of the program's own in the database of the store.
type Begin func(t *testing.T) CallerTx

// RunTx tests what store.TxWriter promises where the caller's transactions are real ones. open
// makes a store and says how to begin transactions beside it.
func RunTx(t *testing.T, open func(t *testing.T) (Full, Begin)) {
	t.Helper()
	s, begin := open(t)
	if _, ok := s.(store.TxWriter); !ok {
		t.Fatalf("%T is no store.TxWriter", s)
	}
	for _, c := range []struct {
		name string
		run  func(x *txFixture)
	}{
		{"Commit", testTxCommit},
		{"Rollback", testTxRollback},
		{"RoundTrip", testTxRoundTrip},
		{"SameID", testTxSameID},
		{"UniqueKey", testTxUniqueKey},
		{"OneCallOneKey", testTxOneCall},
		{"KeptKey", testTxKept},
		{"KeptKeyOneCall", testTxKeptOneCall},
		{"KeptKeyRolledBack", testTxKeptRollback},
		{"Many", testTxMany},
		{"Refused", testTxRefused},
		{"Complete", testTxComplete},
		{"CompleteRolledBack", testTxCompleteRolledBack},
		{"CompleteAfterAMove", testTxCompleteAfterMove},
		{"CompleteNoMatch", testTxCompleteNoMatch},
		{"BothInOne", testTxBothInOne},
		{"Closed", testTxClosed}, // the last
	} {
		t.Run(c.name, func(t *testing.T) {
			c.run(&txFixture{T: t, s: s, w: store.Writer(s), begin: begin, group: name("g")})
		})
	}
}

type txFixture struct {
	*testing.T
	s     Full
	w     store.TxWriter
	begin Begin
	group string // of the test's tasks
}

// task is newTask in the test's group.
func (x *txFixture) task() task.Task {
	tk := newTask(x.Name())
	tk.Group = x.group
	return tk
}

// open begins a transaction that is rolled back at the end of the test if nothing else ended it.
func (x *txFixture) open() CallerTx {
	x.Helper()
	tx := x.begin(x.T)
	x.Cleanup(func() { _ = tx.Rollback() }) // mostly it has ended
	return tx
}

func (x *txFixture) insert(tx CallerTx, tasks ...task.Task) []store.Inserted {
	x.Helper()
	in, err := x.w.InsertTx(x.Context(), tx.Tx, tasks)
	if err != nil {
		x.Fatalf("insert in a transaction: %v", err)
	}
	if len(in) != len(tasks) {
		x.Fatalf("%d answers for %d tasks", len(in), len(tasks))
	}
	return in
}

func (x *txFixture) complete(tx CallerTx, row task.Task, want store.Status) store.Result {
	x.Helper()
	res, err := x.w.CompleteTx(x.Context(), tx.Tx, row.ID, row.ExecutionID)
	if err != nil || res.Status != want {
		x.Fatalf("complete in a transaction: %+v, %v; want %s", res, err, want)
	}
	return res
}

func (x *txFixture) end(f func() error) {
	x.Helper()
	if err := f(); err != nil {
		x.Fatal(err)
	}
}

func (x *txFixture) exists(id task.ID) bool {
	x.Helper()
	rows, err := x.s.Tasks(x.Context(), []task.ID{id})
	if err != nil {
		x.Fatal(err)
	}
	return len(rows) == 1
}

// due returns the ids that a scan of the test's group finds.
func (x *txFixture) due() (ids []task.ID) {
	x.Helper()
	pages, _, err := x.s.Due(x.Context(), []store.Cursor{{Group: x.group, Bucket: task.Normal,
		Until: task.MaxTime, Limit: 100}})
	if err != nil {
		x.Fatal(err)
	}
	for _, d := range pages[0] {
		ids = append(ids, d.ID)
	}
	return ids
}

// running makes a task that runs, changed by mod.
func (x *txFixture) running(mod func(*task.Task)) task.Task {
	x.Helper()
	row := inState(x.T, x.s, task.Scheduled, mod)
	return mustApply(x.T, x.s, follow(&row, task.ClaimLocal))
}

func testTxCommit(x *txFixture) {
	tx := x.open()
	tk := x.task()
	tk.RunIn = time.Hour
	before := now(x.T, x.s)
	in := x.insert(tx, tk)[0]
	after := now(x.T, x.s)
	if in.ID != tk.ID || in.Duplicate || in.State != task.Scheduled || in.Version != 1 ||
		in.At < before || in.At > after || in.RunAt != in.At.Add(time.Hour) {
		x.Errorf("answer %+v between %d and %d", in, before, after)
	}
	if x.exists(tk.ID) || len(x.due()) != 0 {
		x.Error("the task is seen before the commit")
	}
	x.end(tx.Commit)
	row := read(x.T, x.s, tk.ID)
	if row.State != task.Scheduled || row.RunAt != in.RunAt || row.CreatedAt != in.At {
		x.Errorf("after the commit: %+v", row)
	}
	if ids := x.due(); !slices.Equal(ids, []task.ID{tk.ID}) {
		x.Errorf("the scan finds %v", ids)
	}
	history(x.T, x.s, tk.ID)
	mustApply(x.T, x.s, follow(&row, task.Cancel))
}

func testTxRollback(x *txFixture) {
	tx := x.open()
	tk := x.task()
	tk.Key = name("k")
	x.insert(tx, tk)
	x.end(tx.Rollback)
	if x.exists(tk.ID) || len(x.due()) != 0 {
		x.Error("a task that was rolled back is there")
	}
	if _, err := x.s.ByKey(x.Context(), tk.Kind, tk.Key); !errors.Is(err, store.ErrNotFound) {
		x.Errorf("its key: %v", err)
	}
	if h, err := x.s.History(x.Context(), tk.ID); err != nil || len(h) != 0 {
		x.Errorf("its history: %v, %v", h, err)
	}
	other := x.task()
	other.Key = tk.Key
	if in := insert(x.T, x.s, other)[0]; in.Duplicate {
		x.Errorf("its key is taken: %+v", in)
	}
	history(x.T, x.s, other.ID)
}

// A row is the same whichever way it was made.
func testTxRoundTrip(x *txFixture) {
	at := now(x.T, x.s)
	for i, mod := range []func(*task.Task){
		func(*task.Task) {},
		func(t *task.Task) { t.Payload = []byte{} },
		func(t *task.Task) { t.Payload = []byte{0, 255, '\'', '"', '\\', '\n'} },
		func(t *task.Task) {
			t.Key, t.Group, t.Bucket = "订单 \"1\" \\ <&>", "g\tx", task.Low
			t.Labels = map[string]string{"a": "\"\\<>", "订": "\u2028"}
			t.MaxRetries, t.Timeout = 3, time.Minute
			t.RetryPolicy, t.OwnerService = `{"kind":"fixed"}`, "shop"
			t.Overlap, t.OverlapKey = task.OverlapSkip, "over"
			t.RunAt, t.RunIn, t.FireTime = at.Add(time.Hour), 0, at
		},
		func(t *task.Task) {
			t.ExpiresAt, t.OnUnknown = at.Add(time.Hour), task.UnknownHold
			t.MaxLateness, t.MaxLifetime = time.Minute, 2*time.Minute
		},
		func(t *task.Task) { t.MaxRetries, t.Timeout, t.RunAt = 0, task.NoTimeout, 0 },
	} {
		mine, theirs := x.task(), x.task()
		mod(&mine)
		mod(&theirs)
		if mine.Key != "" {
			theirs.Key += "."
		}
		tx := x.open()
		x.insert(tx, mine)
		x.end(tx.Commit)
		insert(x.T, x.s, theirs)
		got, want := read(x.T, x.s, mine.ID), read(x.T, x.s, theirs.ID)
		if mine.RunAt == task.StoreNow && (got.RunAt != got.CreatedAt || got.FireTime != got.RunAt) {
			x.Errorf("case %d: times %d, %d, %d", i, got.CreatedAt, got.RunAt, got.FireTime)
		}
		if (got.Payload == nil) != (want.Payload == nil) {
			x.Errorf("case %d: payload %#v, want %#v", i, got.Payload, want.Payload)
		}
		ignore := []string{"ID", "Key", "CreatedAt", "UpdatedAt"}
		if mine.RunAt == task.StoreNow {
			ignore = append(ignore, "FireTime", "Mutable.RunAt")
		}
		same(x.T, "the row", want, got, cmpopts.IgnoreFields(task.Task{}, ignore...))
		same(x.T, "its key", mine.Key, got.Key)
		same(x.T, "its history", history(x.T, x.s, theirs.ID), history(x.T, x.s, mine.ID),
			cmpopts.IgnoreFields(task.Entry{}, "TaskID", "At"))
	}
}

func testTxSameID(x *txFixture) {
	tk := x.task()
	tk.Key = name("k")
	insert(x.T, x.s, tk)
	row := read(x.T, x.s, tk.ID)
	row = mustApply(x.T, x.s, follow(&row, task.ClaimLocal))
	tx := x.open()
	again := tk
	again.Key = name("other")
	for _, n := range []task.Task{tk, again} {
		in := x.insert(tx, n)[0]
		if in.ID != tk.ID || in.Duplicate || in.State != task.Running || in.Version != row.Version {
			x.Errorf("the same id once more: %+v", in)
		}
	}
	x.end(tx.Commit)
	same(x.T, "the row", row, read(x.T, x.s, tk.ID))
}

func testTxUniqueKey(x *txFixture) {
	first, second, third := x.task(), x.task(), x.task()
	first.Key = name("k")
	second.Key, third.Key = first.Key, first.Key
	insert(x.T, x.s, first)
	tx := x.open()
	in := x.insert(tx, second)[0]
	if !in.Duplicate || in.ID != first.ID || in.State != task.Scheduled || in.Version != 1 {
		x.Errorf("the key of a live task: %+v", in)
	}
	x.end(tx.Commit)
	if x.exists(second.ID) {
		x.Error("a duplicate was made")
	}
	row := read(x.T, x.s, first.ID)
	mustApply(x.T, x.s, follow(&row, task.Cancel))
	tx = x.open()
	if in := x.insert(tx, third)[0]; in.Duplicate {
		x.Errorf("the key of a task that has ended: %+v", in)
	}
	x.end(tx.Commit)
	row, err := x.s.ByKey(x.Context(), third.Kind, third.Key)
	if err != nil || row.ID != third.ID {
		x.Errorf("who has the key: %s, %v", row.ID, err)
	}
}

// Of equal keys in one call the first wins, and the transaction sees its own tasks.
func testTxOneCall(x *txFixture) {
	ts := make([]task.Task, 5)
	key := name("k")
	for i := range ts {
		ts[i] = x.task()
		if i%2 == 0 {
			ts[i].Key = key
		}
	}
	tx := x.open()
	for i, in := range x.insert(tx, ts...) {
		want := i%2 == 0 && i > 0
		if in.Duplicate != want || want && in.ID != ts[0].ID || !want && in.ID != ts[i].ID {
			x.Errorf("task %d: %+v", i, in)
		}
	}
	late := x.task()
	late.Key = key
	if in := x.insert(tx, late)[0]; !in.Duplicate || in.ID != ts[0].ID {
		x.Errorf("a later call in the transaction: %+v", in)
	}
	x.end(tx.Commit)
	if n := len(x.due()); n != 3 {
		x.Errorf("%d tasks are due; want 3", n)
	}
}

// More tasks than one statement takes; and the store goes on after them.
func testTxMany(x *txFixture) {
	ts := make([]task.Task, 1203)
	for i := range ts {
		ts[i] = x.task()
	}
	tx := x.open()
	ids := make([]task.ID, len(ts))
	for i, in := range x.insert(tx, ts...) {
		ids[i] = in.ID
	}
	x.end(tx.Commit)
	readAll(x.T, x.s, ids)
	next := x.task()
	insert(x.T, x.s, next)
	for _, id := range []task.ID{ids[0], ids[len(ids)-1], next.ID} {
		row := read(x.T, x.s, id)
		mustApply(x.T, x.s, follow(&row, task.ClaimLocal, task.Succeed))
		history(x.T, x.s, id)
	}
	tx = x.open()
	x.insert(tx)
	x.end(tx.Commit)
}

func testTxRefused(x *txFixture) {
	for what, mod := range map[string]func(*task.Task){
		"no id":        func(t *task.Task) { t.ID = task.ID{} },
		"running":      func(t *task.Task) { t.State = task.Running },
		"of a job":     func(t *task.Task) { t.JobID = newID() },
		"moved before": func(t *task.Task) { t.Attempt = 1 },
		"no bucket":    func(t *task.Task) { t.Bucket = 0 },
		"no key":       func(t *task.Task) { t.Unique = task.UniqueForever },
	} {
		good, bad := x.task(), x.task()
		mod(&bad)
		tx := x.open()
		if _, err := x.w.InsertTx(x.Context(), tx.Tx, []task.Task{good, bad}); err == nil {
			x.Errorf("%s: inserted", what)
		}
		x.end(tx.Commit) // nothing was sent, so the transaction is whole
		if x.exists(good.ID) {
			x.Errorf("%s: half of the call was done", what)
		}
	}
}

func testTxComplete(x *txFixture) {
	key, over := name("k"), name("o")
	withKeys := func(t *task.Task) {
		t.Key, t.Overlap, t.OverlapKey = key, task.OverlapSkip, over
	}
	row := x.running(withKeys)
	tx := x.open()
	before := now(x.T, x.s)
	res := x.complete(tx, row, store.Applied)
	if res.Version != row.Version+1 || res.At < before || res.At > now(x.T, x.s) {
		x.Errorf("result %+v", res)
	}
	if got := read(x.T, x.s, row.ID); got.State != task.Running {
		x.Errorf("before the commit it is %s", got.State)
	}
	x.end(tx.Commit)
	got := read(x.T, x.s, row.ID)
	want := row
	want.State, want.LastOutcome = task.Succeeded, task.OutSucceeded
	want.Version, want.UpdatedAt, want.FinishedAt = res.Version, res.At, res.At
	same(x.T, "the row", want, got)
	h := history(x.T, x.s, row.ID)
	if e := h[len(h)-1]; e.Event != task.Succeed || e.ExecutionID != row.ExecutionID ||
		e.Executor != row.Executor || e.Epoch != row.Epoch || e.Attempt != 1 || e.At != res.At {
		x.Errorf("last entry %+v", e)
	}
	// Its keys are free, and what the store knew of the row is not believed.
	next := inState(x.T, x.s, task.Scheduled, withKeys)
	mustApply(x.T, x.s, follow(&next, task.ClaimLocal))
	if res := apply(x.T, x.s, follow(&row, task.Fail, task.Retry))[0]; res.Status != store.Conflict {
		x.Errorf("an outcome after the completion: %s", res.Status)
	}
	same(x.T, "the row at the end", got, read(x.T, x.s, row.ID))
}

func testTxCompleteRolledBack(x *txFixture) {
	row := x.running(func(t *task.Task) { t.Key = name("k") })
	tx := x.open()
	x.complete(tx, row, store.Applied)
	x.end(tx.Rollback)
	same(x.T, "the row", row, read(x.T, x.s, row.ID))
	history(x.T, x.s, row.ID)
	// A second try in another transaction is possible.
	tx = x.open()
	x.complete(tx, row, store.Applied)
	x.end(tx.Commit)
	if got := read(x.T, x.s, row.ID); got.State != task.Succeeded {
		x.Errorf("it is %s", got.State)
	}
}

// Somebody asked to cancel it, and it is past its time-out: the version has grown, it still runs.
func testTxCompleteAfterMove(x *txFixture) {
	row := x.running(nil)
	moved := mustApply(x.T, x.s, follow(&row, task.AskCancel))
	moved = mustApply(x.T, x.s, follow(&moved, task.Stop))
	tx := x.open()
	if res := x.complete(tx, row, store.Applied); res.Version != moved.Version+1 {
		x.Errorf("version %d after %d", res.Version, moved.Version)
	}
	x.end(tx.Commit)
	history(x.T, x.s, row.ID)
}

func testTxCompleteNoMatch(x *txFixture) {
	lost := x.running(nil)
	back := mustApply(x.T, x.s, follow(&lost, task.Lose, task.Recover))
	again := x.running(nil)
	second := mustApply(x.T, x.s, follow(&again, task.Lose, task.Recover))
	second = mustApply(x.T, x.s, follow(&second, task.ClaimLocal))
	done := x.running(nil)
	ended := mustApply(x.T, x.s, follow(&done, task.Succeed))
	scheduled := inState(x.T, x.s, task.Scheduled, nil)
	gone := lost
	gone.ID = newID()
	tx := x.open()
	for what, row := range map[string]task.Task{"lost": lost, "claimed anew": again, "ended": done,
		"never claimed": scheduled, "not there": gone} {
		res, err := x.w.CompleteTx(x.Context(), tx.Tx, row.ID, row.ExecutionID)
		if err != nil || res.Status != store.Conflict {
			x.Errorf("%s: %+v, %v; want conflict", what, res, err)
		}
	}
	x.end(tx.Commit)
	for _, row := range []task.Task{back, second, ended, scheduled} {
		same(x.T, "a row that was not matched", row, read(x.T, x.s, row.ID))
		history(x.T, x.s, row.ID)
	}
}

// A handler ends its task and makes the next one, with the same key, in one commit.
func testTxBothInOne(x *txFixture) {
	row := x.running(func(t *task.Task) { t.Key = name("k") })
	next := x.task()
	next.Kind, next.Key = row.Kind, row.Key
	tx := x.open()
	x.complete(tx, row, store.Applied)
	if in := x.insert(tx, next)[0]; in.Duplicate {
		x.Errorf("the next task: %+v", in)
	}
	x.end(tx.Commit)
	got, err := x.s.ByKey(x.Context(), row.Kind, row.Key)
	if err != nil || got.ID != next.ID {
		x.Errorf("who has the key: %s, %v", got.ID, err)
	}
	history(x.T, x.s, row.ID)
	history(x.T, x.s, next.ID)
}

func testTxClosed(x *txFixture) {
	tx := x.open()
	if err := x.s.Close(); err != nil {
		x.Fatal(err)
	}
	_, err := x.w.InsertTx(x.Context(), tx.Tx, []task.Task{x.task()})
	if !errors.Is(err, store.ErrClosed) {
		x.Errorf("insert after Close: %v", err)
	}
	_, err = x.w.CompleteTx(context.WithoutCancel(x.Context()), tx.Tx, newID(), newID())
	if !errors.Is(err, store.ErrClosed) {
		x.Errorf("complete after Close: %v", err)
	}
}
