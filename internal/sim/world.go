package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// backing is the store behind the links.
type backing = *memory.Store

// world is one run: everything that the goroutines of the bubble share. The lock guards all of
// it and the checker; nobody waits for anything else while holding it.
type world struct {
	seed    uint64
	start   time.Time
	weather weather
	cfg     ax.Config // without NodeID, Clock and Seed
	nodes   int
	long    time.Duration // of the half with faults

	mu      sync.Mutex
	st      backing
	clock   storeClock
	c       *checker
	trace   []event
	down    outage
	stepped time.Duration // when the store's clock was set back last
	healed  bool
	hurry   bool          // handlers end at once, so that the run does
	heal    chan struct{} // closed when healed is set
	over    chan struct{} // closed when nodes shall not start again
	alive   []*process
	specs   map[string]ax.JobSpec // the jobs every process puts when it starts
	ids     []task.ID             // of tasks that were submitted, for cancels
	work    sync.WaitGroup        // all goroutines of the simulation itself
}

// outcome is what a run has shown.
type outcome struct {
	seed  uint64
	bad   []violation
	seen  map[string]int
	trace []event
	tasks int
}

// text prints violations and the trace.
func (o outcome) text() string {
	var b strings.Builder
	for _, v := range o.bad {
		fmt.Fprintln(&b, v)
	}
	fmt.Fprintln(&b, "--- trace")
	for _, e := range o.trace {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

// newWorld draws everything that a seed decides at the start. It is called inside the bubble.
func newWorld(seed uint64) *world {
	d := roll(seed, "world")
	w := &world{seed: seed, start: time.Now(), nodes: 1 + d.IntN(3), specs: map[string]ax.JobSpec{},
		heal: make(chan struct{}), over: make(chan struct{})}
	calm := seed%10 == 0
	if !calm {
		w.weather = forecast(d)
	}
	w.long = d.between(25*time.Second, 60*time.Second)
	if d.chance(0.05) {
		w.long = 150 * time.Second // room for the longest pauses
	}
	ttl := d.between(2*time.Second, 8*time.Second)
	w.cfg = ax.Config{Slots: oneOf(d, 3, 5, 8, 32, 256),
		Tick:   oneOf[time.Duration](d, 1, 5, 20) * time.Millisecond,
		Window: oneOf[time.Duration](d, 1, 5, 30, 300) * time.Second,
		Poll:   d.between(500*time.Millisecond, 2*time.Second),
		Sweep:  d.between(500*time.Millisecond, 3*time.Second), ExecutorTTL: ttl, Heartbeat: ttl / 3,
		LeaseTTL: d.between(time.Second, 10*time.Second), Logger: quiet,
		Grace:      d.between(200*time.Millisecond, 4*time.Second),
		ZombieWait: d.between(time.Second, 5*time.Second)}
	w.cfg.Poll = min(w.cfg.Poll, w.cfg.Window/2) // a longer one is refused
	w.st = memory.New(memory.Options{Now: w.clock.now})
	r := rules{calm: calm, slots: w.cfg.Slots, executorTTL: ttl, heartbeat: w.cfg.Heartbeat,
		zombieWait: w.cfg.ZombieWait, limit: limitOf, policy: policyOf,
		late:  w.cfg.Poll + 25*time.Second, // a hanging call, the slow walk, pauses between tries
		stuck: 15*time.Second + 2*ttl + w.cfg.Sweep + w.cfg.LeaseTTL}
	if calm {
		r.late = w.cfg.Poll + 100*time.Millisecond
	}
	w.c = newChecker(r)
	return w
}

func (w *world) elapsed() time.Duration { return time.Since(w.start) }

// lock takes the lock and tells the checker the time.
func (w *world) lock() {
	w.mu.Lock()
	w.c.at = w.elapsed()
}

// log adds a line to the trace. The lock is held.
func (w *world) log(p *process, format string, args ...any) {
	who := ""
	if p != nil {
		who = p.name
	}
	w.trace = append(w.trace, event{w.elapsed(), who, format, args})
}

// trouble says that something is in the way of a process. The lock is held.
func (w *world) trouble(p *process) {
	w.c.sent[p] = w.c.at
	w.c.disturbed()
}

// hit says that a fault has met one call of a process. Its loops try again soon, so only what
// keeps the process a member is excused.
func (w *world) hit(p *process, op string) {
	if op == "renew member" || op == "register" {
		w.c.sent[p] = w.c.at
	}
}

// sleep waits until the time is over, or reports false when the run heals before.
func (w *world) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.heal:
		return false
	}
}

// spawn runs f on a goroutine that the run waits for.
func (w *world) spawn(f func()) { w.work.Go(f) }

// simulate runs a seed. It is called inside a bubble.
func simulate(seed uint64) outcome {
	w := newWorld(seed)
	w.draft()
	for n := range w.nodes {
		w.spawn(func() { w.keep(n) })
	}
	w.spawn(w.chaos)
	w.spawn(w.submits)
	w.spawn(w.watch)
	w.spawn(w.persons)
	time.Sleep(w.long)
	w.mend()
	w.drain()
	close(w.over)
	w.lock()
	for _, p := range w.alive {
		w.stop(p)
	}
	w.mu.Unlock()
	w.work.Wait()
	time.Sleep(time.Minute) // whatever still sleeps shows itself
	synctest.Wait()
	return w.finish()
}

