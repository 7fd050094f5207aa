package ax_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/task"
)

// webhook is a submit of one key with a scope.
func webhook(u ax.Unique) ax.NewTask {
	return ax.NewTask{Kind: "k", Key: "evt_7", Unique: u}
}

// same submits n by every way there is and wants the task of id each time.
func (x *fixture) same(what string, n ax.NewTask, id ax.ID, state ax.State) {
	x.t.Helper()
	later, named := n, n
	later.Delay = time.Hour
	named.ID = task.NewID(time.Now().UnixMilli(), [10]byte{9: 7})
	for _, n := range []ax.NewTask{n, later, named} {
		r, err := x.Submit(x.t.Context(), n)
		if want := (ax.Result{ID: id, Duplicate: true, State: state}); err != nil || r != want {
			x.t.Errorf("%s: %+v, %v; want %+v", what, r, err, want)
		}
	}
	rs, err := x.SubmitMany(x.t.Context(), []ax.NewTask{{Kind: "other"}, n, later})
	if err != nil || rs[0].Duplicate || rs[1] != rs[2] || rs[1].ID != id || !rs[1].Duplicate {
		x.t.Errorf("%s: many: %+v, %v", what, rs, err)
	}
}

// TestA10UniqueWindow: a window begins with its task and is not aligned; how the task ended does
// not matter. The words are those of UniqueFor.
func TestA10UniqueWindow(t *testing.T) {
	no := errors.New("no")
	for _, end := range []error{nil, ax.Permanent(no), ax.Cancel(no)} {
		runs := 0
		bubble(t, ax.Config{}, func(a *ax.Scheduler) {
			a.Handle("k", func(context.Context, *ax.Task) error { runs++; return end })
			a.Handle("other", func(context.Context, *ax.Task) error { return nil })
		}, func(x *fixture) {
			n := webhook(ax.UniqueFor(12 * time.Hour))
			time.Sleep(11*time.Hour + 59*time.Minute)
			first := x.submit(n)
			synctest.Wait()
			row, err := x.Get(t.Context(), first)
			if err != nil || !row.State.Final() {
				t.Fatalf("%s, %v", row.State, err)
			}
			time.Sleep(2 * time.Minute)
			x.same("at 12:01", n, first, row.State)
			time.Sleep(12*time.Hour - 2*time.Minute - time.Microsecond)
			x.same("a microsecond before the end", n, first, row.State)
			time.Sleep(time.Microsecond)
			second := x.submit(n)
			if second == first {
				t.Error("at 23:59 it is a duplicate still")
			}
			synctest.Wait()
			x.same("after that", n, second, row.State)
			if runs != 2 {
				t.Errorf("%d runs; want 2", runs)
			}
		})
	}
}

// TestUniqueForever: also after the task was deleted; its own id can be run again by persons.
func TestUniqueForever(t *testing.T) {
	runs := 0
	keep := ax.Retention{Default: ax.Keep{Succeeded: time.Hour}}
	bubble(t, ax.Config{Retention: keep}, func(a *ax.Scheduler) {
		a.Handle("k", func(context.Context, *ax.Task) error { runs++; return nil })
		a.Handle("other", func(context.Context, *ax.Task) error { return nil })
	}, func(x *fixture) {
		n := webhook(ax.UniqueForever)
		first := x.submit(n)
		synctest.Wait()
		x.same("after its success", n, first, task.Succeeded)
		must(t, x.Trigger(t.Context(), first, ana))
		synctest.Wait()
		if row, err := x.Get(t.Context(), first); err != nil || row.Run != 2 || runs != 2 {
			t.Errorf("triggered: run %d, %d runs, %v", row.Run, runs, err)
		}
		time.Sleep(2 * time.Hour)
		x.same("after it was deleted", n, first, task.None)
		if _, err := x.Get(t.Context(), first); !errors.Is(err, ax.ErrNotFound) {
			t.Errorf("the deleted task: %v", err)
		}
		// A submit without a scope looks at live tasks only.
		if r, err := x.Submit(t.Context(), webhook(ax.UniqueLive)); err != nil || r.Duplicate {
			t.Errorf("no scope: %+v, %v", r, err)
		}
		synctest.Wait()
		if runs != 3 {
			t.Errorf("%d runs; want 3", runs)
		}
	})
}

// TestBadUnique: a scope needs a key, and a window an end that makes sense.
func TestBadUnique(t *testing.T) {
	a, st := idle(t)
	for what, n := range map[string]ax.NewTask{
		"no key":         {Kind: "k", Unique: ax.UniqueForever},
		"no time":        webhook(ax.UniqueFor(0)),
		"less than none": webhook(ax.UniqueFor(-1)),
		"far less":       webhook(ax.UniqueFor(math.MinInt64)),
		"under a second": webhook(ax.UniqueFor(time.Second - 1)),
		"eleven years":   webhook(ax.UniqueFor(11 * 365 * 24 * time.Hour)),
		"a number":       webhook(-2),
	} {
		_, err := a.Submit(t.Context(), n)
		wantField(t, what, err, "unique")
		_, err = a.SubmitMany(t.Context(), []ax.NewTask{{Kind: "k"}, n})
		wantField(t, what+", of many", err, "unique")
	}
	if n, err := st.Count(t.Context(), 0); err != nil || len(n) != 0 && n[task.Scheduled] != 0 {
		t.Errorf("something was written: %v, %v", n, err)
	}
	for _, d := range []time.Duration{time.Second, task.MaxWindow} {
		if _, err := a.Submit(t.Context(), webhook(ax.UniqueFor(d))); err != nil {
			t.Errorf("%s: %v", d, err)
		}
	}
}

// TestUniqueTx: in a transaction the key is taken with its commit, and never with its rollback.
func TestUniqueTx(t *testing.T) {
	bothShops(t, ax.Config{}, func(x *shop) {
		n := ax.NewTask{Kind: "mail", Key: "1", Delay: time.Hour, Unique: ax.UniqueForever}
		tx, gone := x.place("1", n)
		must(x.T, tx.Rollback())
		tx, first := x.place("1", n)
		if first.Duplicate || first.ID == gone.ID {
			x.Errorf("after a rollback: %+v", first)
		}
		must(x.T, tx.Commit())
		must(x.T, x.Cancel(x.ctx, first.ID, ax.By{}))
		tx, second := x.place("2", n)
		if !second.Duplicate || second.ID != first.ID || second.State != task.Canceled {
			x.Errorf("after its end: %+v; want a duplicate of %s", second, first.ID)
		}
		many, err := x.SubmitManyTx(x.ctx, tx, []ax.NewTask{{Kind: "mail", Delay: time.Hour}, n})
		if err != nil || many[0].Duplicate || many[1].ID != first.ID {
			x.Errorf("many: %+v, %v", many, err)
		}
		must(x.T, tx.Commit())
		if state, _ := x.order("2"); state != "open" {
			x.Errorf("the order of the second transaction is %q", state)
		}
		r, err := x.Submit(x.ctx, n)
		if err != nil || !r.Duplicate || r.ID != first.ID {
			x.Errorf("without a transaction: %+v, %v", r, err)
		}
	})
}
