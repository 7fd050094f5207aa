package executor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ax-sched/ax/task"
)

// panics runs a handler that panics and returns its report.
func panics(t *testing.T, redact func(string) string, h func()) (r task.Report) {
	t.Helper()
	run := func(context.Context, *task.Task) task.Report { h(); return good }
	local(t, run, func(x *fixture) {
		x.cfg.Redact = redact
		x.start("k", time.Minute)
		r, _ = x.only()
	})
	return r
}

type order struct{ total int }

//go:noinline
func readTotal(o *order) int { return o.total }

//go:noinline
func boom(v any) { panic(v) }

// TestPanicText: who reads the task sees the value, and on top of the stack where it happened.
func TestPanicText(t *testing.T) {
	again := func() {
		defer func() { panic(recover()) }()
		boom("oops")
	}
	for _, c := range []struct {
		name, first, top string
		h                func()
	}{
		{"a value", "panic: oops", ".boom", func() { boom("oops") }},
		{"an error", "panic: no bank", ".boom", func() { boom(errors.New("no bank")) }},
		{"a nil pointer", "panic: runtime error: invalid memory address or nil pointer dereference",
			".readTotal", func() { readTotal(nil) }},
		{"a text that panics itself", "panic: %!v(PANIC=", ".boom", func() { boom(loud{}) }},
		{"a panic that was caught and goes on", "panic: oops", ".func1.1", again},
	} {
		r := panics(t, nil, c.h)
		lines := strings.Split(r.Error, "\n")
		if r.Outcome != task.OutFailed || r.Permanent {
			t.Errorf("%s: outcome %s, permanent %v: a panic is retried", c.name, r.Outcome, r.Permanent)
		}
		if len(lines) < 3 || !strings.HasPrefix(lines[0], c.first) ||
			!strings.HasSuffix(lines[1], c.top) || !strings.Contains(lines[2], "text_test.go:") {
			t.Errorf("%s: the text begins with\n%s", c.name, strings.Join(lines[:min(4, len(lines))], "\n"))
		}
		for _, noise := range []string{"gopanic", "runtime/debug", "(*Local)", "+0x"} {
			if strings.Contains(r.Error, noise) {
				t.Errorf("%s: %q in\n%s", c.name, noise, r.Error)
			}
		}
	}
	r := panics(t, nil, again)
	if !strings.Contains(r.Error, ".boom\n") {
		t.Errorf("where the panic began is not in\n%s", r.Error)
	}
	if other := panics(t, nil, again); other.Error != r.Error {
		t.Errorf("equal panics differ:\n%s\n%s", r.Error, other.Error)
	}
}

type loud struct{}

func (loud) Error() string { panic("no text") }

// TestHugePanic: a value of any size leaves room for the stack, and a stack of any depth for its
// innermost frames; what is cut is cut at a character.
func TestHugePanic(t *testing.T) {
	var deep func(n int)
	deep = func(n int) {
		if n == 0 {
			boom(strings.Repeat("\U0001F600", 2_500_000))
		}
		deep(n - 1)
	}
	r := panics(t, nil, func() { deep(10_000) })
	if n := len(r.Error); n > task.MaxError || n < task.MaxError/2 || !utf8.ValidString(r.Error) {
		t.Errorf("%d bytes, valid %v", n, utf8.ValidString(r.Error))
	}
	lines := strings.Split(r.Error, "\n")
	if len(lines) < 9 || !strings.HasSuffix(lines[1], ".boom") {
		t.Errorf("%d lines, the first frame is %q", len(lines), lines[min(1, len(lines)-1)])
	}
}

// TestRedact: no text leaves the executor as it was, also not the part of a secret that the cut
// would leave, and nothing at all when Redact panics.
func TestRedact(t *testing.T) {
	const secret = "4111-1111-1111-1111"
	hide := func(s string) string { return strings.ReplaceAll(s, secret, "****") }
	broken := func(s string) string { return s[len(s)+1:] }
	edge := strings.Repeat("x", task.MaxError-8) + secret // half of it would survive the cut
	for _, c := range []struct {
		name, want string
		redact     func(string) string
		h          func()
	}{
		{"a panic", "panic: card ****", hide, func() { boom("card " + secret) }},
		{"at the cut of a value", "panic: ", hide,
			func() { boom(edge[task.MaxError-maxPanicValue:]) }},
		{"at the cut of the text", "", hide, func() { boom(errors.New(edge)) }},
		{"a panic in Redact", "withheld: Redact panicked", broken, func() { boom(secret) }},
	} {
		r := panics(t, c.redact, c.h)
		if !strings.Contains(r.Error, c.want) || strings.Contains(r.Error, secret[:4]) {
			t.Errorf("%s: %q", c.name, r.Error)
		}
		if r.Outcome != task.OutFailed || len(r.Error) > task.MaxError {
			t.Errorf("%s: outcome %s, %d bytes", c.name, r.Outcome, len(r.Error))
		}
	}
	fails := func(context.Context, *task.Task) task.Report {
		return task.Report{Outcome: task.OutFailed, Permanent: true, Error: edge}
	}
	local(t, fails, func(x *fixture) {
		x.cfg.Redact = hide
		x.start("k", time.Minute)
		if r, _ := x.only(); strings.Contains(r.Error, secret[:4]) || !r.Permanent {
			t.Errorf("an error: %q", r.Error[len(r.Error)-20:])
		}
	})
	succeeds := func(context.Context, *task.Task) task.Report { return good }
	local(t, succeeds, func(x *fixture) {
		x.cfg.Redact = func(string) string { return "masked" }
		x.start("k", time.Minute)
		if r, _ := x.only(); r.Error != "" {
			t.Errorf("a success has the error %q", r.Error)
		}
	})
}
