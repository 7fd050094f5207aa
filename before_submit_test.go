package ax_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// TestBeforeSubmit: every way to submit a task passes the hook, in order, with the kind and the
// payload of typed arguments; what it changes is what is checked, stored and seen by the handler.
func TestBeforeSubmit(t *testing.T) {
	type key struct{}
	var calls []string
	cfg := ax.Config{BeforeSubmit: func(ctx context.Context, n *ax.NewTask) error {
		who, _ := ctx.Value(key{}).(string)
		calls = append(calls, n.Kind+" "+n.Key+string(n.Payload)+" "+who)
		if n.Args != nil {
			t.Error("Args is set")
		}
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		n.Labels["who"], n.Priority = who, ax.High
		return nil
	}}
	bothShops(t, cfg, func(x *shop) {
		calls = nil
		ctx := context.WithValue(x.ctx, key{}, "ana")
		mine := map[string]string{"a": "b"}
		res, err := x.Submit(ctx, ax.NewTask{Kind: "k", Key: "1", Labels: mine})
		must(x.T, err)
		_, err = x.Submit(ctx, ax.NewTask{Args: closeOrder{OrderID: 7}})
		must(x.T, err)
		_, err = x.Delay(ctx, "k", "2", time.Hour, nil)
		must(x.T, err)
		_, err = x.DelayFunc(ctx, "f", "3", time.Hour, nil, func(context.Context, *ax.Task) error {
			return nil
		})
		must(x.T, err)
		_, err = x.SubmitMany(ctx, []ax.NewTask{{Kind: "k", Key: "4", Labels: mine},
			{Kind: "k", Key: "5", Labels: mine}})
		must(x.T, err)
		tx := x.begin(x.ctx)
		_, err = x.SubmitTx(ctx, tx, ax.NewTask{Kind: "k", Key: "6"})
		must(x.T, err)
		_, err = x.SubmitManyTx(ctx, tx, []ax.NewTask{{Kind: "k", Key: "7"}})
		must(x.T, errors.Join(err, tx.Commit()))
		must(x.T, x.PutJob(ctx, ax.JobSpec{Name: "j", Kind: "k", Schedule: ax.Every(time.Hour)}))
		_, err = x.TriggerJob(ctx, "j", ax.JobRun{}, ax.By{})
		must(x.T, err)
		want := []string{"k 1 ana", `order.close {"order_id":7} ana`, "k 2 ana", "f 3 ana", "k 4 ana",
			"k 5 ana", "k 6 ana", "k 7 ana"}
		if !slices.Equal(calls, want) {
			x.Errorf("called with %q, want %q", calls, want)
		}
		row, err := x.Get(ctx, res.ID)
		if err != nil || row.Labels["who"] != "ana" || row.Labels["a"] != "b" ||
			row.Bucket != task.High {
			x.Errorf("stored %v in %s, %v", row.Labels, row.Bucket, err)
		}
		if len(mine) != 1 {
			x.Errorf("the caller's labels became %v", mine)
		}
	})
}

// TestBeforeSubmitRefuses: its error is the caller's, and nothing is written, of many tasks none.
func TestBeforeSubmitRefuses(t *testing.T) {
	errQuota := errors.New("over the quota")
	cfg := ax.Config{BeforeSubmit: func(_ context.Context, n *ax.NewTask) error {
		switch n.Key {
		case "no":
			return errQuota
		case "bad":
			n.Key = strings.Repeat("k", 201)
		}
		return nil
	}}
	bubble(t, cfg, func(*ax.Scheduler) {}, func(x *fixture) {
		_, err := x.Submit(t.Context(), ax.NewTask{Kind: "k", Key: "no"})
		if !errors.Is(err, errQuota) || err.Error() != "submit: over the quota" {
			t.Errorf("%v", err)
		}
		_, err = x.SubmitMany(t.Context(), []ax.NewTask{{Kind: "k"}, {Kind: "k", Key: "no"}})
		if !errors.Is(err, errQuota) || !strings.Contains(err.Error(), "task 1: over the quota") {
			t.Errorf("%v", err)
		}
		_, err = x.Submit(t.Context(), ax.NewTask{Kind: "k", Key: "bad"})
		wantField(t, "what the hook made", err, "key")
		if rows, err := x.List(t.Context(), store.Query{}); err != nil || len(rows) != 0 {
			t.Errorf("written: %v, %v", rows, err)
		}
	})
}

// TestBeforeSubmitID: an id of the hook is as good as one of the caller: the repeated submit is
// the same task, and it is not started twice.
func TestBeforeSubmitID(t *testing.T) {
	id, runs := ax.ID{6: 0x70, 15: 1}, 0
	cfg := ax.Config{BeforeSubmit: func(_ context.Context, n *ax.NewTask) error {
		n.ID = id
		return nil
	}}
	bubble(t, cfg, func(a *ax.Scheduler) {
		must(t, a.Handle("k", func(context.Context, *ax.Task) error {
			runs++
			time.Sleep(7 * time.Second) // it still runs at the second submit
			return nil
		}))
	}, func(x *fixture) {
		for range 2 {
			if got := x.submit(ax.NewTask{Kind: "k"}); got != id {
				t.Errorf("id %s", got)
			}
			time.Sleep(5 * time.Second)
		}
		synctest.Wait()
		if runs != 1 {
			t.Errorf("%d runs", runs)
		}
	})
}

// TestLabelsOfTask: a handler sees the labels, in every attempt its own copy.
func TestLabelsOfTask(t *testing.T) {
	var got []string
	bubble(t, ax.Config{}, func(a *ax.Scheduler) {
		must(t, a.Handle("k", func(_ context.Context, t *ax.Task) error {
			got = append(got, t.Labels["a"])
			t.Labels["a"] = "changed"
			if t.Attempt == 1 {
				return errors.New("again")
			}
			return nil
		}))
	}, func(x *fixture) {
		for _, d := range []time.Duration{0, time.Second} { // inserted as claimed, and claimed
			got = nil
			id := x.submit(ax.NewTask{Kind: "k", Delay: d, Labels: map[string]string{"a": "b"}})
			time.Sleep(time.Minute)
			synctest.Wait()
			row, err := x.Get(t.Context(), id)
			if err != nil || !slices.Equal(got, []string{"b", "b"}) || row.Labels["a"] != "b" {
				t.Errorf("handlers saw %q, stored %v, %v", got, row.Labels, err)
			}
		}
	})
}
