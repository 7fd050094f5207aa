package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
)

// draft makes the jobs that every process puts when it starts.
func (w *world) draft() {
	d := roll(w.seed, "jobs")
	for n := range d.IntN(5) {
		name := fmt.Sprintf("job%d", n)
		w.specs[name] = w.spec(d, name)
	}
}

// spec draws a definition.
func (w *world) spec(d dice, name string) ax.JobSpec {
	s := ax.JobSpec{Name: name, Kind: tickKind, Overlap: oneOf(d, ax.Skip, ax.Skip, ax.Allow, ax.Queue,
		ax.Replace),
		Priority: oneOf(d, 0, ax.Critical, ax.High, ax.Low)}
	how := d.IntN(5)
	switch how {
	case 0, 1:
		s.Schedule = ax.Every(d.between(time.Second, 7*time.Second).Truncate(time.Millisecond))
	case 2:
		s.Schedule = ax.Cron(oneOf(d, "* * * * * *", "*/3 * * * * *", "7/10 * * * * *", "H/20 * * * * *"))
	case 3:
		s.Schedule = ax.After(d.between(300*time.Millisecond, 4*time.Second).Truncate(time.Millisecond))
	case 4:
		// Not a past instant: the clocks of the nodes are wrong, and PutJob of an instant that
		// has passed is refused or accepted by the clock of whoever asks.
		s.Schedule = ax.At(time.Now().Add(d.between(20*time.Second, 60*time.Second)))
	}
	w.policies(d, &s, how < 3)
	return s
}

