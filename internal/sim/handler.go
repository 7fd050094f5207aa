package sim

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/ax-sched/ax"
)

// script is what one attempt of a task does.
type script struct {
	work  time.Duration
	obeys bool // ends when its context does
	end   verdict
	kills bool // takes its process down
}

// poison is the payload of a task whose handlers take their process down.
const poison = "poison"

// lastTrick is the attempt from which on every handler succeeds at once, so that runs end.
const lastTrick = 7

// written decides what an attempt does: by what the task is and how often it was tried, whenever
// and wherever it runs.
func (w *world) written(t *ax.Task) script {
	label := string(t.Payload)
	if t.Job != "" {
		label = t.Job + t.FireTime.String()
	}
	every := roll(w.seed, "task", label)
	d := roll(w.seed, "attempt", label, t.Attempt)
	s := script{work: d.about(150 * time.Millisecond), obeys: true}
	if t.Kind == "long" {
		s.work = d.between(2*time.Second, 25*time.Second)
	}
	if t.Attempt >= lastTrick || w.hurry && t.Job != "" { // queues of jobs have to come to an end
		return s
	}
	switch mood := every.Float64(); {
	case string(t.Payload) == poison:
		s.kills = true
	case t.Kind == lateKind:
		if t.Attempt == 1 && mood < 0.2 {
			s.end.kind = fails
		}
	case mood < 0.45: // succeeds
	case mood < 0.60: // succeeds after some failures
		if t.Attempt <= 1+every.IntN(3) {
			s.end.kind = oneOf(d, fails, panics, exits, fails)
		}
	case mood < 0.66: // never succeeds
		s.end.kind = oneOf(d, fails, fails, panics)
	case mood < 0.80: // hangs
		s.work = policyOfKind(t.Kind) + d.between(10*time.Millisecond, 2*w.cfg.ZombieWait)
		s.obeys = d.chance(0.5)
		s.end.kind = oneOf(d, succeeds, fails, fails)
	case mood < 0.86:
		s.end = verdict{snoozes, d.between(0, 3*time.Second).Truncate(time.Millisecond)}
	case mood < 0.90:
		s.end.kind = releases
	case mood < 0.94:
		s.end = verdict{retriesIn, d.between(0, 3*time.Second).Truncate(time.Millisecond)}
	case mood < 0.97:
		s.end.kind = permanent
	default:
		s.end.kind = cancels
	}
	if t.Job != "" && every.chance(0.3) {
		s.work += d.between(0, 4*time.Second) // longer than some periods: fires overlap
	}
	return s
}

// policyOfKind is how long a handler of the kind may take; one without a limit takes 5 s here.
func policyOfKind(name string) time.Duration {
	if t := kindOf(name).timeout; t > 0 && t < 10*time.Second {
		return t
	}
	return 5 * time.Second
}

// handle is the handler of all kinds.
func (p *process) handle(ctx context.Context, t *ax.Task) error {
	w := p.w
	s := w.written(t)
	w.lock()
	if p.over {
		w.mu.Unlock()
		return errCrash
	}
	x := w.c.begun(p, t, w.clock.now())
	w.log(p, "handler of %s (%s %s) attempt %d execution %s begins", t.ID, t.Kind, t.Job, t.Attempt,
		t.ExecutionID)
	if w.hurry {
		s.work = min(s.work, 50*time.Millisecond)
	}
	if s.kills && !w.healed && x != nil {
		w.kill(p, crashHandler)
	}
	w.mu.Unlock()
	if x == nil {
		return nil
	}
	ax.Progress(ctx, 1, 2)
	ax.Logger(ctx).Info(lineBegins)
	told := func() {
		w.lock()
		defer w.mu.Unlock()
		w.c.toldToStop(x, context.Cause(ctx))
	}
	stop := context.AfterFunc(ctx, told)
	defer stop()
	cut := p.toil(ctx, s)
	p.standStill()
	w.lock()
	if p.over {
		w.mu.Unlock()
		return errCrash
	}
	if ctx.Err() != nil {
		w.c.toldToStop(x, context.Cause(ctx))
	}
	if cut {
		s.end = verdict{kind: fails}
	}
	w.c.finished(x, s.end)
	w.log(p, "handler of %s execution %s ends: %s (cut short: %v)", t.ID, t.ExecutionID,
		s.end.kind, cut)
	w.mu.Unlock()
	if err := p.speak(ctx, t, s.end); err != nil {
		return err
	}
	return s.end.deliver()
}

// The lines that each handler logs.
const (
	lineBegins = "begins"
	lineEnds   = "ends: "
)

// speak says the last words of a handler.
func (p *process) speak(ctx context.Context, t *ax.Task, v verdict) error {
	ax.Progress(ctx, 2, 2)
	ax.Logger(ctx).Info(lineEnds + v.kind.String())
	return ax.Output(ctx, []byte(t.ExecutionID.String()))
}

// toil works, and reports whether it ended because the context did.
func (p *process) toil(ctx context.Context, s script) (cut bool) {
	t := time.NewTimer(s.work)
	defer t.Stop()
	done := ctx.Done()
	if !s.obeys {
		done = nil
	}
	select {
	case <-t.C:
	case <-p.gone:
	case <-done:
		return true
	}
	return false
}

var errWork = errors.New("simulated: the work failed")

// deliver ends the handler in the way of the verdict.
func (v verdict) deliver() error {
	switch v.kind {
	case fails:
		return errWork
	case permanent:
		return ax.Permanent(errWork)
	case retriesIn:
		return ax.RetryIn(v.delay, errWork)
	case panics:
		panic("simulated panic")
	case exits:
		runtime.Goexit()
	case snoozes:
		return ax.Snooze(v.delay)
	case releases:
		return ax.Release()
	case cancels:
		return ax.Cancel(errWork)
	}
	return nil
}
