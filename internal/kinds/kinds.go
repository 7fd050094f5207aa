// Package kinds keeps the handlers of a process with their options.
package kinds

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
)

// Kind is a handler of type H with its options.
type Kind[H any] struct {
	Handler H
	Policy  complete.Policy
	Limit   int // executions at the same time in this process; 0: no limit of its own
}

// Set holds kinds by name. All methods are safe for concurrent use.
type Set[H any] struct {
	base complete.Policy // of kinds that are not in the set

	mu  sync.RWMutex
	m   map[string]*Kind[H]
	err error
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

// Policy merges a task's own options over its kind's.
func (s *Set[H]) Policy(t *task.Task) complete.Policy {
	p := s.base
	if k := s.Find(t.Kind); k != nil {
		p = k.Policy
	}
	if t.MaxRetries >= 0 {
		p.MaxRetries = t.MaxRetries
	}
	if t.Timeout != 0 {
		p.Timeout = t.Timeout
	}
	if t.RetryPolicy != "" {
		var own retry.Policy
		if err := json.Unmarshal([]byte(t.RetryPolicy), &own); err == nil {
			p.Retry = own // it was checked when the task was made
		}
	}
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
			MaxRetries: k.Policy.MaxRetries, RetryPolicy: string(p)})
	}
	slices.SortFunc(out, func(a, b task.Kind) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
