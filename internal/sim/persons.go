package sim

import (
	"bytes"
	"context"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/task"
)

// persons is what people do until the end of the run: they decide about what is held, and in the
// half with faults they also retry, trigger and reschedule tasks.
func (w *world) persons() {
	d := roll(w.seed, "persons")
	for {
		pause(context.Background(), d.between(500*time.Millisecond, 2*time.Second))
		select {
		case <-w.over:
			return
		default:
		}
		w.lock()
		held, some, healed := w.firstHeld(), task.ID{}, w.healed
		if n := len(w.ids); n > 0 {
			some = w.ids[n-1-d.IntN(min(n, 10))]
		}
		w.mu.Unlock()
		if !held.IsZero() {
			as := oneOf(d, ax.AnswerRerun, ax.AnswerRerun, ax.AnswerSucceeded, ax.AnswerDead)
			w.person(d, "resolve "+string(as), held, func(ctx context.Context, a *ax.Scheduler,
				by ax.By) error {
				return a.Resolve(ctx, held, as, by)
			})
		}
		if !some.IsZero() && !healed && d.chance(0.4) {
			w.wish(d, some)
		}
	}
}

// firstHeld returns the oldest task in HELD. The lock is held.
func (w *world) firstHeld() (id task.ID) {
	for h := range w.c.held {
		if id.IsZero() || bytes.Compare(h[:], id[:]) < 0 {
			id = h
		}
	}
	return id
}

// wish asks for something; what the task's state does not allow is refused.
func (w *world) wish(d dice, id task.ID) {
	at := time.Now().Add(d.between(-2*time.Second, 8*time.Second))
	switch d.IntN(3) {
	case 0:
		w.person(d, "retry", id, func(ctx context.Context, a *ax.Scheduler, by ax.By) error {
			return a.Retry(ctx, id, by)
		})
	case 1:
		w.person(d, "trigger", id, func(ctx context.Context, a *ax.Scheduler, by ax.By) error {
			return a.Trigger(ctx, id, by)
		})
	case 2:
		w.person(d, "reschedule", id, func(ctx context.Context, a *ax.Scheduler, by ax.By) error {
			return a.Reschedule(ctx, id, at, by)
		})
	}
}

func (w *world) person(d dice, what string, id task.ID,
	do func(context.Context, *ax.Scheduler, ax.By) error) {
	w.attempt(d, func(ctx context.Context, p *process) error {
		err := do(ctx, p.ax, ax.By{Actor: "sim", Reason: what})
		w.lock()
		defer w.mu.Unlock()
		w.log(p, "%s %s: %v", what, id, err)
		return err
	})
}
