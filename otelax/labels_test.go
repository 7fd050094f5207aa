package otelax_test

import (
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/otelax"
	"github.com/ax-sched/ax/task"
)

// before runs the hook on a task with labels, in a span with a tracestate.
func before(t *testing.T, state string, ls map[string]string) (map[string]string,
	trace.SpanContext) {
	t.Helper()
	ts, err := trace.ParseTraceState(state)
	if err != nil {
		t.Fatal(err)
	}
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1},
		SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, TraceState: ts})
	n := ax.NewTask{Kind: "k", Labels: ls}
	if err := otelax.New(otelax.Options{}).BeforeSubmit(
		trace.ContextWithSpanContext(t.Context(), sc), &n); err != nil {
		t.Error(err)
	}
	if err := task.CheckLabels(n.Labels); err != nil {
		t.Errorf("the task would be refused: %v", err)
	}
	return n.Labels, sc
}

const parent = "00-01000000000000000000000000000000-0200000000000000-01"

// TestLabels: the two labels are set beside those of the task, whose map stays as it was.
func TestLabels(t *testing.T) {
	mine := map[string]string{"team": "billing", "tracestate": "old=1"}
	got, _ := before(t, "a=1,b=2", mine)
	if want := (map[string]string{"team": "billing", "traceparent": parent,
		"tracestate": "a=1,b=2"}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	if len(mine) != 2 || mine["tracestate"] != "old=1" {
		t.Errorf("the caller's map became %v", mine)
	}
	if got, _ = before(t, "", mine); got["traceparent"] != parent || len(got) != 2 {
		t.Errorf("the tracestate of another span remains: %v", got)
	}
}

// TestLongTraceState: what does not fit into a label is left out as W3C says: long entries first,
// then the oldest.
func TestLongTraceState(t *testing.T) {
	entry := func(name string, size int) string {
		return name + "=" + strings.Repeat("x", size-2)
	}
	list := func(entries ...string) string { return strings.Join(entries, ",") }
	a, b, c, d := entry("a", 60), entry("b", 60), entry("c", 60), entry("d", 60)
	long := entry("l", 135)
	for state, want := range map[string]string{
		entry("a", 200):                        entry("a", 200),
		entry("a", 201):                        "",
		list(a, b, c, d):                       list(a, b, c),
		list(a, long, b):                       list(a, b),
		list(long, a):                          list(long, a),
		list(long, a, b):                       list(a, b),
		list(entry("a", 258), "b=1", "c=2"):    "b=1,c=2",
		list(a, b, c, d, entry("e", 50), long): list(a, b, c),
	} {
		got, _ := before(t, state, nil)
		if got["traceparent"] != parent || got["tracestate"] != want {
			t.Errorf("%q became %q, want %q", state, got["tracestate"], want)
		}
	}
}

// TestNoRoom: tracing never makes a submit fail for the number of its labels.
func TestNoRoom(t *testing.T) {
	for n, want := range map[int]int{29: 31, 30: 32, 31: 32, 32: 32} {
		ls := map[string]string{}
		for i := range n {
			ls[fmt.Sprint(i)] = ""
		}
		got, _ := before(t, "a=1", ls)
		if len(got) != want || n < 32 && got["traceparent"] != parent {
			t.Errorf("%d labels became %d", n, len(got))
		}
	}
}
