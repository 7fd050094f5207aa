package sim

import (
	"fmt"
	"time"

	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// violation is a promise that was broken.
type violation struct {
	at   time.Duration
	rule string // I1 to I24 of the list of invariants, or the id of a fault probe
	text string
}

func (v violation) String() string {
	return fmt.Sprintf("%9.3f %s: %s", v.at.Seconds(), v.rule, v.text)
}

// rules is what the checker has to know of the configuration.
type rules struct {
	calm        bool          // a run without faults: more may be asked of it
	slots       int           // of each node
	executorTTL time.Duration // of an executor's lease
	heartbeat   time.Duration
	zombieWait  time.Duration
	late        time.Duration // the longest a task may wait while nothing is in its way
	stuck       time.Duration // the longest a row may be RUNNING that nobody runs
	limit       func(kind string) int
	policy      func(t *task.Task) policy
}

// policy is what applies to a task, worked out apart from the product.
type policy struct {
	max     int
	retry   retry.Policy
	timeout time.Duration
	hold    bool // unknown outcomes are held; without retries: at most once
}

// checker keeps its own copy of the table, from what was written and answered, and compares
// every write with the promises. It does no I/O and reads no clock: its owner sets at before each
// event, and holds a lock.
type checker struct {
	rules
	at  time.Duration // since the start of the run, by a clock that nothing disturbs
	bad []violation

	rows     map[task.ID]*shadow
	live     map[task.ID]*shadow        // in DISPATCHING or RUNNING
	due      map[task.ID]*shadow        // in SCHEDULED
	held     map[task.ID]*shadow        // in HELD
	keys     map[[2]string]task.ID      // the live task of each (kind, key)
	kept     map[[2]string]keptKey      // of those with a scope, the latest task
	holds    map[string]*shadow         // the task that holds each overlap key
	freed    map[string]time.Duration   // when each overlap key was given back last
	led      time.Duration              // when the leader was installed
	runs     map[task.ID]*run           // executions
	tasks    map[task.ID][]*run         // executions of each task
	jobs     map[task.ID]*jobShadow     // definitions, deleted ones too
	fires    map[fireKey]task.ID        // the task of each fire
	epoch    map[int64]*epoch           // executors
	acked    map[task.ID]bool           // submits that were acknowledged
	ended    map[task.ID]bool           // cancels that were acknowledged
	token    int64                      // the installed fencing token
	leader   *process                   // who installed the token
	quiet    time.Duration              // since when nothing has been in the way of anything
	allKinds bool                       // every process has handlers for all kinds
	stepped  bool                       // the store's clock has been set back
	kinds    map[string]time.Duration   // the same for one kind
	seen     map[string]int             // what happened, by name: a run must not be too mild
	sent     map[*process]time.Duration // the last trouble of each process
}

// shadow is a row as the checker knows it.
type shadow struct {
	task.Task
	log     []task.Entry
	entered time.Duration // when it came into its state
	busy    time.Duration // when it last found its overlap key busy
	early   int           // claims since then that came too early
}

type fireKey struct {
	job task.ID
	at  task.Time
}

// run is one execution: what the table says of it and what really happened.
type run struct {
	id, task task.ID
	kind     string
	overlap  string
	limit    time.Duration // its hard time-out
	suspect  bool
	proc     *process
	epoch    int64
	started  bool
	ended    bool
	told     bool // its context has ended
	gone     bool // the table has given it up before it started: it must not start any more
	excused  bool // a person has had the task run again since
	begin    time.Duration
	endAt    time.Duration
	toldAt   time.Duration
	toldWhy  error
	verdict  verdict
}

// epoch is one membership of an executor.
type epoch struct {
	proc     *process
	name     string
	retired  bool
	renewed  time.Duration // when the last renewal was applied
	believed time.Duration // until when its process may believe in it
}

func newChecker(r rules) *checker {
	return &checker{rules: r, rows: map[task.ID]*shadow{}, live: map[task.ID]*shadow{},
		due: map[task.ID]*shadow{}, held: map[task.ID]*shadow{},
		keys: map[[2]string]task.ID{}, kept: map[[2]string]keptKey{}, holds: map[string]*shadow{},
		freed: map[string]time.Duration{},
		runs:  map[task.ID]*run{}, tasks: map[task.ID][]*run{}, jobs: map[task.ID]*jobShadow{},
		fires: map[fireKey]task.ID{}, epoch: map[int64]*epoch{}, acked: map[task.ID]bool{},
		ended: map[task.ID]bool{}, kinds: map[string]time.Duration{}, seen: map[string]int{},
		sent: map[*process]time.Duration{}}
}

// maxViolations is how many are kept: the first ones tell the cause.
const maxViolations = 20

func (c *checker) fail(rule, format string, args ...any) {
	if len(c.bad) < maxViolations {
		c.bad = append(c.bad, violation{c.at, rule, fmt.Sprintf(format, short(args)...)})
	}
}

// disturbed says that something is in the way of everything, so that nothing is late yet.
func (c *checker) disturbed() { c.quiet = c.at }

// count notes that something happened.
func (c *checker) count(what string) { c.seen[what]++ }

// fenced checks that a write which a store took carried the installed token.
func (c *checker) fenced(f store.Fence, what string) {
	if f != (store.Fence{}) && f.Token != c.token {
		c.fail("I7", "%s under token %d was taken although %d is installed", what, f.Token, c.token)
	}
}

// installed is told of a new token.
func (c *checker) installed(p *process, token int64) {
	if token != c.token+1 {
		c.fail("I7", "token %d was installed after %d", token, c.token)
	}
	c.token, c.leader, c.led = max(c.token, token), p, c.at
	c.disturbed()
	if c.calm && token > 1 {
		c.fail("I23", "leadership moved to token %d although nothing was wrong", token)
	}
}

// place takes a row out of what depends on its state, or puts it in.
func (c *checker) place(r *shadow, in bool) {
	set := func(m map[task.ID]*shadow) {
		if in {
			m[r.ID] = r
		} else {
			delete(m, r.ID)
		}
	}
	switch {
	case r.State == task.Scheduled:
		set(c.due)
	case r.State.Live():
		set(c.live)
	case r.State == task.Held:
		set(c.held)
	}
	if r.Key != "" && !r.State.Final() {
		k := [2]string{r.Kind, r.Key}
		if in {
			c.keys[k] = r.ID
		} else {
			delete(c.keys, k)
		}
	}
	if r.HoldsKey() {
		if in {
			c.holds[r.OverlapKey] = r
		} else if c.holds[r.OverlapKey] == r {
			delete(c.holds, r.OverlapKey)
		}
	}
}

// record writes one move into the history the row should have.
func (r *shadow) record(at task.Time, m task.Move) {
	r.Version++
	r.UpdatedAt = at
	r.log = append(r.log, task.Entry{TaskID: r.ID, Version: r.Version, At: at, From: m.From,
		To: m.To, Event: m.Event, Reason: m.Reason, ExecutionID: r.ExecutionID,
		Attempt: r.Attempt})
}
