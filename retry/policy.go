package retry

import (
	"math"
	"time"
)

// Kind names the formula of a Policy.
type Kind string

// The formulas; see the package comment.
const (
	Exponential Kind = "exponential"
	Fixed       Kind = "fixed"
	List        Kind = "list"
)

// DefaultMaxRetries is how many retries a task has that does not say: six executions in all.
const DefaultMaxRetries = 5

// MaxDelayMS is the longest delay that any field may name: 3650 days.
const MaxDelayMS = 3650 * 24 * 3600 * 1000

const maxDelay = MaxDelayMS * time.Millisecond

// Policy says how long to wait before each retry. It is a plain value with a fixed JSON form.
//
// The zero Policy is Default. So is an exponential one that sets none of delay, factor, cap and
// jitter; its budget stays. In any other policy an unset delay, factor or cap takes its own
// default, and unset jitter means none.
type Policy struct {
	Kind Kind `json:"kind,omitempty"` // "" means exponential

	DelayMS int64   `json:"delay_ms,omitempty"` // first delay; 0 means 5,000
	Factor  float64 `json:"factor,omitempty"`   // exponential only, 1 to 1,000; 0 means 5
	CapMS   int64   `json:"cap_ms,omitempty"`   // exponential only; 0 means 3,600,000

	JitterPct float64 `json:"jitter_pct,omitempty"` // up to so many per cent are added, 0 to 100
	JitterMS  int64   `json:"jitter_ms,omitempty"`  // up to so many milliseconds are added

	// BudgetMS is the total time in which retries may start, counted from the first run_at; 0
	// means no limit.
	BudgetMS int64 `json:"budget_ms,omitempty"`

	// DelaysMS are the delays of a list; the last one repeats. 0 is a retry at once.
	DelaysMS []int64 `json:"delays_ms,omitempty"`

	// Func, if set, gives the delay of retry n instead of the formula; n counts from 1 and rnd
	// lies in [0,1]. A negative result means 0. It is not stored: where the handler does not run
	// (lost executors, time-outs), the other fields decide.
	Func func(n int, rnd float64) time.Duration `json:"-"`
}

// Default is exponential: 5 s times 5 each time, at most 1 h, up to 20 % jitter, no budget.
func Default() Policy {
	return Policy{Kind: Exponential, DelayMS: 5000, Factor: 5, CapMS: 3_600_000, JitterPct: 20}
}

// Doubling is the other exponential policy: min(base * 2^(n-1), limit) + rand(0, jitter). The
// usual values are 1 s, 500 ms and five retries: 1, 2, 4, 8, 16 s.
func Doubling(base, limit, jitter time.Duration) Policy {
	return Policy{
		Kind:     Exponential,
		DelayMS:  base.Milliseconds(),
		Factor:   2,
		CapMS:    limit.Milliseconds(),
		JitterMS: jitter.Milliseconds(),
	}
}

// WithDefaults returns the policy with every unset field set, as described at Policy.
func (p Policy) WithDefaults() Policy {
	d := Default()
	if p.Kind == "" {
		p.Kind = Exponential
	}
	if p.Kind == Exponential {
		unset := p.DelayMS == 0 && p.Factor == 0 && p.CapMS == 0
		if unset && p.JitterPct == 0 && p.JitterMS == 0 {
			p.JitterPct = d.JitterPct
		}
		if p.Factor == 0 {
			p.Factor = d.Factor
		}
		if p.CapMS == 0 {
			// A first delay above the default cap is a wish to wait that long.
			p.CapMS = max(d.CapMS, p.DelayMS)
		}
	}
	if p.DelayMS == 0 && p.Kind != List {
		p.DelayMS = d.DelayMS
		if p.Kind == Exponential {
			p.DelayMS = min(d.DelayMS, p.CapMS) // a cap below the default delay is a wish too
		}
	}
	return p
}

// Delay is the time to wait before retry n, counted from 1, for a random number in [0,1); 1 gives
// the longest. It is never negative and never more than 7300 days, whatever the policy, n and
// rnd are; for a policy that Validate accepts it is at least Base(n). Numbers outside their range
// count as the nearest one inside.
func (p Policy) Delay(n int, rnd float64) time.Duration {
	if !(rnd > 0) { // not a number, too
		rnd = 0
	}
	rnd = min(rnd, 1)
	if p.Func != nil {
		return min(max(p.Func(max(n, 1), rnd), 0), maxDelay)
	}
	p = p.WithDefaults()
	base := p.base(n)
	pct := min(max(p.JitterPct, 0), 100)
	if math.IsNaN(pct) {
		pct = 0
	}
	jitter := float64(base)*pct/100*rnd + float64(ms(p.JitterMS))*rnd
	return base + min(time.Duration(jitter), maxDelay)
}

// Base is Delay without jitter. A Func gives its own with rnd 0.
func (p Policy) Base(n int) time.Duration { return p.Delay(n, 0) }

// base is the formula, on a policy with its defaults.
func (p Policy) base(n int) time.Duration {
	n = max(n, 1)
	switch p.Kind {
	case Exponential:
		// The power is compared with the cap while it is a floating-point number, where too large
		// is infinite. As an integer it would wrap round and turn negative.
		limit := ms(p.CapMS)
		d := float64(ms(p.DelayMS)) * math.Pow(p.Factor, float64(n-1))
		if !(d < float64(limit)) {
			return limit
		}
		return max(time.Duration(d), 0)
	case List:
		if len(p.DelaysMS) > 0 {
			return ms(p.DelaysMS[min(n, len(p.DelaysMS))-1])
		}
	}
	return ms(p.DelayMS)
}

// ms turns a field into a duration, bounded like a valid one.
func ms(v int64) time.Duration {
	return time.Duration(min(max(v, 0), MaxDelayMS)) * time.Millisecond
}
