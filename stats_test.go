package ax_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/observe"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// storeTime is an instant as the store of a bubble knows it.
func storeTime(t time.Time) time.Time { return task.FromGo(t).Go() }

// TestStatsInABacklog: what runs, waits and lies in the wheel is counted where it is.
func TestStatsInABacklog(t *testing.T) {
	over(t, ax.Config{Slots: 2}, func(a *ax.Scheduler, _ *faulty) {
		var wait sync.WaitGroup
		wait.Add(1)
		a.Handle("long", func(context.Context, *ax.Task) error { wait.Wait(); return nil })
		for range 2 {
			submit(t, a, ax.NewTask{Kind: "long"})
		}
		time.Sleep(time.Second)
		first := time.Now()
		for i := range 9 {
			submit(t, a, ax.NewTask{Kind: "k", Priority: []ax.Priority{ax.High, ax.Normal,
				ax.Low}[i/4]})
			time.Sleep(time.Second)
		}
		for range 3 {
			submit(t, a, ax.NewTask{Kind: "k", Delay: time.Minute})
		}
		submit(t, a, ax.NewTask{Kind: "k", Delay: time.Hour}) // beyond the window
		time.Sleep(5 * time.Second)
		want := ax.Stats{At: storeTime(time.Now()), Slots: 2, Used: 2, Leading: true, Token: 1,
			Since: bubbleStart.Go(), Wheel: 3, OldestDue: storeTime(first)}
		want.Waiting[ax.High], want.Waiting[ax.Normal], want.Waiting[ax.Low] = 4, 4, 1
		if got := a.Stats(); got != want {
			t.Errorf("stats\n%+v, want\n%+v", got, want)
		}
		wait.Done()
		time.Sleep(2 * time.Hour)
		want = ax.Stats{At: storeTime(time.Now()), Slots: 2, Leading: true, Token: 1,
			Since: bubbleStart.Go()}
		if got := a.Stats(); got != want {
			t.Errorf("after the backlog\n%+v, want\n%+v", got, want)
		}
	})
}

// TestStatsOfTrouble: handlers that ignore their end and outcomes that cannot be written show.
func TestStatsOfTrouble(t *testing.T) {
	over(t, ax.Config{}, func(a *ax.Scheduler, st *faulty) {
		a.Handle("deaf", func(context.Context, *ax.Task) error {
			time.Sleep(30 * time.Second)
			return nil
		}, ax.Timeout(2*time.Second))
		submit(t, a, ax.NewTask{Kind: "deaf"})
		submit(t, a, ax.NewTask{Kind: "k"})
		synctest.Wait()
		st.set(func() { st.down = true })
		time.Sleep(10 * time.Second)
		// Of k the success waits to be written, of the deaf one that it was told to stop.
		if got := a.Stats(); got.Used != 0 || got.Zombies != 1 || got.Unrecorded != 2 {
			t.Errorf("stats %+v", got)
		}
		st.set(func() { st.down = false })
		time.Sleep(time.Minute)
		if got := a.Stats(); got.Zombies != 0 || got.Unrecorded != 0 {
			t.Errorf("after the outage: stats %+v", got)
		}
	})
}

// TestStatsWithoutRun: before and after Run there is nothing to count.
func TestStatsWithoutRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet, Clock: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		want := ax.Stats{At: storeTime(time.Now())}
		if got := a.Stats(); got != want {
			t.Errorf("before Run: %+v", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		synctest.Wait()
		cancel()
		<-done
		if got := a.Stats(); got.Leading || got.Used != 0 || got.Token != 0 {
			t.Errorf("after Run: %+v", got)
		}
	})
}

// hinting is a memory store that tells of tasks other processes submit.
type hinting struct {
	*memory.Store
	hints chan task.Time
}

func (s *hinting) Listen(ctx context.Context, hint func(task.Time)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case at := <-s.hints:
			hint(at)
		}
	}
}

// TestObservedStoreKeepsItsHints: a store whose calls are told still hints, so a task that another
// process has submitted starts at once and not with the next poll.
func TestObservedStoreKeepsItsHints(t *testing.T) {
	for _, watched := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			st := &hinting{memory.New(memory.Options{}), make(chan task.Time)}
			var x told
			cfg := ax.Config{Logger: quiet, Clock: time.Now, Seed: 1, Poll: time.Minute}
			if watched {
				cfg.Observer.StoreCall = func(e observe.StoreCall) { x.add("%s", e.Verb) }
			}
			a, err := ax.New(st, cfg)
			if err != nil {
				t.Fatal(err)
			}
			var started time.Time
			a.Handle("k", func(context.Context, *ax.Task) error { started = time.Now(); return nil })
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- a.Run(ctx) }()
			time.Sleep(10 * time.Second)
			row := task.Task{ID: task.ID{1}, Kind: "k", Group: "default", Bucket: task.Normal,
				MaxRetries: -1, Mutable: task.Mutable{State: task.Scheduled, Run: 1,
					RunAt: task.StoreNow}}
			ins, err := st.Insert(t.Context(), store.Fence{}, []task.Task{row})
			if err != nil {
				t.Fatal(err)
			}
			submitted := time.Now()
			st.hints <- ins[0].RunAt
			time.Sleep(10 * time.Second)
			cancel()
			<-done
			if started.IsZero() || started.Sub(submitted) > time.Second {
				t.Errorf("watched %t: submitted %s, started %s", watched, submitted, started)
			}
			if n := len(x.all()); (n > 0) != watched {
				t.Errorf("watched %t: %d calls told", watched, n)
			}
		})
	}
}
