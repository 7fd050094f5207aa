package sim

import (
	"context"
	"time"
)

// link is the way from one process to the store, where things go wrong. All roles of a store use
// it through reach.
type link struct {
	w *world
	p *process
}

// busyRate is how many calls a second a process may make: more is a loop that does not wait.
const busyRate = 1500

// fate is what a call will meet.
type fate struct {
	there, back time.Duration // latency
	before      bool          // an error before the store saw it
	after       bool          // the answer is lost
	stuck       time.Duration // the call hangs for so long
	sent        bool          // a context that ends on the way does not stop it
	kill        bool
	killAfter   bool
}

// reach carries one call to the store and its answer back. f runs under the world's lock, and
// takes no time.
func reach[T any](ctx context.Context, l *link, op string,
	f func(context.Context) (T, error)) (T, error) {
	var none T
	fate, err := l.draw(op)
	if err != nil {
		return none, err
	}
	if err := l.send(ctx, op, fate); err != nil {
		return none, err
	}
	l.w.lock()
	if l.p.over {
		l.w.mu.Unlock()
		return none, errCrash
	}
	v, err := f(context.WithoutCancel(ctx))
	l.w.mu.Unlock()
	if lost := l.answer(ctx, op, fate); lost != nil {
		return none, lost
	}
	return v, err
}

// draw decides what the call will meet.
func (l *link) draw(op string) (fate, error) {
	w, p := l.w, l.p
	w.lock()
	defer w.mu.Unlock()
	if p.over {
		return fate{}, errCrash
	}
	p.calls++
	if second := int(w.elapsed() / time.Second); second != p.second {
		p.second, p.rate = second, 0
	}
	if p.rate++; p.rate > busyRate {
		w.c.fail("LOOP", "process %s makes more than %d calls in a second, now %s", p.name,
			busyRate, op)
		w.kill(p, "a loop that does not wait")
		return fate{}, errCrash
	}
	d := p.dice
	f := fate{there: d.between(20*time.Microsecond, 600*time.Microsecond),
		back: d.between(20*time.Microsecond, 600*time.Microsecond)}
	if w.healed {
		return f, nil
	}
	f.before, f.after, f.sent = d.chance(w.weather.before), d.chance(w.weather.after), d.chance(0.5)
	if op == "due" && w.weather.stale && d.chance(0.6) {
		w.c.count(oldPage)
		f.back += d.between(100*time.Millisecond, 3*time.Second)
	}
	if d.chance(w.weather.slow) {
		w.c.count(slowCall)
		w.hit(p, op)
		slow := d.between(10*time.Millisecond, 3*time.Second)
		if d.chance(0.5) {
			f.there += slow
		} else {
			f.back += slow
		}
	}
	if d.chance(w.weather.stuck) {
		w.c.count(stuckCall)
		w.hit(p, op)
		w.log(p, "%s: %s", stuckCall, op)
		f.stuck = d.between(5*time.Second, 100*time.Second)
	}
	if p.crashAt != 0 && p.calls >= p.crashAt {
		f.kill, f.killAfter = !p.crashAfter, p.crashAfter
	}
	return f, nil
}

// send is the way to the store. An error means that the store has not seen the call.
func (l *link) send(ctx context.Context, op string, f fate) error {
	if f.kill {
		l.fatal(crashBefore)
		return errCrash
	}
	if err := l.travel(ctx, f.there); err != nil {
		if !f.sent || err == errCrash {
			return err
		}
		l.note(sentOnly, op)
	}
	l.p.standStill()
	if f.stuck > 0 {
		l.hang(ctx, f.stuck)
		return errDown
	}
	if err := l.weather(ctx, op); err != nil {
		return err
	}
	if f.before {
		l.note(errBefore, op)
		return errDown
	}
	return nil
}

// hang waits for an answer that does not come, until the context ends or the connection is found
// dead.
func (l *link) hang(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.w.heal:
	case <-l.p.gone:
	case <-ctx.Done():
	}
	l.p.standStill()
}

// weather is what an outage does to a call: it is refused at once, or hangs until the outage ends.
func (l *link) weather(ctx context.Context, op string) error {
	for o := l.outage(); o.until != 0; o = l.outage() {
		if !o.hang {
			if err := l.travel(ctx, time.Duration(1+len(op))*time.Millisecond); err != nil {
				return err
			}
			return errDown
		}
		if err := l.travel(ctx, min(o.until-l.w.elapsed(), 500*time.Millisecond)); err != nil {
			return err
		}
	}
	return nil
}

// answer is the way back. An error means that the process does not learn the answer.
func (l *link) answer(ctx context.Context, op string, f fate) error {
	if f.killAfter {
		l.fatal(crashAfter)
		return errCrash
	}
	l.p.standStill()
	if err := l.travel(ctx, f.back); err != nil {
		return err
	}
	l.p.standStill()
	if f.after {
		l.note(errAfter, op)
		return errLost
	}
	return nil
}

// travel takes time, unless the context ends or the process dies before.
func (l *link) travel(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-l.p.gone:
		return errCrash
	case <-ctx.Done():
		l.p.standStill()
		return ctx.Err()
	}
}

func (l *link) outage() outage {
	l.w.lock()
	defer l.w.mu.Unlock()
	for _, o := range []outage{l.w.down, l.p.down} {
		if o.until > l.w.elapsed() {
			l.w.trouble(l.p)
			l.w.c.sent[l.p] = o.until
			l.w.c.quiet = o.until
			return o
		}
	}
	return outage{}
}

func (l *link) fatal(what string) {
	l.w.lock()
	defer l.w.mu.Unlock()
	l.w.kill(l.p, what)
}

// note counts a fault that has hit a call.
func (l *link) note(what, op string) {
	l.w.lock()
	defer l.w.mu.Unlock()
	l.w.c.count(what)
	if what == errAfter {
		l.w.c.count("answer lost: " + op)
	}
	l.w.hit(l.p, op)
	l.w.log(l.p, "%s: %s", what, op)
}
