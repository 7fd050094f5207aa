package ax_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// lines reads the texts of a log.
func (x *fixture) lines(id ax.ID) (out []string) {
	x.t.Helper()
	ls, err := x.Logs(x.t.Context(), ax.LogFilter{Task: id})
	if err != nil {
		x.t.Fatal(err)
	}
	for _, l := range ls {
		out = append(out, fmt.Sprintf("%s %s", l.Level, l.Text))
	}
	return out
}

// TestNotesWhileItRuns: what a handler says is seen before it ends, and changes nothing of its row.
func TestNotesWhileItRuns(t *testing.T) {
	step := func(ctx context.Context, i int) {
		ax.Progress(ctx, i, 3)
		ax.Logger(ctx).Info("step", "i", i)
		if err := ax.Output(ctx, map[string]int{"done": i}); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
	}
	bubble(t, ax.Config{}, func(a *ax.Scheduler) {
		a.Handle("k", func(ctx context.Context, _ *ax.Task) error {
			for i := range 3 {
				step(ctx, i+1)
			}
			return nil
		}, ax.Timeout(time.Hour))
	}, func(x *fixture) {
		id := x.submit(ax.NewTask{Kind: "k"})
		if _, err := x.Progress(x.t.Context(), id); !errors.Is(err, ax.ErrNotFound) {
			t.Errorf("before the first word: %v", err)
		}
		var version int64
		for i := range 3 {
			time.Sleep(2 * time.Second)
			p, err := x.Progress(x.t.Context(), id)
			if err != nil || p.Done != int64(i+1) || p.Total != 3 ||
				string(p.Output) != fmt.Sprintf(`{"done":%d}`, i+1) {
				t.Errorf("in step %d: %d of %d, %s, %v", i+1, p.Done, p.Total, p.Output, err)
			}
			if got := x.lines(id); len(got) != i+1 || got[i] != fmt.Sprintf("INFO step i=%d", i+1) {
				t.Errorf("in step %d: %q", i+1, got)
			}
			row, err := x.Get(x.t.Context(), id)
			if err != nil || row.State != task.Running || row.Result != nil ||
				version != 0 && row.Version != version || p.ExecutionID != row.ExecutionID {
				t.Errorf("in step %d the row is %+v, %v", i+1, row, err)
			}
			version = row.Version
			time.Sleep(58 * time.Second)
		}
		synctest.Wait()
		row, err := x.Get(x.t.Context(), id)
		if err != nil || row.State != task.Succeeded || string(row.Result) != `{"done":3}` ||
			row.Version != version+1 {
			t.Errorf("at the end: %s, version %d, result %s, %v", row.State, row.Version, row.Result,
				err)
		}
		xs, err := x.Executions(x.t.Context(), id)
		if err != nil || len(xs) != 1 || xs[0].ID != row.ExecutionID ||
			xs[0].Outcome != task.OutSucceeded || xs[0].Took() != 3*time.Minute {
			t.Errorf("executions: %+v, %v", xs, err)
		}
	})
}

