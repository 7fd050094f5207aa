package ax_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// TestMiddlewareOrder: those of all kinds are outside those of one, the first outermost, in every
// list; a kind without its own has only the others.
func TestMiddlewareOrder(t *testing.T) {
	var trace []string
	step := func(name string) ax.Middleware {
		return func(next ax.Handler) ax.Handler {
			return func(ctx context.Context, t *ax.Task) error {
				if ax.FromContext(ctx) != t {
					trace = append(trace, "no task in the context")
				}
				trace = append(trace, name)
				err := next(ctx, t)
				trace = append(trace, "/"+name)
				return err
			}
		}
	}
	handler := func(context.Context, *ax.Task) error { trace = append(trace, "h"); return nil }
	list := []ax.Middleware{step("a"), step("b")}
	bubble(t, ax.Config{Middleware: list}, func(a *ax.Scheduler) {
		list[0] = nil // the caller's slice is the caller's
		a.Handle("own", handler, ax.Use(step("c"), step("d")), ax.MaxRetries(0), ax.Use(step("e")))
		a.Handle("plain", handler)
	}, func(x *fixture) {
		x.submit(ax.NewTask{Kind: "own"})
		synctest.Wait()
		want := strings.Fields("a b c d e h /e /d /c /b /a")
		if !slices.Equal(trace, want) {
			t.Errorf("%v, want %v", trace, want)
		}
		trace = nil
		if _, err := x.DelayFunc(t.Context(), "late", "", 0, nil, handler); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		x.submit(ax.NewTask{Kind: "plain"})
		synctest.Wait()
		want = strings.Fields("a b h /b /a a b h /b /a")
		if !slices.Equal(trace, want) {
			t.Errorf("%v, want %v", trace, want)
		}
	})
}

// TestMiddlewareDecides: middleware may replace the error, and need not call the handler.
func TestMiddlewareDecides(t *testing.T) {
	down := errors.New("the bank is down")
	called := false
	bubble(t, ax.Config{}, func(a *ax.Scheduler) {
		a.Handle("snoozed", func(context.Context, *ax.Task) error { return down },
			ax.Use(func(next ax.Handler) ax.Handler {
				return func(ctx context.Context, t *ax.Task) error {
					if err := next(ctx, t); !errors.Is(err, down) {
						return err
					}
					return ax.Snooze(time.Hour)
				}
			}))
		a.Handle("closed", func(context.Context, *ax.Task) error { called = true; return nil },
			ax.Use(func(ax.Handler) ax.Handler {
				return func(context.Context, *ax.Task) error { return ax.Cancel(down) }
			}))
	}, func(x *fixture) {
		snoozed, closed := x.submit(ax.NewTask{Kind: "snoozed"}), x.submit(ax.NewTask{Kind: "closed"})
		synctest.Wait()
		for id, want := range map[ax.ID]ax.State{snoozed: task.Scheduled, closed: task.Canceled} {
			if row, err := x.Get(t.Context(), id); err != nil || row.State != want || row.Failures != 0 {
				t.Errorf("%s: %s after %d failures, want %s; %v", row.Kind, row.State, row.Failures,
					want, err)
			}
		}
		if called {
			t.Error("the handler was called round its middleware")
		}
	})
}

// TestMiddlewareRefused: a hole in the chain is found when it is made, not by the first task.
func TestMiddlewareRefused(t *testing.T) {
	ok := func(context.Context, *ax.Task) error { return nil }
	a, _ := idle(t)
	wantField(t, "nil", a.Handle("k", ok, ax.Use(nil)), "middleware")
	wantField(t, "a nil handler", a.Handle("k", ok, ax.Use(func(ax.Handler) ax.Handler {
		return nil
	})), "middleware")
	_, err := ax.New(memory.New(memory.Options{}), ax.Config{Middleware: []ax.Middleware{nil}})
	wantField(t, "nil for all", err, "Config.Middleware")
}

