package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/ax-sched/ax"
)

// latencyCmd measures how late handlers start.
type latencyCmd struct {
	target  `embed:""`
	Rates   []int         `help:"Tasks due a second." default:"500,1500,3000"`
	For     time.Duration `help:"Length of each rate." default:"20s"`
	Submits int           `help:"Submits measured one by one." default:"500"`
	Beyond  int           `help:"Tasks due beyond the window." default:"10000"`
	Slots   int           `help:"Slots; default as the library." default:"0"`
}

func (c *latencyCmd) Run(ctx context.Context, e *Env) error {
	b := e.bencher(c.target)
	if c.Submits > 0 {
		if err := c.submitToStart(ctx, b); err != nil {
			return err
		}
	}
	for _, r := range c.Rates {
		if r < 1 {
			continue
		}
		err := c.fire(ctx, b, fmt.Sprintf("firing %d/s for %s", r, c.For), firing{
			n: int(float64(r) * c.For.Seconds()), first: 3 * time.Second, over: c.For})
		if err != nil {
			return err
		}
	}
	if c.Beyond > 0 {
		return c.fire(ctx, b, fmt.Sprintf("%d tasks beyond a window of 5s", c.Beyond), firing{
			n: c.Beyond, first: 30 * time.Second, over: time.Second, window: 5 * time.Second})
	}
	return nil
}

// submitToStart submits one task every 13 ms, a distance that meets every phase of a poll.
func (c *latencyCmd) submitToStart(ctx context.Context, b *bencher) error {
	st, done, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	a, err := ax.New(st, ax.Config{Slots: c.Slots, Logger: warnings()})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var l latencies
	started := make(chan struct{}, c.Submits)
	kind := kindOf("latency")
	err = a.Handle(kind, func(_ context.Context, t *ax.Task) error {
		d := time.Since(time.Unix(0, int64(binary.LittleEndian.Uint64(t.Payload))))
		mu.Lock()
		l = append(l, d)
		mu.Unlock()
		started <- struct{}{}
		return nil
	})
	if err != nil {
		return err
	}
	g := background(ctx, a)
	defer g.Stop(0)
	if err := pause(ctx, 500*time.Millisecond); err != nil {
		return err
	}
	for range c.Submits {
		payload := binary.LittleEndian.AppendUint64(nil, uint64(time.Now().UnixNano()))
		if _, err := a.Submit(ctx, ax.NewTask{Kind: kind, Payload: payload}); err != nil {
			return err
		}
		if err := pause(ctx, 13*time.Millisecond); err != nil {
			return err
		}
	}
	for range c.Submits {
		select {
		case <-started:
		case <-g.Failed():
			return g.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	b.spread("submit to start, one every 13 ms", l, "")
	return nil
}

// firing is a set of tasks that fall due evenly over some time.
type firing struct {
	n      int
	first  time.Duration // from the end of the submits
	over   time.Duration
	window time.Duration // Config.Window; 0: the default
}

// fire lets tasks fall due and measures start minus due by this host's clock, which is the
// store's too where the database runs on the same machine.
func (c *latencyCmd) fire(ctx context.Context, b *bencher, name string, f firing) error {
	st, done, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	a, err := ax.New(st, ax.Config{Slots: c.Slots, Window: f.window,
		Logger: warnings()})
	if err != nil {
		return err
	}
	rec := newFired(f.n)
	kind := kindOf("fire")
	err = a.Handle(kind, func(_ context.Context, t *ax.Task) error {
		rec.add(int(binary.LittleEndian.Uint64(t.Payload)), time.Since(t.RunAt))
		return nil
	})
	if err != nil {
		return err
	}
	start := time.Now().Add(f.first + time.Duration(f.n/20)*time.Millisecond)
	for i := 0; i < f.n; i += 1000 {
		ts := make([]ax.NewTask, min(1000, f.n-i))
		for k := range ts {
			at := start.Add(f.over * time.Duration(i+k) / time.Duration(f.n))
			ts[k] = ax.NewTask{Kind: kind, RunAt: at,
				Payload: binary.LittleEndian.AppendUint64(nil, uint64(i+k))}
		}
		if _, err := a.SubmitMany(ctx, ts); err != nil {
			return err
		}
	}
	if time.Until(start) < time.Second {
		return fmt.Errorf("%s: submitting took too long for this rate", name)
	}
	defer background(ctx, a).Stop(0)
	rec.wait(ctx, time.Until(start)+f.over+30*time.Second)
	l, early, missing, twice := rec.sum()
	b.spread(name+", start minus due", l, fmt.Sprintf("early %d, missing %d, twice %d", early,
		missing, twice))
	if early+missing+twice > 0 {
		return fmt.Errorf("%s: early %d, missing %d, twice %d", name, early, missing, twice)
	}
	return nil
}

// fired collects starts by task number.
type fired struct {
	mu    sync.Mutex
	late  latencies
	times []int
	left  int
	all   chan struct{}
}

func newFired(n int) *fired {
	return &fired{times: make([]int, n), left: n, all: make(chan struct{})}
}

func (f *fired) add(i int, late time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late = append(f.late, late)
	if f.times[i]++; f.times[i] == 1 {
		if f.left--; f.left == 0 {
			close(f.all)
		}
	}
}

func (f *fired) wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-f.all:
	case <-t.C:
	case <-ctx.Done():
	}
}

func (f *fired) sum() (l latencies, early, missing, twice int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.late {
		if d < 0 {
			early++
		}
	}
	for _, n := range f.times {
		switch {
		case n == 0:
			missing++
		case n > 1:
			twice++
		}
	}
	return append(l, f.late...), early, missing, twice
}