// TestOutputOfAFailure: it stays readable, is not the result, and gives way to that of the next
// attempt.
func TestOutputOfAFailure(t *testing.T) {
	bubble(t, ax.Config{}, func(a *ax.Scheduler) {
		a.Handle("k", func(ctx context.Context, tk *ax.Task) error {
			if err := ax.Output(ctx, fmt.Append(nil, "attempt ", tk.Attempt)); err != nil {
				t.Error(err)
			}
			ax.Logger(ctx).Warn("attempt", "n", tk.Attempt)
			switch tk.Attempt {
			case 1:
				return errors.New("no")
			case 2:
				panic("no")
			}
			return nil
		})
	}, func(x *fixture) {
		id := x.submit(ax.NewTask{Kind: "k"})
		for i, want := range []ax.State{task.Scheduled, task.Scheduled, task.Succeeded} {
			for {
				time.Sleep(time.Second)
				synctest.Wait()
				if row, _ := x.Get(x.t.Context(), id); row.Attempt == i+1 {
					break
				}
			}
			row, err := x.Get(x.t.Context(), id)
			if err != nil || row.State != want || (row.Result != nil) != (want == task.Succeeded) {
				t.Errorf("after attempt %d: %s, result %q, %v", i+1, row.State, row.Result, err)
			}
			p, err := x.Progress(x.t.Context(), id)
			if err != nil || string(p.Output) != fmt.Sprint("attempt ", i+1) {
				t.Errorf("after attempt %d the output is %q, %v", i+1, p.Output, err)
			}
		}
		want := "[WARN attempt n=1 WARN attempt n=2 WARN attempt n=3]"
		if got := fmt.Sprint(x.lines(id)); got != want {
			t.Errorf("the log is %s", got)
		}
		xs, err := x.Executions(x.t.Context(), id)
		if err != nil || len(xs) != 3 {
			t.Fatalf("executions: %+v, %v", xs, err)
		}
		ls, err := x.Logs(x.t.Context(), ax.LogFilter{Task: id, Execution: xs[1].ID})
		if err != nil || len(ls) != 1 || ls[0].Text != "attempt n=2" {
			t.Errorf("the log of the second attempt: %+v, %v", ls, err)
		}
	})
}

