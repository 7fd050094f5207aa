package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

var closingTests = []test{
	{"Close", testClose},
	{"CloseUnderWay", testCloseUnderWay},
	{"CanceledContext", testCanceledContext},
}

// call is one method of a store with harmless arguments.
type call struct {
	name string
	do   func(ctx context.Context) error
}

// calls lists every method that takes a context. Those that write would write row.
func calls(s Full, row task.Task, j task.Job) []call {
	zero := store.Fence{}
	return []call{
		{"Now", func(ctx context.Context) error { _, err := s.Now(ctx); return err }},
		{"Token", func(ctx context.Context) error { _, err := s.Token(ctx, 1); return err }},
		{"Install", func(ctx context.Context) error {
			_, err := s.Install(ctx, 1, 0, "h")
			return err
		}},
		{"Insert", func(ctx context.Context) error {
			_, err := s.Insert(ctx, zero, []task.Task{newTask("closing")})
			return err
		}},
		{"Apply", func(ctx context.Context) error {
			_, err := s.Apply(ctx, zero, []*task.Transition{follow(&row, task.Cancel)})
			return err
		}},
		{"Tasks", func(ctx context.Context) error {
			_, err := s.Tasks(ctx, []task.ID{row.ID})
			return err
		}},
		{"ByKey", func(ctx context.Context) error { _, err := s.ByKey(ctx, row.Kind, "k"); return err }},
		{"List", func(ctx context.Context) error { _, err := s.List(ctx, store.Query{}); return err }},
		{"History", func(ctx context.Context) error { _, err := s.History(ctx, row.ID); return err }},
		{"Count", func(ctx context.Context) error { _, err := s.Count(ctx, 0); return err }},
		{"Prune", func(ctx context.Context) error {
			_, err := s.Prune(ctx, zero, store.Prune{Keep: store.Retention{Default: keepNone}})
			return err
		}},
		{"Note", func(ctx context.Context) error {
			n := progress(row, 1, 1)
			n.ExecutionID = newID()
			return s.(store.Noter).Note(ctx, []store.Note{n})
		}},
		{"Notes", func(ctx context.Context) error {
			_, err := s.(store.Noter).Notes(ctx, []task.ID{row.ID})
			return err
		}},
		{"Logs", func(ctx context.Context) error {
			_, err := s.(store.Noter).Logs(ctx, store.LogQuery{Task: row.ID})
			return err
		}},
		{"Due", func(ctx context.Context) error {
			_, _, err := s.Due(ctx, []store.Cursor{{Group: "g", Bucket: task.Low, Limit: 1}})
			return err
		}},
		{"Live", func(ctx context.Context) error {
			_, err := s.Live(ctx, store.LiveQuery{})
			return err
		}},
		{"PutJob", func(ctx context.Context) error { _, err := s.PutJob(ctx, newJob("x")); return err }},
		{"DeleteJob", func(ctx context.Context) error { return s.DeleteJob(ctx, j.Name) }},
		{"Jobs", func(ctx context.Context) error { _, err := s.Jobs(ctx, 0); return err }},
		{"Fire", func(ctx context.Context) error {
			_, err := s.Fire(ctx, zero, []store.Fire{fireOf(j, j.LastFire+1)})
			return err
		}},
		{"PutKinds", func(ctx context.Context) error {
			return s.PutKinds(ctx, []task.Kind{{Name: "closing"}})
		}},
		{"Kinds", func(ctx context.Context) error { _, err := s.Kinds(ctx); return err }},
		{"Register", func(ctx context.Context) error {
			_, err := s.Registry().Register(ctx, registry.Member{Name: "n", Instance: "i"}, time.Hour)
			return err
		}},
		{"Members", func(ctx context.Context) error { _, err := s.Registry().Members(ctx); return err }},
		{"Acquire", func(ctx context.Context) error {
			return s.Leases().Acquire(ctx, 1, "holder", time.Hour)
		}},
	}
}

func testClose(t *testing.T, s Full) {
	row := inState(t, s, task.Scheduled, nil)
	j := putJob(t, s, newJob(t.Name()))
	all := calls(s, row, j)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	for _, c := range all {
		if err := c.do(t.Context()); !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s after Close gave %v; want ErrClosed", c.name, err)
		}
	}
}

// Calls that race with Close end well or with ErrClosed, and none hangs.
func testCloseUnderWay(t *testing.T, s Full) {
	async(5, func(i int) {
		if i == 0 {
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			return
		}
		for range 20 {
			tk := newTask("closing")
			in, err := s.Insert(t.Context(), store.Fence{}, []task.Task{tk})
			if err != nil && !errors.Is(err, store.ErrClosed) {
				t.Errorf("insert while closing: %v", err)
			}
			if err == nil && (len(in) != 1 || in[0].ID != tk.ID) {
				t.Errorf("insert while closing answered %+v", in)
			}
		}
	})
}

// A call whose context has ended returns its error and writes nothing.
func testCanceledContext(t *testing.T, s Full) {
	row := inState(t, s, task.Scheduled, nil)
	j := putJob(t, s, newJob(t.Name()))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range calls(s, row, j) {
		if err := c.do(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a canceled context gave %v", c.name, err)
		}
	}
	same(t, "row", row, read(t, s, row.ID))
	same(t, "job", j, findJob(t, s, j.ID))
	if all := list(t, s, store.Query{}); len(all) != 1 {
		t.Errorf("%d tasks; want 1", len(all))
	}
	if token, err := s.Token(t.Context(), 1); err != nil || token != 0 {
		t.Errorf("token %d, %v; want 0", token, err)
	}
	if ms, err := s.Registry().Members(t.Context()); err != nil || len(ms) != 0 {
		t.Errorf("members %v, %v; want none", ms, err)
	}
	if ks, err := s.Kinds(t.Context()); err != nil || len(ks) != 0 {
		t.Errorf("kinds %v, %v; want none", ks, err)
	}
}
