package retry

import (
	"fmt"
	"math"
	"time"
)

// Allowed reports whether a task that has failed so many times is tried again: a retry follows
// each failure up to maxRetries, which makes maxRetries+1 executions.
func Allowed(failures, maxRetries int) bool { return failures <= maxRetries }

// Deadline is the instant after which no retry may start, from the first run_at; both are
// microseconds UTC. It is 0, which means none, without a budget.
func (p Policy) Deadline(firstRunAt int64) int64 {
	if p.BudgetMS <= 0 {
		return 0
	}
	budget := ms(p.BudgetMS).Microseconds()
	if firstRunAt > math.MaxInt64-budget {
		return math.MaxInt64
	}
	return firstRunAt + budget
}

// Allows reports whether a retry that would start at runAt is made: not after the deadline of
// the budget and not after expires_at. All are microseconds UTC; a limit of 0 is none.
func Allows(runAt, deadline, expiresAt int64) bool {
	return (deadline == 0 || runAt <= deadline) && (expiresAt == 0 || runAt <= expiresAt)
}

// Total is the time from the first failure to the start of the last of n retries, if every
// execution failed at once: least without any jitter, worst with all of it. It saturates at
// about 292 years.
func (p Policy) Total(n int) (least, worst time.Duration) {
	for i := 1; i <= n; i++ {
		low, high := p.Delay(i, 0), p.Delay(i, 1)
		// Once the formula no longer changes, the rest is a product; n may be very large.
		if rest := n - i + 1; rest > 1 && (p.steady(i) || i >= maxSteps) {
			return plus(least, times(low, rest)), plus(worst, times(high, rest))
		}
		least, worst = plus(least, low), plus(worst, high)
	}
	return least, worst
}

// maxSteps bounds the work of Total for a Func and for factors close to 1. Beyond it all delays
// count like the last one looked at.
const maxSteps = 10_000

// steady reports whether all delays from retry n on have the same base.
func (p Policy) steady(n int) bool {
	if p.Func != nil {
		return false
	}
	p = p.WithDefaults()
	switch p.Kind {
	case Exponential:
		return p.Factor == 1 || p.base(n) == ms(p.CapMS)
	case List:
		return n >= len(p.DelaysMS)
	}
	return true
}

// Misfit says that the budget of a policy is too short for its retries.
type Misfit struct {
	Retries int           // asked for
	Fit     int           // how many can start within the budget, with no jitter at all
	Need    time.Duration // what all of them need, with no jitter at all
	Budget  time.Duration
}

// String is a warning for the person who submits the task.
func (m Misfit) String() string {
	return fmt.Sprintf("retry.budget_ms: %d retries need at least %v, the budget is %v: "+
		"at most %d can be made", m.Retries, m.Need, m.Budget, m.Fit)
}

// Fits reports whether n retries can start within the budget if every execution failed at once
// and the jitter were 0; if not, the Misfit says what can. Without a budget everything fits.
func (p Policy) Fits(n int) (Misfit, bool) {
	budget := ms(p.BudgetMS)
	need, _ := p.Total(n)
	if p.BudgetMS <= 0 || need <= budget {
		return Misfit{}, true
	}
	// The total grows with the number of retries, so the last number that fits can be searched.
	fit, over := 0, n
	for over-fit > 1 {
		mid := fit + (over-fit)/2
		if t, _ := p.Total(mid); t <= budget {
			fit = mid
		} else {
			over = mid
		}
	}
	return Misfit{Retries: n, Fit: fit, Need: need, Budget: budget}, false
}

// plus and times saturate; their operands are never negative.
func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func times(d time.Duration, n int) time.Duration {
	if d > 0 && int64(n) > math.MaxInt64/int64(d) {
		return math.MaxInt64
	}
	return d * time.Duration(n)
}
