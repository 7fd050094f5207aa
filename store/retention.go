package store

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ax-sched/ax/task"
)

// Keep says how long tasks stay after they have become final. A field that is 0 leaves it to the
// next rule (see [Retention]); a negative one keeps them for ever.
type Keep struct {
	Succeeded, Skipped, Canceled, Dead time.Duration
}

// Retention says how long finished tasks and their history stay. Of the rules that say something
// about a task's state the first one decides: that of its job, that of its kind, Default, and last
// 7 days for SUCCEEDED, SKIPPED and CANCELED, 90 days for DEAD. Tasks that are not final always
// stay. The zero Retention is usable. Successes for a day, but audits for ever:
//
//	Retention{Default: Keep{Succeeded: 24 * time.Hour},
//		Kinds: map[string]Keep{"audit": {Succeeded: -1, Dead: -1}}}
type Retention struct {
	Default Keep
	Kinds   map[string]Keep // by kind
	Jobs    map[string]Keep // by the name of the job
}

const day = 24 * time.Hour

var usualKeep = Keep{Succeeded: 7 * day, Skipped: 7 * day, Canceled: 7 * day, Dead: 90 * day}

// shortestKeep is the least a caller may ask for: a submit that is repeated with the same id
// because its answer was lost must still find its task.
const shortestKeep = time.Minute

// of returns the field of a final state.
func (k Keep) of(s task.State) time.Duration {
	switch s {
	case task.Succeeded:
		return k.Succeeded
	case task.Skipped:
		return k.Skipped
	case task.Canceled:
		return k.Canceled
	case task.Dead:
		return k.Dead
	}
	return -1
}

// For returns how long a task of the kind and job ("" is none) stays in state s; negative: for
// ever, as all that are not final.
func (r *Retention) For(s task.State, kind, job string) time.Duration {
	for _, k := range [...]Keep{r.Jobs[job], r.Kinds[kind], r.Default} {
		if d := k.of(s); d != 0 {
			return d
		}
	}
	return usualKeep.of(s)
}

// Over reports whether a task that has been in state s since an instant has stayed long enough.
// Stores decide by it.
func (r *Retention) Over(s task.State, kind, job string, since, now task.Time) bool {
	d := r.For(s, kind, job)
	return d >= 0 && since.Add(d) <= now
}

// Shortest returns the shortest time that any task stays, or a negative one if all stay for ever.
func (r *Retention) Shortest() time.Duration {
	least := time.Duration(-1)
	see := func(d time.Duration) {
		if d > 0 && (least < 0 || d < least) {
			least = d
		}
	}
	for _, s := range finalStates {
		see(r.For(s, "", ""))
	}
	for _, rules := range [...]map[string]Keep{r.Kinds, r.Jobs} {
		for _, k := range rules {
			for _, s := range finalStates {
				see(k.of(s))
			}
		}
	}
	return least
}

var finalStates = [...]task.State{task.Succeeded, task.Skipped, task.Canceled, task.Dead}

// Check reports every wrong field under the name of the whole; nil if there is none.
func (r *Retention) Check(name string) error {
	errs := []error{r.Default.check(name + ".Default")}
	for _, rules := range [...]struct {
		name  string
		rules map[string]Keep
	}{{".Kinds", r.Kinds}, {".Jobs", r.Jobs}} {
		for _, key := range slices.Sorted(maps.Keys(rules.rules)) {
			field := fmt.Sprintf("%s[%q]", name+rules.name, key)
			errs = append(errs, task.CheckName(field, key, false), rules.rules[key].check(field))
		}
	}
	return errors.Join(errs...)
}

func (k Keep) check(name string) error {
	var errs []error
	for _, f := range [...]struct {
		name string
		d    time.Duration
	}{{"Succeeded", k.Succeeded}, {"Skipped", k.Skipped}, {"Canceled", k.Canceled},
		{"Dead", k.Dead}} {
		if f.d > 0 && f.d < shortestKeep {
			errs = append(errs, &task.InputError{Field: name + "." + f.name,
				Reason: fmt.Sprintf("is %s; use %s or more, or a negative one for ever", f.d,
					shortestKeep)})
		}
	}
	return errors.Join(errs...)
}
