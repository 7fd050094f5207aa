package retry

import (
	"errors"
	"fmt"
	"math"
)

// FieldError says what is wrong with one field of a Policy and what would be right.
type FieldError struct {
	Field   string // as in JSON
	Problem string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// Validate checks every field and returns nil or all problems joined, each a *FieldError. The
// zero Policy is valid.
func (p Policy) Validate() error {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, &FieldError{field, fmt.Sprintf(format, args...)})
	}
	millis := func(field string, v int64) {
		if v < 0 || v > MaxDelayMS {
			bad(field, "%d is out of range; use 0 to %d milliseconds", v, int64(MaxDelayMS))
		}
	}
	switch p.Kind {
	case "", Exponential, Fixed, List:
	default:
		bad("kind", "%q is unknown; use exponential, fixed or list", string(p.Kind))
	}
	millis("delay_ms", p.DelayMS)
	millis("cap_ms", p.CapMS)
	millis("jitter_ms", p.JitterMS)
	millis("budget_ms", p.BudgetMS)
	if !within(p.Factor, 1, 1000) && p.Factor != 0 {
		bad("factor", "%v is out of range; use 1 to 1000", p.Factor)
	}
	if !within(p.JitterPct, 0, 100) {
		bad("jitter_pct", "%v is out of range; use 0 to 100", p.JitterPct)
	}
	if p.CapMS > 0 && p.DelayMS > p.CapMS {
		bad("cap_ms", "%d is below delay_ms %d; raise it or leave it out", p.CapMS, p.DelayMS)
	}
	p.validateUse(bad)
	for i, v := range p.DelaysMS {
		millis(fmt.Sprintf("delays_ms[%d]", i), v)
	}
	return errors.Join(errs...)
}

// validateUse refuses fields that the formula would not read: they are a misunderstanding that
// would only show when a task fails.
func (p Policy) validateUse(bad func(field, format string, args ...any)) {
	unused := func(field string, set bool) {
		if set {
			bad(field, "is not used by kind %s; leave it out", string(p.Kind))
		}
	}
	switch p.Kind {
	case Fixed:
		unused("factor", p.Factor != 0)
		unused("cap_ms", p.CapMS != 0)
	case List:
		unused("delay_ms", p.DelayMS != 0)
		unused("factor", p.Factor != 0)
		unused("cap_ms", p.CapMS != 0)
		if n := len(p.DelaysMS); n == 0 || n > maxList {
			bad("delays_ms", "has %d delays; give 1 to %d", n, maxList)
		}
	}
	if p.Kind != List && len(p.DelaysMS) > 0 {
		bad("delays_ms", "is only used by kind list; set kind to list or leave it out")
	}
}

// maxList is how many delays a list may hold; it is stored with every task.
const maxList = 100

func within(v, low, high float64) bool {
	return !math.IsNaN(v) && v >= low && v <= high
}
