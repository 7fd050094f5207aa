// Package axtest tests code that uses ax, in time that the test moves: an order time-out of half
// an hour passes in a moment, and at exactly its instant.
//
//	func TestUnpaidOrderIsClosed(t *testing.T) {
//		axtest.Run(t, ax.Config{}, func(tt *axtest.T) {
//			shop := newShop(tt.Scheduler) // registers its handlers
//			if err := shop.place(tt.Context(), "1007"); err != nil {
//				tt.Fatal(err)
//			}
//			timeout := tt.Submitted("order.close", "1007")
//			tt.Advance(29 * time.Minute)
//			tt.WantState(timeout.ID, task.Scheduled)
//			tt.Advance(time.Minute)
//			tt.WantState(timeout.ID, task.Succeeded)
//			if shop.state("1007") != "closed" {
//				tt.Error("the order is open")
//			}
//		})
//	}
//
// What runs is the real scheduler: leases, claims, time-outs, retries and jobs as in production,
// each on its goroutines. Only two things are not: the store is in memory, and time is that of a
// bubble of [testing/synctest], whose rules hold. Time stands still while anything in the test can
// run, and jumps when all of it waits; it begins on 1 January 2000 UTC. Make the channels and
// start the goroutines of the test inside Run. A handler that waits for a network or a file holds
// time still until the answer is there. One that never ends fails the test: the message shows its
// goroutine.
//
// What is opened inside of Run must be closed inside. A *sql.DB has a goroutine of its own: close
// it with tt.Cleanup, or the test ends with "panic: deadlock: main bubble goroutine has exited but
// blocked goroutines remain". The store in memory refuses [ax.Scheduler.SubmitTx] and
// [ax.CompleteTx]; test those without Run, on a SQLite file in t.TempDir() or on your database.
//
// What a handler says with [ax.Progress], [ax.Output] and [ax.Logger] can be read when it has
// ended; while it runs, a second later: Advance(time.Second) first.
//
// Ids and the jitter of retries come from a seed, so that they are the same each time; the order of
// handlers that run at the same instant is not.
//
// A scheduler is never quite idle, so a day costs about a second. For weeks and months use
//
//	ax.Config{Poll: time.Minute, Sweep: time.Minute, LeaseTTL: 10 * time.Minute,
//		ExecutorTTL: time.Hour}
//
// which finds later only what another process submits, and what is lost with one.
package axtest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// T is a test with a Scheduler in a bubble. Its methods are for the goroutine of the test only;
// those of the Scheduler are safe for concurrent use.
type T struct {
	*testing.T
	*ax.Scheduler
	// Store is the Scheduler's store. A second Scheduler over it is a second replica.
	Store *memory.Store

	tick time.Duration
	stop context.CancelFunc
	done chan error // gives the end of Run; nil before the start
}

// Run calls f in a bubble, with a Scheduler that cfg describes. What cfg leaves out is chosen for
// tests: Seed is 1, NodeID is "test", warnings go to the output of the test. Clock is ignored.
//
// The Scheduler begins to run with the first call of Advance or RunDue, so register handlers before
// it; until then tasks and jobs are only stored. When f ends it is stopped gracefully, and an error
// of it, such as that of a registration, fails the test.
func Run(t *testing.T, cfg ax.Config, f func(tt *T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		cfg.Clock = time.Now
		if cfg.Seed == 0 {
			cfg.Seed = 1
		}
		if cfg.NodeID == "" {
			cfg.NodeID = "test"
		}
		if cfg.Logger == nil {
			cfg.Logger = slog.New(slog.NewTextHandler(t.Output(),
				&slog.HandlerOptions{Level: slog.LevelWarn}))
		}
		tt := &T{T: t, Store: memory.New(memory.Options{}), tick: max(cfg.Tick, time.Millisecond)}
		var err error
		if tt.Scheduler, err = ax.New(tt.Store, cfg); err != nil {
			t.Fatal(err)
		}
		defer tt.end()
		f(tt)
	})
}

