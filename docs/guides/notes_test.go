package guides

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store/memory"
)

func export(ctx context.Context, pages int, write func(page int) error) error {
	for i := range pages {
		if err := write(i); err != nil {
			return err
		}
		ax.Progress(ctx, i+1, pages) // costs nothing: it is written about once a second
		ax.Logger(ctx).Info("page written", "page", i)
	}
	return ax.Output(ctx, map[string]int{"pages": pages}) // kept as JSON
}

// look says how far a task is, and what its handlers have logged.
func look(ctx context.Context, a *ax.Scheduler, id ax.ID) (string, error) {
	p, err := a.Progress(ctx, id) // ax.ErrNotFound: nothing was said yet
	if err != nil {
		return "", err
	}
	text := []string{p.String()}
	lines, err := a.Logs(ctx, ax.LogFilter{Task: id})
	for _, l := range lines {
		text = append(text, l.Text)
	}
	return strings.Join(text, "; "), err
}

// TestNotes: what a handler says can be read while it runs and afterwards; and the keys of remind
// outlive their tasks.
func TestNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, err := ax.New(memory.New(memory.Options{}), ax.Config{Clock: time.Now, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(a.Handle("export", func(ctx context.Context, _ *ax.Task) error {
			return export(ctx, 2, func(int) error { time.Sleep(5 * time.Second); return nil })
		}), a.Handle("order.remind", nothing), a.Handle("order.receipt", nothing))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		res, err := a.Delay(ctx, "export", "", 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"1 of 2 (50 %); page written page=0",
			"2 of 2 (100 %); page written page=0; page written page=1"} {
			time.Sleep(7 * time.Second)
			if got, err := look(ctx, a, res.ID); err != nil || got != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		}
		row, err := a.Get(ctx, res.ID)
		if err != nil || string(row.Result) != `{"pages":2}` {
			t.Errorf("result %q, %v", row.Result, err)
		}
		for i, want := range []int{2, 2, 3} {
			if err := remind(ctx, a, "4711"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(13 * time.Hour)
			if rows, err := a.List(ctx, ax.Filter{Key: "4711"}); err != nil || len(rows) != want {
				t.Errorf("after call %d there are %d tasks, %v; want %d", i, len(rows), err, want)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func nothing(context.Context, *ax.Task) error { return nil }

// remind submits at most one reminder a day for an order, and one receipt for ever.
func remind(ctx context.Context, a *ax.Scheduler, order string) error {
	_, err := a.SubmitMany(ctx, []ax.NewTask{
		{Kind: "order.remind", Key: order, Unique: ax.UniqueFor(24 * time.Hour)},
		{Kind: "order.receipt", Key: order, Unique: ax.UniqueForever},
	})
	return err
}
