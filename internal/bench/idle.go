package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ax-sched/ax"
)

// idleCmd measures what a scheduler costs while many tasks wait for their time.
type idleCmd struct {
	target `embed:""`
	Tasks  int           `help:"Waiting tasks, due over days." short:"n" default:"1000000"`
	For    time.Duration `help:"How long to watch." default:"20s"`
}

func (c *idleCmd) Run(ctx context.Context, e *Env) error {
	b := e.bencher(c.target)
	b.Runs = 1
	st, done, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	counted := &countingStore{Store: st}
	a, err := ax.New(counted, ax.Config{Logger: warnings()})
	if err != nil {
		return err
	}
	kind := kindOf("idle")
	if err := c.fill(ctx, a, kind); err != nil {
		return err
	}
	ready := make(chan struct{})
	err = a.Handle(kind+".now", func(context.Context, *ax.Task) error {
		close(ready)
		return nil
	})
	if err != nil {
		return err
	}
	if err := a.Handle(kind, func(context.Context, *ax.Task) error { return nil }); err != nil {
		return err
	}
	if _, err := a.Submit(ctx, ax.NewTask{Kind: kind + ".now"}); err != nil {
		return err
	}
	start := time.Now()
	g := background(ctx, a)
	defer g.Stop(0)
	select {
	case <-ready:
	case <-g.Failed():
		return g.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
	b.print(figure{Name: fmt.Sprintf("start to ready with %d waiting tasks", c.Tasks),
		Value: time.Since(start).Seconds(), Unit: "s"})
	if err := pause(ctx, 5*time.Second); err != nil { // the window is being read
		return err
	}
	cpu, calls := cpuTime(), counted.n.Load()
	if err := pause(ctx, c.For); err != nil {
		return err
	}
	b.print(figure{Name: "CPU while idle", Unit: "% core",
		Value: 100 * (cpuTime() - cpu).Seconds() / c.For.Seconds()})
	b.print(figure{Name: "statements while idle", Unit: "1/s",
		Value: float64(counted.n.Load()-calls) / c.For.Seconds()})
	if mb, ok := resident(); ok {
		b.print(figure{Name: "resident memory", Value: mb, Unit: "MB"})
	}
	return nil
}

// fill stores tasks that are due from ten minutes to ten days from now.
func (c *idleCmd) fill(ctx context.Context, a *ax.Scheduler, kind string) error {
	for i := 0; i < c.Tasks; i += 1000 {
		ts := make([]ax.NewTask, min(1000, c.Tasks-i))
		for k := range ts {
			at := 10*time.Minute + time.Duration(i+k)*(240*time.Hour/time.Duration(c.Tasks))
			ts[k] = ax.NewTask{Kind: kind, Delay: at}
		}
		if _, err := a.SubmitMany(ctx, ts); err != nil {
			return err
		}
	}
	return nil
}

// cpuTime is what this process has used so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident reads the memory of this process where the system shows it.
func resident() (float64, bool) {
	f, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	words := strings.Fields(string(f))
	if len(words) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseFloat(words[1], 64)
	return pages * float64(os.Getpagesize()) / 1e6, err == nil
}
