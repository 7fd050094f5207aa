package kinds

import (
	"encoding/json"
	"log/slog"
	"reflect"

	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
)

// Own checks the retries and the retry policy with which a task or a job replaces those of its
// kind, and returns them as rows keep them: what is nil is -1 and "". A policy that does not fit
// its own budget is taken, and logged.
func Own(retries *int, p *retry.Policy, logger *slog.Logger) (int, string, error) {
	n := -1
	if retries != nil {
		n = *retries
		if err := task.CheckRetries("max_retries", n); err != nil {
			return 0, "", err
		}
	}
	if p == nil {
		return n, "", nil
	}
	bad := func(reason string, err error) (int, string, error) {
		return 0, "", &task.InputError{Field: "retry", Reason: reason, Err: err}
	}
	if err := p.Validate(); err != nil {
		return bad(err.Error(), err)
	}
	if p.Func != nil {
		return bad("has a Func, which cannot be stored; give it to Handle with ax.Retry", nil)
	}
	b, err := json.Marshal(*p)
	if err != nil {
		return bad(err.Error(), err)
	}
	if m, ok := p.Fits(max(n, 0)); !ok {
		logger.Warn("retry policy does not fit its budget", "detail", m.String())
	}
	return n, string(b), nil
}

// Typed returns the kind of the typed arguments T, or an error if T is no struct itself.
func Typed[T interface{ Kind() string }]() (string, error) {
	typ := reflect.TypeFor[T]()
	if k := typ.Kind(); k == reflect.Pointer || k == reflect.Interface {
		return typ.String(), &task.InputError{Field: "Args", Reason: "is a pointer or an " +
			"interface; take the struct itself, and give its Kind a value receiver"}
	}
	var none T
	return none.Kind(), nil
}

// Fit applies options to a kind and checks them together.
func Fit[H any, O ~func(*Kind[H]) error](k *Kind[H], options []O) error {
	for _, o := range options {
		if o == nil {
			return &task.InputError{Field: "option", Reason: "is nil"}
		}
		if err := o(k); err != nil {
			return err
		}
	}
	if k.Once && (k.Policy.MaxRetries != 0 || k.Policy.OnUnknown != task.UnknownHold) {
		return &task.InputError{Field: "AtMostOnce",
			Reason: "does not go with retries; leave one out"}
	}
	return nil
}
