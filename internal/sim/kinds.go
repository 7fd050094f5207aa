package sim

import (
	"encoding/json"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
)

// kind is a handler's options as the simulation registers them.
type kind struct {
	name    string
	max     int
	retry   retry.Policy
	timeout time.Duration
	limit   int
	once    bool // at most once
}

const (
	lateKind = "late" // registered by DelayFunc, with the defaults
	tickKind = "tick" // of jobs
	onceKind = "once" // at most once
)

var kinds = []kind{
	{"quick", 3, retry.Doubling(500*time.Millisecond, 4*time.Second, 200*time.Millisecond),
		3 * time.Second, 0, false},
	{"flaky", 5, retry.Policy{Kind: retry.Fixed, DelayMS: 300, JitterPct: 50}, 2 * time.Second, 0,
		false},
	{"long", 2, retry.Policy{Kind: retry.List, DelaysMS: []int64{0, 1500}}, ax.NoTimeout, 0,
		false},
	{"narrow", 1, retry.Policy{Kind: retry.Fixed, DelayMS: 1000}, 4 * time.Second, 2, false},
	{tickKind, 2, retry.Policy{Kind: retry.Fixed, DelayMS: 700, JitterMS: 100}, 2 * time.Second, 0,
		false},
	{lateKind, ax.DefaultMaxRetries, retry.Default(), ax.DefaultTimeout, 0, false},
	{onceKind, 0, retry.Default(), 3 * time.Second, 0, true},
}

func kindOf(name string) *kind {
	for i := range kinds {
		if kinds[i].name == name {
			return &kinds[i]
		}
	}
	return &kind{name: name}
}

func limitOf(name string) int { return kindOf(name).limit }

// policyOf works out what applies to a task: its own options over those of its kind.
func policyOf(t *task.Task) policy {
	k := kindOf(t.Kind)
	p := policy{max: k.max, retry: k.retry, timeout: k.timeout, hold: k.once}
	if t.MaxRetries >= 0 {
		p.max = t.MaxRetries
	}
	if t.Timeout != 0 {
		p.timeout = t.Timeout
	}
	if t.OnUnknown != task.UnknownByKind {
		p.hold = t.OnUnknown == task.UnknownHold
	}
	if t.RetryPolicy != "" {
		var own retry.Policy
		if err := json.Unmarshal([]byte(t.RetryPolicy), &own); err == nil {
			p.retry = own
		}
	}
	return p
}