// mend ends all faults.
func (w *world) mend() {
	w.lock()
	defer w.mu.Unlock()
	w.log(nil, "faults end")
	w.healed = true
	w.down = outage{}
	for _, p := range w.alive {
		p.down, p.crashAt = outage{}, 0
		p.resume()
		w.trouble(p)
	}
	w.c.disturbed()
	close(w.heal)
}

// register gives every process all handlers.
func (w *world) register() {
	w.lock()
	alive := slices.Clone(w.alive)
	w.mu.Unlock()
	for _, p := range alive {

		_, err := p.ax.DelayFunc(context.Background(), lateKind, "last", 0, nil, p.handle)
		w.lock()
		if err != nil {
			w.c.fail("O07", "process %s cannot submit after the faults: %v", p.name, err)
		}
		w.mu.Unlock()
	}
	w.lock()
	defer w.mu.Unlock()
	w.c.allKinds = true
	w.c.disturbed()
}

// drain lets the jobs go on for a while, then ends them and waits until everything has ended.
func (w *world) drain() {
	settle := 2*max(w.cfg.LeaseTTL, w.cfg.ExecutorTTL) + 10*time.Second
	time.Sleep(settle)
	w.register()
	w.lock()
	token := w.c.token
	w.mu.Unlock()
	time.Sleep(10 * time.Second)
	w.lock()
	if w.c.token != token || token == 0 {
		w.c.fail("I23", "no firm leader %v after the faults: token %d, then %d", settle, token,
			w.c.token)
	}
	w.c.owing(w.clock.now(), w.c.late)
	w.mu.Unlock()
	w.endJobs()
	const most = 150 * time.Second // for what hangs already, and for retries
	for began := w.elapsed(); w.elapsed()-began < most; {
		time.Sleep(500 * time.Millisecond)
		w.lock()
		n, _ := w.c.unfinished()
		w.mu.Unlock()
		if n == 0 {
			break
		}
	}
	w.lock()
	if n, one := w.c.unfinished(); n > 0 {
		w.c.fail("I23", "%d tasks have not ended, such as %s (%s %s, run_at %s)", n, one.ID,
			one.Kind, one.State, one.RunAt.Go().Format(time.TimeOnly))
	}
	w.mu.Unlock()
	w.baseline()
	w.lock()
	for _, p := range w.alive {
		p.lasted = !p.stopping
	}
	w.mu.Unlock()
}

// baseline checks that the memory of the nodes holds nothing once there is nothing to do (I21).
func (w *world) baseline() {
	var left string
	for range 90 {
		time.Sleep(time.Second)
		w.lock()
		alive := slices.Clone(w.alive)
		n, _ := w.c.unfinished()
		w.mu.Unlock()
		left = ""
		for _, p := range alive {
			left += inMemory(p.ax)
		}
		if left == "" || n > 0 {
			return
		}
	}
	w.lock()
	w.c.fail("I21", "all tasks have ended, but in memory are:%s", left)
	w.mu.Unlock()
}

// endJobs deletes all jobs.
func (w *world) endJobs() {
	for range 100 {
		w.lock()
		name := ""
		for _, j := range w.c.jobs {
			if j.DeletedAt == 0 {
				name = j.Name
			}
		}
		clear(w.specs)
		w.hurry = true
		p := w.anyAlive(roll(w.seed, "end"))
		w.mu.Unlock()
		if name == "" {
			return
		}
		if p != nil {
			// An error means that somebody else was faster; the next round looks again.
			_ = p.ax.DeleteJob(context.Background(), name)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// watch looks every second at what should have happened.
func (w *world) watch() {
	for {
		time.Sleep(time.Second)
		w.lock()
		w.c.look(w.clock.now())
		w.mu.Unlock()
		select {
		case <-w.over:
			return
		default:
		}
	}
}

// finish reads the store and ends the checks.
func (w *world) finish() outcome {
	ctx := context.Background()
	w.lock()
	defer w.mu.Unlock()
	ids := make([]task.ID, 0, len(w.c.rows))
	for id := range w.c.rows {
		ids = append(ids, id)
	}
	count, err := w.st.Count(ctx, 0)
	if err != nil {
		w.c.fail("I10", "count: %v", err)
	}
	all := 0
	for _, n := range count {
		all += int(n)
	}
	rows, err := w.st.Tasks(ctx, ids)
	if err != nil {
		w.c.fail("I10", "tasks: %v", err)
	}
	for i := range rows {
		log, err := w.st.History(ctx, rows[i].ID)
		if err != nil {
			w.c.fail("I9", "history: %v", err)
		}
		w.c.row(&rows[i], log)
		lines, err := w.st.Logs(ctx, store.LogQuery{Task: rows[i].ID, Limit: 1000})
		if err != nil {
			w.c.fail("I26", "logs: %v", err)
		}
		progress, err := w.st.Notes(ctx, []task.ID{rows[i].ID})
		if err != nil {
			w.c.fail("I26", "notes: %v", err)
		}
		w.c.said(&rows[i], lines, progress)
	}
	w.c.done(all)
	return outcome{seed: w.seed, bad: w.c.bad, seen: w.c.seen, trace: w.trace, tasks: all}
}