// Advance moves time forward by d and a tick (a millisecond, or Config.Tick), and returns when
// everything that became due on the way has run and all of the bubble waits again. A handler that
// itself sleeps may still do so. Tasks become due on whole ticks, hence the one more.
func (tt *T) Advance(d time.Duration) {
	tt.Helper()
	if d < 0 {
		tt.Fatalf("Advance: d is %s; time does not go back", d)
	}
	tt.begin()
	for _, d := range []time.Duration{d, tt.tick} {
		time.Sleep(d)
		synctest.Wait()
	}
	tt.alive()
}

// RunDue runs what is due now. It is Advance(0).
func (tt *T) RunDue() {
	tt.Helper()
	tt.Advance(0)
}

// begin starts the Scheduler, once.
func (tt *T) begin() {
	tt.Helper()
	if tt.done != nil {
		return
	}
	ctx, cancel := context.WithCancel(tt.Context())
	tt.stop, tt.done = cancel, make(chan error, 1)
	go func() { tt.done <- tt.Scheduler.Run(ctx) }()
	synctest.Wait()
	tt.alive()
}

// alive ends the test if the Scheduler has ended by itself.
func (tt *T) alive() {
	tt.Helper()
	select {
	case err := <-tt.done:
		tt.done <- nil // it is told here
		tt.Fatalf("the scheduler has ended: %v", err)
	default:
	}
}

// end stops the Scheduler, also when the test ended early.
func (tt *T) end() {
	if tt.done == nil {
		return
	}
	tt.stop()
	if err := <-tt.done; err != nil {
		tt.Errorf("the scheduler has ended: %v", err)
	}
	time.Sleep(24 * time.Hour) // what sleeps through the end of its context ends too
}

// Submitted returns the newest task of this kind and key, with its payload and whatever became of
// it, or ends the test if there is none; of several that were made in the same millisecond it
// returns any. An empty key stands for any.
func (tt *T) Submitted(kind, key string) task.Task {
	tt.Helper()
	rows := tt.find(kind, key)
	if len(rows) == 0 {
		tt.Fatalf("no task of kind %q with key %q was submitted", kind, key)
	}
	t, err := tt.Get(tt.Context(), rows[0].ID)
	if err != nil {
		tt.Fatal(err)
	}
	return t
}

// NotSubmitted fails the test if there is a task of this kind and key. An empty key stands for any.
func (tt *T) NotSubmitted(kind, key string) {
	tt.Helper()
	for _, t := range tt.find(kind, key) {
		tt.Errorf("a task of kind %q with key %q was submitted: %s is %s", kind, t.Key, t.ID, t.State)
	}
}

func (tt *T) find(kind, key string) []task.Task {
	tt.Helper()
	rows, err := tt.List(tt.Context(), ax.Filter{Kind: kind, Key: key})
	if err != nil {
		tt.Fatal(err)
	}
	return rows
}

// WantState fails the test if the task is not in this state, and prints its history.
func (tt *T) WantState(id ax.ID, want ax.State) {
	tt.Helper()
	t, err := tt.Get(tt.Context(), id)
	if err != nil {
		tt.Fatal(err)
	}
	if t.State != want {
		tt.Errorf("%s %q is %s, want %s%s", t.Kind, t.Key, t.State, want, tt.story(&t))
	}
}

// story tells how a task came to where it is.
func (tt *T) story(t *task.Task) string {
	tt.Helper()
	entries, err := tt.History(tt.Context(), t.ID)
	if err != nil {
		tt.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "\n\t%s  %s -> %s", e.At.Go().Format(time.DateTime), e.From, e.To)
		for _, s := range []string{e.Event.String(), e.Reason.String(), e.Detail} {
			if s != "" {
				b.WriteString(", " + s)
			}
		}
	}
	fmt.Fprintf(&b, "\n\tnow %s, due %s", time.Now().UTC().Format(time.DateTime),
		t.RunAt.Go().Format(time.DateTime))
	return b.String()
}
