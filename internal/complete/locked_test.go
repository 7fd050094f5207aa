package complete

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// TestLockedRowsHoldBackNobody: more outcomes than one batch takes wait for foreign transactions;
// those behind them are recorded all the same, and they themselves when the rows are free.
func TestLockedRowsHoldBackNobody(t *testing.T) {
	const stuck = maxBatch + 100
	bench(t, stuck+1, func(b *recorder) {
		locked := make(map[task.ID]bool, stuck)
		for _, k := range b.rows[:stuck] {
			locked[k.ID] = true
		}
		b.store.set(func(s *faulty) { s.locked = locked })
		for i := range stuck {
			b.report(i, success)
		}
		synctest.Wait()
		b.report(stuck, success)
		time.Sleep(lockedPause / 2) // shorter than the others wait
		synctest.Wait()
		b.wantHistory(stuck, " submit_claimed succeed")
		b.wantHistory(0, " submit_claimed")
		b.store.set(func(s *faulty) { s.locked = nil })
		if err := b.Flush(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
		b.wantHistory(0, " submit_claimed succeed")
		b.wantHistory(stuck-1, " submit_claimed succeed")
	})
}

// free applies what is not locked and answers Locked for the rest.
func (s *faulty) free(locked map[task.ID]bool, trs []*task.Transition,
	apply func([]*task.Transition) ([]store.Result, error)) ([]store.Result, error) {
	var rest []*task.Transition
	for _, tr := range trs {
		if !locked[tr.ID] {
			rest = append(rest, tr)
		}
	}
	res, err := apply(rest)
	if err != nil {
		return nil, err
	}
	out := make([]store.Result, len(trs))
	for i, tr := range trs {
		if locked[tr.ID] {
			out[i] = store.Result{Status: store.Locked, At: task.FromGo(time.Now())}
		} else {
			out[i], res = res[0], res[1:]
		}
	}
	return out, nil
}

// TestActWaitsForALock: a transaction that holds the row does not refuse a person's act; what the
// row becomes in it decides.
func TestActWaitsForALock(t *testing.T) {
	bench(t, 1, func(b *recorder) {
		id := b.rows[0].ID
		b.store.set(func(s *faulty) { s.locked = map[task.ID]bool{id: true} })
		time.AfterFunc(2*time.Second, func() { b.store.set(func(s *faulty) { s.locked = nil }) })
		if _, err := Perform(b.t.Context(), b.store, id, By{Reason: "r"}, CancelBy); err != nil {
			t.Errorf("the lock was given up in time: %v", err)
		}
		if k := b.read(id); k.CancelAsked == 0 {
			t.Errorf("it is %s and nobody asked to cancel it", k.State)
		}
		b.store.set(func(s *faulty) { s.locked = map[task.ID]bool{id: true} })
		b.rows[0] = b.read(id)
		_, err := Perform(b.t.Context(), b.store, id, By{Reason: "r"}, func(k *task.Task, by By) (
			*task.Transition, error) {
			return task.Begin(k).By(by.Actor, task.Stop, 0, ""), nil
		})
		if !errors.Is(err, store.ErrBusy) {
			t.Errorf("a lock without an end gives %v", err)
		}
	})
}