// TestLoggerOfAHandler: the program's logger gets every line with the names of the task, the store
// gets masked ones from the level on.
func TestLoggerOfAHandler(t *testing.T) {
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		a, err := ax.New(memory.New(memory.Options{}), ax.Config{Clock: time.Now, Seed: 1,
			LogLevel: slog.LevelWarn, Logger: slog.New(slog.NewJSONHandler(&out, nil)),
			Redact: func(s string) string { return strings.ReplaceAll(s, "secret", "***") }})
		if err != nil {
			t.Fatal(err)
		}
		a.Handle("k", func(ctx context.Context, _ *ax.Task) error {
			ax.Logger(ctx).Info("one")
			ax.Logger(ctx).With("a", "secret").Warn("two")
			return nil
		})
		res, err := a.Submit(t.Context(), ax.NewTask{Kind: "k", Key: "7"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		time.Sleep(5 * time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		x := &fixture{Scheduler: a, t: t}
		if got := fmt.Sprint(x.lines(res.ID)); got != "[WARN two a=***]" {
			t.Errorf("kept: %s", got)
		}
		seen := 0
		for line := range strings.Lines(out.String()) {
			var l struct {
				Msg, TaskID, Kind, Key, A string
				ID                        string `json:"task_id"`
				Execution                 string `json:"execution_id"`
				Run, Attempt              int
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatal(err)
			}
			if l.Msg != "one" && l.Msg != "two" {
				continue
			}
			seen++
			if l.ID != res.ID.String() || l.Kind != "k" || l.Key != "7" || l.Run != 1 ||
				l.Attempt != 1 || len(l.Execution) != 36 || l.Msg == "two" && l.A != "secret" {
				t.Errorf("the program's logger got %s", line)
			}
		}
		if seen != 2 {
			t.Errorf("the program's logger got %d lines", seen)
		}
	})
}

// TestOutsideAHandler: the functions are safe with any context.
func TestOutsideAHandler(t *testing.T) {
	ctx := t.Context()
	if ax.FromContext(ctx) != nil || ax.Logger(ctx) == nil {
		t.Error("a plain context has a task or no logger")
	}
	ax.Progress(ctx, 1, 2)
	if err := ax.Output(ctx, 1); err == nil || !strings.Contains(err.Error(), "handler") {
		t.Errorf("Output: %v", err)
	}
}

// TestStoreWithoutNotes: handlers need not know; only reading says that it cannot.
func TestStoreWithoutNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, err := ax.New(plain{memory.New(memory.Options{})}, ax.Config{Clock: time.Now, Seed: 1,
			Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		a.Handle("k", func(ctx context.Context, _ *ax.Task) error {
			ax.Progress(ctx, 1, 1)
			ax.Logger(ctx).Info("hello")
			return ax.Output(ctx, 7)
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		synctest.Wait()
		res, err := a.Submit(t.Context(), ax.NewTask{Kind: "k"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		row, err := a.Get(t.Context(), res.ID)
		if err != nil || string(row.Result) != "7" {
			t.Errorf("the result is %q, %v", row.Result, err)
		}
		_, err = a.Progress(t.Context(), res.ID)
		if err == nil || errors.Is(err, ax.ErrNotFound) {
			t.Errorf("progress: %v", err)
		}
		if _, err = a.Logs(t.Context(), ax.LogFilter{Task: res.ID}); err == nil {
			t.Error("a log from a store that keeps none")
		}
		cancel()
		<-done
	})
}

// counting is a store that counts notes, refuses them for a while, and knows what came last.
type counting struct {
	*memory.Store

	mu    sync.Mutex
	away  bool
	calls []string
}

func (s *counting) call(name string) (away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, name)
	return s.away
}

func (s *counting) Note(ctx context.Context, ns []store.Note) error {
	if s.call("note") {
		return errors.New("the store is away")
	}
	return s.Store.Note(ctx, ns)
}

func (s *counting) Registry() registry.Registry { return &leaving{s.Store.Registry(), s} }

type leaving struct {
	registry.Registry
	s *counting
}

func (r *leaving) Leave(ctx context.Context, epoch int64) error {
	r.s.call("leave")
	return r.Registry.Leave(ctx, epoch)
}

// TestStopWritesTheRest: what an outage has held back is written at the stop, after the handlers
// have ended and before the lease of the executor; a walk that says nothing calls nothing.
func TestStopWritesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &counting{Store: memory.New(memory.Options{})}
		a, err := ax.New(st, ax.Config{Clock: time.Now, Seed: 1, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		a.Handle("silent", func(context.Context, *ax.Task) error { return nil })
		a.Handle("k", func(ctx context.Context, _ *ax.Task) error {
			ax.Logger(ctx).Info("begun")
			<-ctx.Done()
			ax.Logger(ctx).Info("told to stop")
			ax.Progress(ctx, 1, 2)
			return ctx.Err()
		}, ax.Timeout(ax.NoTimeout))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		synctest.Wait()
		x := &fixture{Scheduler: a, t: t}
		x.submit(ax.NewTask{Kind: "silent"})
		time.Sleep(time.Minute)
		if len(st.calls) != 0 {
			t.Errorf("a silent task made the calls %q", st.calls)
		}
		st.away = true
		id := x.submit(ax.NewTask{Kind: "k"})
		time.Sleep(10 * time.Minute)
		st.mu.Lock()
		st.away, st.calls = false, nil
		st.mu.Unlock()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := fmt.Sprint(x.lines(id)); got != "[INFO begun INFO told to stop]" {
			t.Errorf("the log after the stop: %s", got)
		}
		if p, err := x.Progress(t.Context(), id); err != nil || p.Done != 1 {
			t.Errorf("the progress after the stop: %+v, %v", p, err)
		}
		if n := len(st.calls); n < 2 || st.calls[n-1] != "leave" {
			t.Errorf("the calls of the stop: %q", st.calls)
		}
	})
}

// TestOutputTooLarge: it is refused with its field, and the attempt goes on.
func TestOutputTooLarge(t *testing.T) {
	var got error
	bubble(t, ax.Config{}, func(a *ax.Scheduler) {
		a.Handle("k", func(ctx context.Context, _ *ax.Task) error {
			got = ax.Output(ctx, make([]byte, task.MaxOutput+1))
			return nil
		})
	}, func(x *fixture) {
		id := x.submit(ax.NewTask{Kind: "k"})
		time.Sleep(time.Second)
		x.want(id, task.Succeeded, 0)
	})
	var in *ax.InputError
	if !errors.Is(got, ax.ErrTooLarge) || !errors.As(got, &in) || in.Field != "output" {
		t.Errorf("Output: %v", got)
	}
}