// TestEndsOfHandlers: however the code of a handler or its middleware ends, its attempt is a
// failure that is retried, its text is masked, and the next attempt succeeds.
func TestEndsOfHandlers(t *testing.T) {
	ends := map[string]func(){
		"panic":  func() { panic("card 4111") },
		"nil":    func() { var m *closeOrder; _ = m.OrderID },
		"goexit": runtime.Goexit,
	}
	texts := map[string]string{"panic": "panic: card ****\n", "nil": "panic: runtime error: ",
		"goexit": "runtime.Goexit"}
	once := func(n *int, f func()) {
		if *n++; *n == 1 {
			f()
		}
	}
	mask := func(s string) string { return strings.ReplaceAll(s, "4111", "****") }
	bubble(t, ax.Config{Redact: mask}, func(a *ax.Scheduler) {
		for name, end := range ends {
			var inside, outside int
			a.Handle(name, func(context.Context, *ax.Task) error {
				once(&inside, end)
				return nil
			})
			a.Handle(name+" in middleware", func(context.Context, *ax.Task) error { return nil },
				ax.Use(func(next ax.Handler) ax.Handler {
					return func(ctx context.Context, t *ax.Task) error {
						err := next(ctx, t)
						once(&outside, end)
						return err
					}
				}))
		}
	}, func(x *fixture) {
		for name := range ends {
			for _, kind := range []string{name, name + " in middleware"} {
				id := x.submit(ax.NewTask{Kind: kind})
				synctest.Wait()
				row, err := x.Get(t.Context(), id)
				if err != nil || row.State != task.Scheduled || row.Failures != 1 ||
					!strings.Contains(row.Error, texts[name]) || strings.Contains(row.Error, "4111") {
					t.Errorf("%s: %s after %d failures, %q, %v", kind, row.State, row.Failures,
						row.Error, err)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if row, err = x.Get(t.Context(), id); err != nil || row.State != task.Succeeded {
					t.Errorf("%s: then %s, %v", kind, row.State, err)
				}
			}
		}
	})
}

// TestStuckIsLogged: an operator learns once of a handler that does not end: which, of what, and
// for how long it has run.
func TestStuckIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log notes
		a, err := ax.New(memory.New(memory.Options{}), ax.Config{Clock: time.Now, Seed: 1,
			Logger: slog.New(&log), ZombieWait: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		end := make(chan struct{})
		a.Handle("hangs", func(context.Context, *ax.Task) error { <-end; return nil },
			ax.Timeout(5*time.Second), ax.MaxRetries(0))
		a.Handle("obeys", func(ctx context.Context, _ *ax.Task) error {
			<-ctx.Done()
			return ctx.Err()
		}, ax.Timeout(5*time.Second), ax.MaxRetries(0))
		x := &fixture{Scheduler: a, t: t}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		synctest.Wait()
		id := x.submit(ax.NewTask{Kind: "hangs", Key: "7"})
		x.submit(ax.NewTask{Kind: "obeys"})
		time.Sleep(14 * time.Second)
		synctest.Wait()
		if got := log.with("ignores the end"); len(got) != 0 {
			t.Errorf("told before it was given up: %v", got)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		got := log.with("ignores the end")
		if len(got) != 1 || got[0]["task_id"] != id.String() || got[0]["kind"] != "hangs" ||
			got[0]["key"] != "7" || !strings.HasPrefix(got[0]["running_for"], "15.") &&
			got[0]["running_for"] != "15s" {
			t.Errorf("logged %v", got)
		}
		close(end)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// notes is a slog.Handler that keeps what is logged at level Warn and above.
type notes struct {
	mu  sync.Mutex
	all []map[string]string
}

func (n *notes) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (n *notes) WithAttrs([]slog.Attr) slog.Handler { return n }

func (n *notes) WithGroup(string) slog.Handler { return n }

func (n *notes) Handle(_ context.Context, r slog.Record) error {
	m := map[string]string{"msg": r.Message}
	r.Attrs(func(a slog.Attr) bool { m[a.Key] = a.Value.String(); return true })
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, m)
	return nil
}

// with returns the notes whose message contains the text.
func (n *notes) with(text string) (found []map[string]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.all {
		if strings.Contains(m["msg"], text) {
			found = append(found, m)
		}
	}
	return found
}
