package storetest

import (
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// keeping is task with a key that has a scope.
func (x *txFixture) keeping(key string, u task.Unique) task.Task {
	tk := x.task()
	tk.Key, tk.Unique = key, u
	return tk
}

// In a transaction a key is kept, found and taken over as in an insert of the store's own.
func testTxKept(x *txFixture) {
	for _, u := range []task.Unique{hour, task.UniqueForever} {
		first := x.keeping(name("k"), u)
		tx := x.open()
		in := x.insert(tx, first)[0]
		if in.Duplicate || in.Version != 1 {
			x.Errorf("first: %+v", in)
		}
		// The transaction sees its own, also for the same id once more.
		if in := x.insert(tx, x.keeping(first.Key, u))[0]; !in.Duplicate || in.ID != first.ID {
			x.Errorf("in the same transaction: %+v", in)
		}
		if in := x.insert(tx, first)[0]; in.Duplicate || in.ID != first.ID || in.Version != 1 {
			x.Errorf("the same id again: %+v", in)
		}
		x.end(tx.Commit)
		row := end(x.T, x.s, first.ID)
		if row.CreatedAt != in.At {
			x.Errorf("created at %d; the answer says %d", row.CreatedAt, in.At)
		}
		wantTaken(x.T, x.s, "an insert of the store's own", x.keeping(first.Key, u), row)
		tx = x.open()
		in = x.insert(tx, x.keeping(first.Key, u))[0]
		same(x.T, "another transaction", store.Inserted{ID: row.ID, Duplicate: true,
			State: row.State, Version: row.Version, RunAt: row.RunAt, At: in.At}, in)
		live := x.keeping(first.Key, task.UniqueLive)
		if in := x.insert(tx, live)[0]; in.Duplicate {
			x.Errorf("no scope: %+v", in)
		}
		if in := x.insert(tx, x.keeping(first.Key, u))[0]; !in.Duplicate || in.ID != live.ID {
			x.Errorf("while that lives: %+v", in)
		}
		x.end(tx.Commit)
		end(x.T, x.s, live.ID)
		prune(x.T, x.s, store.Fence{}, store.Prune{Keep: only(first.Kind, keepNone)})
		tx = x.open()
		in = x.insert(tx, x.keeping(first.Key, u))[0]
		same(x.T, "after its task was deleted", store.Inserted{ID: row.ID, Duplicate: true,
			At: in.At}, in)
		in = x.insert(tx, first)[0]
		same(x.T, "the same id after that", store.Inserted{ID: row.ID, At: in.At}, in)
		x.end(tx.Commit)
	}
	// A window that is over.
	old := x.keeping(name("k"), 1000)
	insert(x.T, x.s, old)
	await(x.T, x.s, end(x.T, x.s, old.ID).CreatedAt.Add(time.Microsecond))
	next := x.keeping(old.Key, hour)
	tx := x.open()
	if in := x.insert(tx, next)[0]; in.Duplicate {
		x.Errorf("after the window: %+v", in)
	}
	x.end(tx.Commit)
	wantTaken(x.T, x.s, "within the next one", x.keeping(old.Key, hour), end(x.T, x.s, next.ID))
}

// Of equal keys in one call the first wins; a repeated id keeps nothing anew.
func testTxKeptOneCall(x *txFixture) {
	plain := x.keeping(name("k"), task.UniqueLive)
	insert(x.T, x.s, plain)
	end(x.T, x.s, plain.ID)
	again := plain
	again.Unique = hour
	key := name("k")
	first := x.keeping(key, hour)
	tasks := []task.Task{x.task(), first, again, x.keeping(key, hour), x.task(),
		x.keeping(key, task.UniqueForever), first, x.keeping(plain.Key, hour)}
	tx := x.open()
	for i, in := range x.insert(tx, tasks...) {
		id, dup := tasks[i].ID, i == 3 || i == 5
		if dup {
			id = first.ID
		}
		if in.ID != id || in.Duplicate != dup {
			x.Errorf("row %d: %+v", i, in)
		}
	}
	x.end(tx.Commit)
	wantTaken(x.T, x.s, "afterwards", x.keeping(key, hour), end(x.T, x.s, first.ID))
	wantTaken(x.T, x.s, "the other key", x.keeping(plain.Key, hour), end(x.T, x.s, tasks[7].ID))
}

// A submit that was rolled back never took the key, and never took one over.
func testTxKeptRollback(x *txFixture) {
	fresh, old := name("k"), x.keeping(name("k"), 1000)
	insert(x.T, x.s, old)
	await(x.T, x.s, end(x.T, x.s, old.ID).CreatedAt.Add(time.Microsecond))
	tx := x.open()
	for _, in := range x.insert(tx, x.keeping(fresh, task.UniqueForever),
		x.keeping(old.Key, task.UniqueForever)) {
		if in.Duplicate {
			x.Errorf("%+v", in)
		}
	}
	x.end(tx.Rollback)
	wantMade(x.T, x.s, "a new key", x.keeping(fresh, hour))
	wantMade(x.T, x.s, "one whose window is over", x.keeping(old.Key, hour))
}
