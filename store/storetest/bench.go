package storetest

import (
	"os"
	"strconv"
	"testing"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// waitingTasks wait in the table of BenchFinished.
const waitingTasks = 10_000

// BenchFinished measures what a leader and an operator do in a table where 10,000 tasks wait among
// finished ones: as many as the environment variable AX_FINISHED says, or 20,000. What Prune
// deletes is gone for the next round, so run it with a count: -benchtime=20x.
func BenchFinished(b *testing.B, s Full) {
	n, err := strconv.Atoi(os.Getenv("AX_FINISHED"))
	if err != nil {
		n = 20_000
	}
	end := []task.Event{task.ClaimLocal, task.Succeed}
	benchFill(b, s, n/2, end...)
	benchFill(b, s, waitingTasks)
	benchFill(b, s, n/100, task.Expire)
	benchFill(b, s, n-n/2-n/100, end...)
	cs := []store.Cursor{{Group: "default", Bucket: task.Normal, Until: task.MaxTime, Limit: 1000}}
	run := func(name string, f func() error) {
		b.Run(name, func(b *testing.B) {
			if err := f(); err != nil { // it meets what the filling left to vacuum
				b.Fatal(err)
			}
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("Due/1000", func() error { _, _, err := s.Due(b.Context(), cs); return err })
	run("ClaimAndReturn/100", func() error { return claimAndReturn(b, s, cs) })
	run("Live", func() error { _, err := s.Live(b.Context(), store.LiveQuery{}); return err })
	run("ListNewest", func() error { _, err := s.List(b.Context(), store.Query{}); return err })
	run("ListDead", func() error {
		_, err := s.List(b.Context(), store.Query{States: []task.State{task.Dead}})
		return err
	})
	run("Count/10000", func() error { _, err := s.Count(b.Context(), 10_000); return err })
	kept := store.Prune{Keep: store.Retention{Default: keepAll}}
	run("PruneKept/500", func() error {
		out, err := s.Prune(b.Context(), store.Fence{}, kept)
		kept.After = out.Next
		return err
	})
	over := store.Prune{Keep: store.Retention{Default: keepNone}}
	run("PruneOver/500", func() error {
		out, err := s.Prune(b.Context(), store.Fence{}, over)
		over.After = out.Next
		return err
	})
}

// claimAndReturn claims the first 100 tasks that are due and gives them back.
func claimAndReturn(b *testing.B, s Full, cs []store.Cursor) error {
	c := cs[0]
	c.Limit = 100
	due, _, err := s.Due(b.Context(), []store.Cursor{c})
	if err != nil {
		return err
	}
	ids := make([]task.ID, len(due[0]))
	for i, d := range due[0] {
		ids[i] = d.ID
	}
	for _, e := range []task.Event{task.Claim, task.Return} {
		rows, err := s.Tasks(b.Context(), ids)
		if err != nil {
			return err
		}
		trs := make([]*task.Transition, len(rows))
		for i := range rows {
			trs[i] = follow(&rows[i], e)
		}
		if _, err := s.Apply(b.Context(), store.Fence{}, trs); err != nil {
			return err
		}
	}
	return nil
}

// benchFill makes n tasks and leads them on by events, each a transition.
func benchFill(b *testing.B, s Full, n int, events ...task.Event) {
	b.Helper()
	for n > 0 {
		rows := make([]task.Task, min(n, 1000))
		for i := range rows {
			rows[i] = newTask("bench")
			rows[i].Payload = make([]byte, 64)
		}
		n -= len(rows)
		if _, err := s.Insert(b.Context(), store.Fence{}, rows); err != nil {
			b.Fatal(err)
		}
		for i := range rows {
			rows[i].Version, rows[i].RunAt = 1, 1
		}
		for _, e := range events {
			trs := make([]*task.Transition, len(rows))
			for i := range rows {
				trs[i] = follow(&rows[i], e)
				rows[i].Mutable, rows[i].Version = trs[i].Set, rows[i].Version+1
			}
			if _, err := s.Apply(b.Context(), store.Fence{}, trs); err != nil {
				b.Fatal(err)
			}
		}
	}
}
