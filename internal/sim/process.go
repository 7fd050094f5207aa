package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ax-sched/ax"
)

var quiet = slog.New(slog.DiscardHandler)

// process is one start of a scheduler.
type process struct {
	w      *world
	name   string
	nodeID string
	ax     *ax.Scheduler
	cancel context.CancelFunc
	gone   chan struct{} // closed when it dies

	// Guarded by the world's lock.
	dice       dice // for its calls
	clock      nodeClock
	over       bool // it is dead, or has ended
	overAt     time.Duration
	stopping   bool
	lasted     bool // it lived when everything was done
	stopAt     time.Duration
	still      chan struct{} // while it is paused; closed when it goes on
	down       outage
	calls      int
	second     int // of the last call, and how many there were in it
	rate       int
	crashAt    int // the number of the call at which it dies; 0: none
	crashAfter bool
}

// keep starts a node, and starts it again when it has ended, until the run is over.
func (w *world) keep(node int) {
	d := roll(w.seed, "node", node)
	name := fmt.Sprintf("n%d", node)
	for n := 0; ; n++ {
		w.life(node, n, name)
		select {
		case <-w.over:
			return
		default:
		}
		down := d.about(3 * time.Second)
		if d.chance(0.3) {
			down = 0
		}
		w.sleep(down)
		what := sameName
		if d.chance(0.3) {
			what, name = otherName, fmt.Sprintf("n%d.%d", node, n+1)
		}
		w.lock()
		w.c.count(what)
		w.mu.Unlock()
	}
}

// life is one process from its start to its end.
func (w *world) life(node, n int, name string) {
	d := roll(w.seed, "process", node, n)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p := &process{w: w, name: fmt.Sprintf("%d/%d", node, n), nodeID: name, cancel: cancel,
		gone: make(chan struct{}), dice: roll(w.seed, "calls", node, n)}
	p.clock.start = w.start
	p.clock.off.Store(int64(d.between(-10*time.Minute, 10*time.Minute)))
	cfg := w.cfg
	cfg.NodeID, cfg.Seed = name, d.Uint64()|1
	cfg.Clock = p.clock.reading
	if err := p.make(cfg); err != nil {
		w.ended(p, fmt.Errorf("start: %w", err))
		return
	}
	w.lock()
	w.alive = append(w.alive, p)
	w.c.disturbed()
	w.c.sent[p] = w.c.at
	w.log(p, "starts as %s", name)
	w.mu.Unlock()
	w.spawn(func() { p.putJobs(ctx) })
	w.ended(p, p.ax.Run(ctx))
}

// ended is told that a process has returned from Run: its handlers end with it.
func (w *world) ended(p *process, err error) {
	w.lock()
	defer w.mu.Unlock()
	for i, o := range w.alive {
		if o == p {
			w.alive = append(w.alive[:i], w.alive[i+1:]...)
			break
		}
	}
	if err != nil {
		w.c.fail("O07", "process %s ended by itself: %v", p.name, err)
	}
	if !p.over {
		w.log(p, "has ended, %d handlers end with it", len(w.c.running(p)))
		w.bury(p)
	}
}

// bury ends a process. The lock is held.
func (w *world) bury(p *process) {
	p.overAt = w.elapsed()
	w.c.died(p)
	p.resume()
	close(p.gone)
}

// kill ends a process as a crash does. Its goroutines are told to end only because they have to:
// nothing of what they do from now on counts. The lock is held.
func (w *world) kill(p *process, what string) {
	if p.over {
		return
	}
	w.c.count(what)
	w.log(p, "%s: %d handlers run", what, len(w.c.running(p)))
	for i, o := range w.alive {
		if o == p {
			w.alive = append(w.alive[:i], w.alive[i+1:]...)
			break
		}
	}
	w.bury(p)
	p.cancel()
}

// stop tells a process to end gracefully. The lock is held.
func (w *world) stop(p *process) {
	if p.stopping || p.over {
		return
	}
	w.log(p, "is told to stop, %d handlers run", len(w.c.running(p)))
	p.stopping, p.stopAt = true, w.elapsed()
	p.cancel()
}

// pause makes a process stand still for a while. The lock is held.
func (w *world) pause(p *process, d time.Duration) {
	if p.still != nil {
		return
	}
	still := make(chan struct{})
	p.still = still
	w.trouble(p)
	w.spawn(func() {
		w.sleep(d)
		w.lock()
		defer w.mu.Unlock()
		if p.still == still {
			p.resume()
			w.trouble(p)
			w.log(p, "goes on")
		}
	})
}

// resume ends a pause. The lock is held.
func (p *process) resume() {
	if p.still != nil {
		close(p.still)
		p.still = nil
	}
}

// standStill waits while the process is paused.
func (p *process) standStill() {
	for {
		p.w.mu.Lock()
		still := p.still
		p.w.mu.Unlock()
		if still == nil {
			return
		}
		<-still
		p.w.lock()
		p.w.trouble(p)
		p.w.mu.Unlock()
	}
}

// anyAlive picks a process, or nil. The lock is held.
func (w *world) anyAlive(d dice) *process {
	if len(w.alive) == 0 {
		return nil
	}
	return w.alive[d.IntN(len(w.alive))]
}

// make builds the scheduler of the process.
func (p *process) make(cfg ax.Config) error {
	a, err := ax.New(&link{p.w, p}, cfg)
	if err != nil {
		return err
	}
	p.ax = a
	var errs []error
	for _, k := range kinds {
		if k.name == lateKind {
			p.w.mu.Lock()
			healed := p.w.healed
			p.w.mu.Unlock()
			if !healed {
				continue // registered by the first DelayFunc
			}
		}
		opts := []ax.HandleOption{ax.MaxRetries(k.max), ax.Retry(k.retry), ax.Timeout(k.timeout)}
		if k.once {
			opts = append(opts, ax.AtMostOnce())
		}
		if k.limit > 0 {
			opts = append(opts, ax.Concurrency(k.limit))
		}
		errs = append(errs, a.Handle(k.name, p.handle, opts...))
	}
	return errors.Join(errs...)
}
