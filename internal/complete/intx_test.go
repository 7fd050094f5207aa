package complete

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// What a report means whose success lies in the handler's own transaction.
func TestDecideInTx(t *testing.T) {
	for _, c := range []struct {
		state   task.State
		last    task.Outcome
		outcome task.Outcome
		want    string
	}{
		{task.Succeeded, task.OutSucceeded, task.OutSucceeded, "nothing"},
		{task.Succeeded, task.OutSucceeded, task.OutFailed, "nothing"}, // after the commit
		{task.Running, 0, task.OutSucceeded, "fail retry"},
		{task.Running, 0, task.OutFailed, "fail retry"},
		{task.Running, 0, task.OutSnoozed, "snooze"},
		// Given up meanwhile: a success that was rolled back does not count as one.
		{task.Scheduled, task.OutLost, task.OutSucceeded, "nothing"},
		{task.Held, task.OutLost, task.OutSucceeded, "fail retry"},
	} {
		r := row(c.state)
		r.LastOutcome = c.last
		tr := Decide(r, task.Report{ID: theTask, Execution: theRun, Outcome: c.outcome,
			Error: "its own words", InTx: true}, policy(), storeNow, 0)
		if got := events(tr); got != c.want {
			t.Errorf("%s, report %s: %s; want %s", c.state, c.outcome, got, c.want)
		}
		if tr == nil || c.outcome == task.OutSnoozed {
			continue
		}
		words := "its own words"
		if c.outcome == task.OutSucceeded {
			words = "CompleteTx rolled back"
		}
		if tr.Set.Error != words || tr.Set.Failures != 1 {
			t.Errorf("%s, report %s: error %q, %d failures", c.state, c.outcome, tr.Set.Error,
				tr.Set.Failures)
		}
	}
}

// The row is read before the decision: one that the handler's transaction has moved is told as what
// it is, whatever the handler said, and one that it has not moved is retried.
func TestCompleterReadsAfterCompleteTx(t *testing.T) {
	bench(t, 3, func(b *recorder) {
		for i, k := range b.rows {
			if i == 2 {
				continue // rolled back
			}
			tr := task.Begin(k).Then(task.Succeed, 0, "")
			tr.Set.LastOutcome = task.OutSucceeded
			res, err := b.store.Store.Apply(b.t.Context(), store.Fence{}, []*task.Transition{tr})
			if err != nil || res[0].Status != store.Applied {
				b.t.Fatal(res, err)
			}
		}
		outcomes := []task.Outcome{task.OutSucceeded, task.OutFailed, task.OutSucceeded}
		b.store.set(func(s *faulty) { s.down = true }) // and it may take a while
		for i, k := range b.rows {
			b.Put(k, task.Report{ID: k.ID, Execution: k.ExecutionID, Outcome: outcomes[i], InTx: true})
		}
		time.Sleep(time.Second)
		b.store.set(func(s *faulty) { s.down = false })
		if err := b.Flush(context.WithoutCancel(b.t.Context())); err != nil {
			b.t.Fatal(err)
		}
		synctest.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		want := []task.State{task.Succeeded, task.Succeeded, task.Scheduled}
		for i, k := range b.rows {
			told := b.told[task.ID{2, byte(i)}]
			if len(told) != 1 || told[0] == nil || told[0].State != want[i] {
				b.t.Errorf("task %d was told as %v", i, told)
			}
			if got := b.read(k.ID); got.State != want[i] {
				b.t.Errorf("task %d is %s; want %s", i, got.State, want[i])
			}
		}
	})
}
