package ax_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store/sqlite"
	"github.com/ax-sched/ax/task"
)

// keeper records what handlers do, and whether two of them run at the same time.
type keeper struct {
	mu      sync.Mutex
	running int
	most    int
	lines   []string
}

func (p *keeper) handle(f func(ctx context.Context, t *ax.Task) error) ax.Handler {
	return func(ctx context.Context, t *ax.Task) error {
		p.mu.Lock()
		p.running++
		p.most = max(p.most, p.running)
		p.lines = append(p.lines, fmt.Sprintf("%s#%d", t.Payload, t.Attempt))
		p.mu.Unlock()
		err := f(ctx, t)
		p.mu.Lock()
		p.running--
		p.mu.Unlock()
		return err
	}
}

func (p *keeper) read() (lines []string, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lines), p.most
}

// TestQueueOnSQLite: forty tasks of one key, one of which fails at first, run one after the other
// in the order in which they were submitted, while those of another key are not held up.
func TestQueueOnSQLite(t *testing.T) {
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "ax.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	a, err := ax.New(st, ax.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	var p keeper
	a.Handle("k", p.handle(func(_ context.Context, k *ax.Task) error {
		if string(k.Payload) == "7" && k.Attempt < 3 {
			return ax.RetryIn(20*time.Millisecond, errors.New("not yet"))
		}
		return nil
	}))
	other := make(chan struct{})
	a.Handle("other", func(context.Context, *ax.Task) error { close(other); return nil })
	var ids []ax.ID
	var want []string
	for i := range 40 {
		res, err := a.Submit(t.Context(), ax.NewTask{Kind: "k", OverlapKey: "account/1",
			Payload: fmt.Append(nil, i)})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, res.ID)
		for n := range 1 + 2*max(0, 1-max(i-7, 7-i)) {
			want = append(want, fmt.Sprintf("%d#%d", i, n+1))
		}
	}
	_, err = a.Submit(t.Context(), ax.NewTask{Kind: "other", OverlapKey: "account/2"})
	if err != nil {
		t.Fatal(err)
	}
	defer running(a)()
	<-other
	await(t, "the last one", func() bool {
		k, err := a.Get(t.Context(), ids[len(ids)-1])
		return err == nil && k.State == task.Succeeded
	})
	if lines, most := p.read(); !slices.Equal(lines, want) || most != 1 {
		t.Errorf("%d ran at the same time, in the order %v; want one, and %v", most, lines, want)
	}
}

// TestQueueHeld: a task that is HELD keeps its place, and those behind it wait for the person.
func TestQueueHeld(t *testing.T) {
	var p keeper
	bubble(t, ax.Config{ZombieWait: time.Minute}, func(a *ax.Scheduler) {
		a.Handle("k", p.handle(func(_ context.Context, k *ax.Task) error {
			if string(k.Payload) == "1" {
				time.Sleep(5 * time.Minute) // ignores the end of its context
			}
			return nil
		}), ax.OnUnknown(ax.HoldUnknown))
	}, func(x *fixture) {
		first := x.submit(ax.NewTask{Kind: "k", OverlapKey: "o", Payload: []byte("1")})
		second := x.submit(ax.NewTask{Kind: "k", OverlapKey: "o", Payload: []byte("2"), Delay: 1})
		time.Sleep(2 * time.Minute)
		x.want(first, task.Held, task.Unreported)
		x.want(second, task.Scheduled, 0)
		if err := x.Resolve(t.Context(), first, ax.AnswerSucceeded, ana); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		x.want(second, task.Succeeded, 0)
		time.Sleep(5 * time.Minute) // the handler ends
	})
}

// TestReplaceTask: the newest wins, and the one that ran is told why.
func TestReplaceTask(t *testing.T) {
	var p keeper
	var cause error
	bubble(t, ax.Config{}, func(a *ax.Scheduler) {
		a.Handle("index", p.handle(func(ctx context.Context, k *ax.Task) error {
			if string(k.Payload) == "v3" {
				return nil
			}
			<-ctx.Done()
			cause = context.Cause(ctx)
			time.Sleep(time.Second) // both newer ones wait for it
			return ctx.Err()
		}), ax.Timeout(time.Hour))
	}, func(x *fixture) {
		index := func(version string) ax.ID {
			return x.submit(ax.NewTask{Kind: "index", OverlapKey: "search", Overlap: ax.Replace,
				Payload: []byte(version), Delay: 1})
		}
		first := index("v1")
		time.Sleep(time.Minute)
		second, third := index("v2"), index("v3")
		time.Sleep(5 * time.Second)
		x.want(first, task.Canceled, task.ByRequest)
		x.want(second, task.Skipped, task.Superseded)
		x.want(third, task.Succeeded, 0)
		if !errors.Is(cause, ax.ErrCanceled) {
			t.Errorf("the context ended because of %v", cause)
		}
	})
}
