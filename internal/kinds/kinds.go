// Package kinds keeps the handlers of a process with their options.
package kinds

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
)

// Kind is a handler of type H with its options.
type Kind[H any] struct {
	Once       bool // options that could run a task again are refused
	Handler    H
	Middleware []func(H) H // of this kind, the first outermost, see Wrap
	Policy     complete.Policy
	Limit      int // executions at the same time in this process; 0: no limit of its own
}

// Wrap puts the middleware of this kind round the handler, and that of all kinds round both. The
// first of each is outermost.
func (k *Kind[H]) Wrap(all []func(H) H) error {
	for _, m := range slices.Backward(slices.Concat(all, k.Middleware)) {
		if m == nil {
			return &task.InputError{Field: "middleware", Reason: "is nil"}
		}
		if k.Handler = m(k.Handler); reflect.ValueOf(k.Handler).IsNil() {
			return &task.InputError{Field: "middleware", Reason: "returned nil; return a handler"}
		}
	}
	return nil
}

// Set holds kinds by name. All methods are safe for concurrent use.
type Set[H any] struct {
	base complete.Policy // of kinds that are not in the set

	mu    sync.RWMutex
	m     map[string]*Kind[H]
	other map[string]complete.Policy // of kinds whose handlers are elsewhere
	err   error

	told sync.Map // what Open has warned of
}

// New returns an empty set; base is the policy where nothing else is said.
func New[H any](base complete.Policy) *Set[H] {
	return &Set[H]{base: base, m: map[string]*Kind[H]{}}
}

// Base returns the policy where nothing else is said.
func (s *Set[H]) Base() complete.Policy { return s.base }

// Add puts a kind into the set, or reports that the name is taken.
func (s *Set[H]) Add(name string, k *Kind[H]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m[name] != nil {
		return false
	}
	s.m[name] = k
	return true
}

// Fail remembers the error of a registration, for Err.
func (s *Set[H]) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = errors.Join(s.err, err)
}

// Err returns the errors of registrations.
func (s *Set[H]) Err() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.err
}

// Find returns a kind, or nil.
func (s *Set[H]) Find(name string) *Kind[H] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.m[name]
}

// Has reports whether a kind is in the set.
func (s *Set[H]) Has(name string) bool { return s.Find(name) != nil }

// Limit is how many of a kind may run at the same time, or 0.
func (s *Set[H]) Limit(name string) int {
	if k := s.Find(name); k != nil {
		return k.Limit
	}
	return 0
}

// Learn takes the stored options of all kinds: a leader also decides about executions whose
// handlers only another process has, and must not run again what their kind holds.
func (s *Set[H]) Learn(ks []task.Kind) {
	other := make(map[string]complete.Policy, len(ks))
	for _, k := range ks {
		p := s.base
		p.Timeout, p.MaxRetries = k.Timeout, k.MaxRetries
		p.OnUnknown, p.MaxLifetime = k.OnUnknown, k.MaxLifetime
		p.Retry = parse(k.RetryPolicy, p.Retry)
		other[k.Name] = p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.other = other
}

// of returns the policy of a kind.
func (s *Set[H]) of(name string) complete.Policy {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if k := s.m[name]; k != nil {
		return k.Policy
	}
	if p, ok := s.other[name]; ok {
		return p
	}
	return s.base
}

// parse reads a stored retry policy, which was checked when it was made.
func parse(stored string, usual retry.Policy) retry.Policy {
	var own retry.Policy
	if stored == "" || json.Unmarshal([]byte(stored), &own) != nil {
		return usual
	}
	return own
}

// Policy merges a task's own options over its kind's.
func (s *Set[H]) Policy(t *task.Task) complete.Policy {
	p := s.of(t.Kind)
	if t.MaxRetries >= 0 {
		p.MaxRetries = t.MaxRetries
	}
	if t.Timeout != 0 {
		p.Timeout = t.Timeout
	}
	if t.OnUnknown != task.UnknownByKind {
		p.OnUnknown = t.OnUnknown
	}
	if t.MaxLateness != 0 {
		p.MaxLateness = t.MaxLateness
	}
	if t.MaxLifetime != 0 {
		p.MaxLifetime = t.MaxLifetime
	}
	p.Retry = parse(t.RetryPolicy, p.Retry)
	return p
}

// Stored returns the options in the form the store keeps, by name.
func (s *Set[H]) Stored() ([]task.Kind, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []task.Kind
	for name, k := range s.m {
		p, err := json.Marshal(k.Policy.Retry)
		if err != nil {
			return nil, fmt.Errorf("kind %q: retry policy: %w", name, err)
		}
		out = append(out, task.Kind{Name: name, Timeout: k.Policy.Timeout,
			MaxRetries: k.Policy.MaxRetries, RetryPolicy: string(p),
			OnUnknown: k.Policy.OnUnknown, MaxLifetime: k.Policy.MaxLifetime})
	}
	slices.SortFunc(out, func(a, b task.Kind) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
