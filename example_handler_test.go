package ax_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// ended waits until a task rests in a final state.
func ended(a *ax.Scheduler, id ax.ID) task.Task {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		t, err := a.Get(context.Background(), id)
		if err != nil || t.State.Final() {
			return t
		}
		<-tick.C
	}
}

func ExamplePermanent() {
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet})
	if err != nil {
		fmt.Println(err)
		return
	}
	a.Handle("charge", func(context.Context, *ax.Task) error {
		return ax.Permanent(errors.New("card is stolen"))
	})
	defer running(a)()
	res, err := a.Submit(context.Background(), ax.NewTask{Kind: "charge"})
	if err != nil {
		fmt.Println(err)
		return
	}
	t := ended(a, res.ID)
	fmt.Println(t.State, t.Reason, t.Attempt, t.Error)
	// Output: DEAD permanent 1 card is stolen
}

// It is too early: the task comes again, and no retry is spent.
func ExampleSnooze() {
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet})
	if err != nil {
		fmt.Println(err)
		return
	}
	a.Handle("report", func(_ context.Context, t *ax.Task) error {
		if t.Attempt == 1 {
			return ax.Snooze(10 * time.Millisecond)
		}
		return nil
	}, ax.MaxRetries(0))
	defer running(a)()
	res, err := a.Submit(context.Background(), ax.NewTask{Kind: "report"})
	if err != nil {
		fmt.Println(err)
		return
	}
	t := ended(a, res.ID)
	fmt.Println(t.State, "after", t.Attempt, "attempts and", t.Failures, "failures")
	// Output: SUCCEEDED after 2 attempts and 0 failures
}

func ExampleLogger() {
	out := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelWarn,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "task_id" || a.Key == "execution_id" {
				return slog.Attr{} // they differ each time
			}
			return a
		}})
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: slog.New(out)})
	if err != nil {
		fmt.Println(err)
		return
	}
	a.Handle("mail", func(ctx context.Context, _ *ax.Task) error {
		ax.Logger(ctx).Warn("the mail server is slow", "host", "mx1")
		return nil
	})
	defer running(a)()
	res, err := a.Submit(context.Background(), ax.NewTask{Kind: "mail", Key: "ana"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended(a, res.ID)
	// Output: level=WARN msg="the mail server is slow" kind=mail key=ana run=1 attempt=1 host=mx1
}

// ExampleFromContext shows a function deep inside a handler that learns which task it works for.
func ExampleFromContext() {
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet})
	if err != nil {
		fmt.Println(err)
		return
	}
	charge := func(ctx context.Context) {
		t := ax.FromContext(ctx)
		fmt.Println(t.Kind, t.Key, "run", t.Run, "attempt", t.Attempt)
	}
	a.Handle("charge", func(ctx context.Context, _ *ax.Task) error {
		charge(ctx)
		return nil
	})
	defer running(a)()
	res, err := a.Submit(context.Background(), ax.NewTask{Kind: "charge", Key: "1007"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended(a, res.ID)
	fmt.Println(ax.FromContext(context.Background()) == nil)
	// Output:
	// charge 1007 run 1 attempt 1
	// true
}

// What a handler says while it runs is read by its id, in this process or another one.
func ExampleProgress() {
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet})
	if err != nil {
		fmt.Println(err)
		return
	}
	half, goOn := make(chan bool), make(chan bool)
	a.Handle("import", func(ctx context.Context, t *ax.Task) error {
		rows := []string{"anna", "ben", "cleo", "dora"}
		for i := range rows {
			if i == 2 {
				half <- true
				<-goOn
			}
			ax.Progress(ctx, i+1, len(rows))
		}
		ax.Logger(ctx).Info("imported", "rows", len(rows))
		return ax.Output(ctx, map[string]int{"imported": len(rows)})
	})
	defer running(a)()
	ctx := context.Background()
	res, err := a.Submit(ctx, ax.NewTask{Kind: "import"})
	if err != nil {
		fmt.Println(err)
		return
	}
	<-half
	for {
		if p, err := a.Progress(ctx, res.ID); err == nil {
			fmt.Println(p.Done, "of", p.Total)
			break
		}
		<-time.After(10 * time.Millisecond) // it is written within a second
	}
	goOn <- true
	fmt.Printf("%s\n", ended(a, res.ID).Result)
	for {
		lines, err := a.Logs(ctx, ax.LogFilter{Task: res.ID})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, l := range lines {
			fmt.Println(l.Level, l.Text)
		}
		if len(lines) > 0 {
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	// Output:
	// 2 of 4
	// {"imported":4}
	// INFO imported rows=4
}