// putJobs puts all jobs, as a replica of a service does when it starts.
func (p *process) putJobs(ctx context.Context) {
	p.w.mu.Lock()
	var specs []ax.JobSpec
	for n := range 8 {
		if s, ok := p.w.specs[fmt.Sprintf("job%d", n)]; ok {
			specs = append(specs, s)
		}
	}
	p.w.mu.Unlock()
	for _, s := range specs {
		for ctx.Err() == nil {
			err := p.ax.PutJob(ctx, s)
			var input *ax.InputError
			if err == nil || errors.As(err, &input) {
				break
			}
			if !pause(ctx, 300*time.Millisecond) {
				return
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// submits is everything that clients do in the half with faults, at instants drawn at the start.
func (w *world) submits() {
	d := roll(w.seed, "submits")
	every := d.between(300*time.Millisecond, 2*time.Second)
	if w.weather.poison {
		seed := d.Uint64()
		w.spawn(func() { w.submit(seed, ax.NewTask{Kind: "quick", Payload: []byte(poison)}) })
	}
	for n := 0; w.sleep(d.about(every)); n++ {
		seed := d.Uint64()
		w.spawn(func() { w.client(seed, n) })
	}
}

// client does one thing.
func (w *world) client(seed uint64, n int) {
	d := roll(seed, "client")
	switch x := d.Float64(); {
	case x < 0.62:
		w.submit(seed, w.newTask(d, fmt.Sprintf("s%d", n)))
	case x < 0.70: // several at once with one key
		t := w.newTask(d, fmt.Sprintf("s%d", n))
		t.Key, t.ID = fmt.Sprintf("burst%d", n), ax.ID{}
		for range 2 + d.IntN(4) {
			seed := d.Uint64()
			w.spawn(func() { w.submit(seed, t) })
		}
	case x < 0.76:
		w.many(d, n)
	case x < 0.86:
		w.cancel(d)
	case x < 0.92:
		w.lateSubmit(d, n)
	case x < 0.96:
		w.changeJob(d)
	default:
		w.actOnJob(d, n)
	}
}

// newTask draws a task. Its payload is what its handlers go by.
func (w *world) newTask(d dice, label string) ax.NewTask {
	t := ax.NewTask{Kind: oneOf(d, "quick", "quick", "flaky", "flaky", "narrow", "long"),
		Payload: []byte(label), Priority: oneOf(d, 0, 0, ax.Critical, ax.High, ax.Normal, ax.Low)}
	switch {
	case d.chance(0.4):
		t.Delay = d.about(4 * time.Second)
	case d.chance(0.15):
		t.RunAt = time.Now().Add(d.between(-5*time.Second, 15*time.Second))
	}
	if d.chance(0.3) {
		t.Key = fmt.Sprintf("key%d", d.IntN(4))
		t.Unique = oneOf(d, ax.UniqueLive, ax.UniqueLive, ax.UniqueFor(time.Second),
			ax.UniqueFor(10*time.Second))
		if d.chance(0.2) {
			t.Key, t.Unique = fmt.Sprintf("once%d", d.IntN(9)), ax.UniqueForever
		}
	}
	if d.chance(0.5) {
		// A caller that keeps its own ids may repeat a submit by id.
		var random [10]byte
		for i := range random {
			random[i] = byte(d.Uint32())
		}
		t.ID = task.NewID(time.Now().UnixMilli(), random)
	}
	if d.chance(0.15) {
		t.MaxRetries = ax.Int(d.IntN(3))
	}
	if d.chance(0.1) && t.Kind != "long" {
		t.Timeout = d.between(500*time.Millisecond, 3*time.Second).Truncate(time.Millisecond)
	}
	if d.chance(0.2) {
		t.Retry = &retry.Policy{Kind: retry.List, DelaysMS: []int64{0, 100, 2000}}
	}
	if d.chance(0.2) {
		t.OverlapKey = fmt.Sprintf("lock%d", d.IntN(3))
		t.Overlap = oneOf(d, 0, ax.Queue, ax.Queue, ax.Skip, ax.Replace)
	}
	switch x := d.Float64(); {
	case x < 0.08:
		t.Kind, t.MaxRetries = onceKind, nil
	case x < 0.13:
		t.AtMostOnce, t.MaxRetries = true, nil
	case x < 0.18:
		t.OnUnknown = ax.HoldUnknown
	case x < 0.22:
		t.ExpiresAt = time.Now().Add(d.between(time.Second, 20*time.Second))
	case x < 0.25:
		t.MaxLateness = d.between(500*time.Millisecond, 5*time.Second)
	}
	return t
}

// attempt calls f on one process after another until one answers without an error.
func (w *world) attempt(d dice, f func(context.Context, *process) error) {
	for range 5 {
		w.lock()
		p := w.anyAlive(d)
		w.mu.Unlock()
		if p != nil {
			ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
			err := f(ctx, p)
			cancel()
			var input *ax.InputError
			if err == nil || errors.Is(err, ax.ErrConflict) || errors.Is(err, ax.ErrNotFound) ||
				errors.As(err, &input) {
				return
			}
		}
		pause(context.Background(), d.between(time.Millisecond, 2*time.Second))
	}
}

func (w *world) submit(seed uint64, t ax.NewTask) {
	w.attempt(roll(seed, "submit"), func(ctx context.Context, p *process) error {
		res, err := p.ax.Submit(ctx, t)
		w.acknowledged(p, []ax.Result{res}, err)
		return err
	})
}

func (w *world) many(d dice, n int) {
	ts := make([]ax.NewTask, 2+d.IntN(12))
	for i := range ts {
		ts[i] = w.newTask(d, fmt.Sprintf("m%d.%d", n, i))
	}
	w.attempt(d, func(ctx context.Context, p *process) error {
		res, err := p.ax.SubmitMany(ctx, ts)
		w.acknowledged(p, res, err)
		return err
	})
}

// lateSubmit uses a kind whose handler may not be registered yet.
func (w *world) lateSubmit(d dice, n int) {
	label, delay := fmt.Sprintf("l%d", n), d.about(3*time.Second)
	w.attempt(d, func(ctx context.Context, p *process) error {
		res, err := p.ax.DelayFunc(ctx, lateKind, label, delay, []byte(label), p.handle)
		w.acknowledged(p, []ax.Result{res}, err)
		return err
	})
}

// acknowledged is told of the answer to a submit.
func (w *world) acknowledged(p *process, res []ax.Result, err error) {
	w.lock()
	defer w.mu.Unlock()
	if err != nil {
		w.log(p, "submit: %v", err)
		return
	}
	for _, r := range res {
		w.c.ack(r.ID)
		w.ids = append(w.ids, r.ID)
	}
}

func (w *world) cancel(d dice) {
	w.lock()
	var id task.ID
	if n := len(w.ids); n > 0 {
		id = w.ids[n-1-d.IntN(min(n, 6))]
	}
	w.mu.Unlock()
	if id.IsZero() {
		return
	}
	w.attempt(d, func(ctx context.Context, p *process) error {
		err := p.ax.Cancel(ctx, id, ax.By{Actor: "sim", Reason: "changed my mind"})
		w.lock()
		defer w.mu.Unlock()
		w.log(p, "cancel %s: %v", id, err)
		if err == nil {
			w.c.ackCancel(id)
		}
		return err
	})
}

// changeJob replaces, repeats or deletes a definition.
func (w *world) changeJob(d dice) {
	name := fmt.Sprintf("job%d", d.IntN(5))
	w.mu.Lock()
	s, ok := w.specs[name]
	what := d.IntN(3)
	if !ok || what == 0 {
		s = w.spec(d, name)
		what = 0
	}
	if what == 1 {
		delete(w.specs, name)
	} else {
		w.specs[name] = s
	}
	w.mu.Unlock()
	w.attempt(d, func(ctx context.Context, p *process) error {
		if what == 1 {
			return p.ax.DeleteJob(ctx, name)
		}
		return p.ax.PutJob(ctx, s)
	})
}
