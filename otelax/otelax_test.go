package otelax_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/axtest"
	"github.com/ax-sched/ax/executor"
	"github.com/ax-sched/ax/otelax"
	"github.com/ax-sched/ax/task"
)

// traced is a test with a scheduler whose tasks are traced into memory.
type traced struct {
	*axtest.T
	spans *tracetest.InMemoryExporter
	tr    trace.Tracer // of the program
}

// run runs f with the provider in the options, unless they have one.
func run(t *testing.T, o otelax.Options, cfg ax.Config, f func(x *traced)) {
	t.Helper()
	x := &traced{spans: tracetest.NewInMemoryExporter()}
	p := sdk.NewTracerProvider(sdk.WithSyncer(x.spans))
	x.tr = p.Tracer("program")
	if o.Provider == nil {
		o.Provider = p
	}
	tr := otelax.New(o)
	cfg.BeforeSubmit, cfg.Middleware = tr.BeforeSubmit, []ax.Middleware{tr.Middleware}
	axtest.Run(t, cfg, func(tt *axtest.T) {
		x.T = tt
		f(x)
	})
}

// submit submits a task inside of a span, and returns the task's id and the span.
func (x *traced) submit(n ax.NewTask) (ax.ID, trace.SpanContext) {
	x.Helper()
	ctx, span := x.tr.Start(x.Context(), "place order")
	defer span.End()
	res, err := x.Submit(ctx, n)
	if err != nil {
		x.Fatal(err)
	}
	return res.ID, span.SpanContext()
}

// attempts returns the spans of attempts in the order of their ends.
func (x *traced) attempts() (found []tracetest.SpanStub) {
	for _, s := range x.spans.GetSpans() {
		if s.InstrumentationScope.Name == "github.com/ax-sched/ax/otelax" {
			found = append(found, s)
		}
	}
	return found
}

// one returns the only span of an attempt.
func (x *traced) one() tracetest.SpanStub {
	x.Helper()
	found := x.attempts()
	if len(found) != 1 {
		x.Fatalf("%d spans of attempts", len(found))
	}
	return found[0]
}

func get(s tracetest.SpanStub, key string) string {
	for _, kv := range s.Attributes {
		if string(kv.Key) == key {
			return kv.Value.String()
		}
	}
	return ""
}

// event returns an attribute of the exception event of a span, or "".
func event(s tracetest.SpanStub, key string) string {
	for _, e := range s.Events {
		for _, kv := range e.Attributes {
			if e.Name == "exception" && string(kv.Key) == key {
				return kv.Value.String()
			}
		}
	}
	return ""
}

// wantChild and wantLinked check where a span stands.
func wantChild(t testing.TB, s tracetest.SpanStub, of trace.SpanContext) {
	t.Helper()
	if s.Parent.SpanID() != of.SpanID() || s.SpanContext.TraceID() != of.TraceID() ||
		!s.Parent.IsRemote() || len(s.Links) != 0 {
		t.Errorf("%s is in trace %s under %s with links %v; want a child of %s in %s", s.Name,
			s.SpanContext.TraceID(), s.Parent.SpanID(), s.Links, of.SpanID(), of.TraceID())
	}
}

func wantLinked(t testing.TB, s tracetest.SpanStub, to trace.SpanContext) {
	t.Helper()
	if s.Parent.IsValid() || s.SpanContext.TraceID() == to.TraceID() || len(s.Links) != 1 ||
		s.Links[0].SpanContext.SpanID() != to.SpanID() ||
		s.Links[0].SpanContext.TraceID() != to.TraceID() {
		t.Errorf("%s has parent %v and links %v; want a root with a link to %s", s.Name,
			s.Parent, s.Links, to.SpanID())
	}
}

func wantRoot(t testing.TB, s tracetest.SpanStub) {
	t.Helper()
	if s.Parent.IsValid() || len(s.Links) != 0 {
		t.Errorf("%s has parent %v and links %v; want a root", s.Name, s.Parent, s.Links)
	}
}

// TestTrace: from a request to the handler half an hour later is one trace.
func TestTrace(t *testing.T) {
	run(t, otelax.Options{}, ax.Config{}, func(x *traced) {
		var inside trace.SpanContext
		var seen *ax.Task
		x.Handle("order.close", func(ctx context.Context, t *ax.Task) error {
			inside, seen = trace.SpanContextFromContext(ctx), t
			time.Sleep(3 * time.Second)
			return nil
		})
		began := time.Now()
		id, from := x.submit(ax.NewTask{Kind: "order.close", Key: "1007", Delay: 30 * time.Minute})
		x.Advance(31 * time.Minute)
		s := x.one()
		wantChild(x, s, from)
		if s.Name != "process order.close" || s.SpanKind != trace.SpanKindConsumer ||
			s.Status.Code != codes.Unset || len(s.Events) != 0 || !inside.Equal(s.SpanContext) {
			x.Errorf("%+v", s)
		}
		if late := s.StartTime.Sub(began) - 30*time.Minute; late < 0 || late > time.Second ||
			s.EndTime.Sub(s.StartTime) != 3*time.Second {
			x.Errorf("from %s to %s", s.StartTime, s.EndTime)
		}
		want := []string{"ax.task.id=" + id.String(), "ax.task.run=1", "ax.task.kind=order.close",
			"ax.task.attempt=1", "ax.execution.id=" + seen.ExecutionID.String(),
			"messaging.system=ax", "messaging.operation.type=process",
			"messaging.operation.name=process", "messaging.destination.name=order.close",
			"messaging.message.id=" + id.String(), "ax.outcome=succeeded"}
		var got []string
		for _, kv := range s.Attributes {
			got = append(got, string(kv.Key)+"="+kv.Value.String())
		}
		if !slices.Equal(got, want) {
			x.Errorf("attributes %q, want %q", got, want)
		}
	})
}

// TestAttempts: the first is a child, the later ones and those of a new run have a link.
func TestAttempts(t *testing.T) {
	for _, always := range []bool{false, true} {
		run(t, otelax.Options{AlwaysLink: always}, ax.Config{}, func(x *traced) {
			broken := true
			x.Handle("k", func(context.Context, *ax.Task) error {
				if broken {
					return errors.New("the bank is down")
				}
				return nil
			}, ax.MaxRetries(1))
			id, from := x.submit(ax.NewTask{Kind: "k"})
			x.Advance(time.Hour)
			x.WantState(id, task.Dead)
			broken = false
			if err := x.Retry(x.Context(), id, ax.By{}); err != nil {
				x.Fatal(err)
			}
			x.RunDue()
			x.WantState(id, task.Succeeded)
			ss := x.attempts()
			if len(ss) != 3 {
				x.Fatalf("%d spans", len(ss))
			}
			for i, s := range ss {
				if i == 0 && !always {
					wantChild(x, s, from)
				} else {
					wantLinked(x, s, from)
				}
				wantCode, wantText := codes.Error, "the bank is down"
				if i == 2 {
					wantCode, wantText = codes.Unset, ""
				}
				if s.Status.Code != wantCode || s.Status.Description != wantText ||
					event(s, "exception.message") != wantText {
					x.Errorf("attempt %d: status %v, events %v", i, s.Status, s.Events)
				}
			}
			if got := get(ss[1], "ax.task.attempt") + get(ss[2], "ax.task.run"); got != "22" {
				x.Errorf("attempt and run %s", got)
			}
			if ss[0].SpanContext.TraceID() == ss[1].SpanContext.TraceID() ||
				ss[1].SpanContext.TraceID() == ss[2].SpanContext.TraceID() {
				x.Error("two attempts are one trace")
			}
		})
	}
}

// TestJobs: a fire is a trace of its own, whatever its labels say, and tells which fire it is; so
// is a run that somebody asked for.
func TestJobs(t *testing.T) {
	run(t, otelax.Options{}, ax.Config{}, func(x *traced) {
		x.Handle("k", func(context.Context, *ax.Task) error { return nil })
		ctx, span := x.tr.Start(x.Context(), "request")
		defer span.End()
		if err := x.PutJob(ctx, ax.JobSpec{Name: "nightly", Kind: "k", Schedule: ax.Every(time.Hour),
			Labels: map[string]string{
				"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
		}); err != nil {
			x.Fatal(err)
		}
		x.Advance(61 * time.Minute)
		if _, err := x.TriggerJob(ctx, "nightly", ax.JobRun{}, ax.By{}); err != nil {
			x.Fatal(err)
		}
		x.RunDue()
		ss := x.attempts()
		if len(ss) != 2 {
			x.Fatalf("%d spans", len(ss))
		}
		for i, want := range []string{"nightly 2000-01-01T01:00:00.000Z 1", "nightly  "} {
			wantRoot(x, ss[i])
			got := get(ss[i], "ax.job") + " " + get(ss[i], "ax.fire.time") + " " +
				get(ss[i], "ax.fire.count")
			if got != want {
				x.Errorf("job attributes %q, want %q", got, want)
			}
		}
	})
}

// bank is an error with a type of its own.
type bank struct{ card string }

func (b *bank) Error() string { return "card " + b.card + " was refused" }

// TestEnds: how an attempt ended is what the scheduler makes of it; only failures are errors.
func TestEnds(t *testing.T) {
	const failed, masked = codes.Error, "charge: card **** was refused"
	refused := &bank{card: "4111111111111111"}
	wrapped := fmt.Errorf("charge: %w", refused)
	type end = func(context.Context) error
	gives := func(err error) end { return func(context.Context) error { return err } }
	for name, c := range map[string]struct {
		handle       end
		outcome      string
		code         codes.Code
		typ, message string
	}{
		"an error":  {gives(wrapped), "failed", failed, "*otelax_test.bank", masked},
		"permanent": {gives(ax.Permanent(wrapped)), "failed", failed, "*otelax_test.bank", masked},
		"retry in": {gives(ax.RetryIn(time.Hour, wrapped)), "failed", failed, "*otelax_test.bank",
			masked},
		"cancel": {gives(ax.Cancel(wrapped)), "canceled", codes.Unset, "*otelax_test.bank", masked},
		"snooze": {gives(ax.Snooze(time.Hour)), "snoozed", codes.Unset, "", ""},
		"time-out": {func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, "timeout", failed, "*errors.errorString", "context canceled"},
		"snooze after the time-out": {func(ctx context.Context) error {
			<-ctx.Done()
			return ax.Snooze(time.Hour)
		}, "timeout", failed, "*complete.Steer", "snoozed for 1h0m0s"},
		"cancel after the time-out": {func(ctx context.Context) error {
			<-ctx.Done()
			return ax.Cancel(wrapped)
		}, "canceled", codes.Unset, "*otelax_test.bank", masked},
		"success after the time-out": {func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		}, "succeeded", codes.Unset, "", ""},
		"panic after the time-out": {func(ctx context.Context) error {
			<-ctx.Done()
			panic(refused.Error())
		}, "timeout", failed, "string", "panic: card **** was refused"},
		"panic": {func(context.Context) error { panic(refused.Error()) }, "failed", failed, "string",
			"panic: card **** was refused"},
		"goexit": {func(context.Context) error { runtime.Goexit(); return nil }, "failed", failed,
			"<nil>", "handler called runtime.Goexit"},
	} {
		t.Run(name, func(t *testing.T) {
			mask := func(s string) string { return strings.ReplaceAll(s, refused.card, "****") }
			run(t, otelax.Options{Redact: mask}, ax.Config{Redact: mask}, func(x *traced) {
				x.Handle("k", func(ctx context.Context, _ *ax.Task) error { return c.handle(ctx) },
					ax.Timeout(time.Second), ax.MaxRetries(0))
				id, from := x.submit(ax.NewTask{Kind: "k"})
				x.Advance(10 * time.Second)
				s := x.one()
				wantChild(x, s, from)
				if get(s, "ax.outcome") != c.outcome || s.Status.Code != c.code ||
					event(s, "exception.type") != c.typ || event(s, "exception.message") != c.message {
					x.Errorf("outcome %s, status %v, events %v", get(s, "ax.outcome"), s.Status, s.Events)
				}
				if want := c.message; c.code == codes.Error && s.Status.Description != want {
					x.Errorf("status says %q, want %q", s.Status.Description, want)
				}
				row, err := x.Get(x.Context(), id)
				if err != nil || row.State != task.Scheduled && row.LastOutcome.String() != c.outcome {
					x.Errorf("the row says %s %s, %v", row.State, row.LastOutcome, err)
				}
				stack := event(s, "exception.stacktrace")
				panics := strings.HasPrefix(name, "panic")
				if panics != strings.Contains(stack, "otelax_test.TestEnds.func") && name != "goexit" {
					x.Errorf("stack %q", stack)
				}
				if panics && (!strings.Contains(row.Error, "panic: card **** was refused") ||
					!strings.Contains(row.Error, "otelax_test.TestEnds.func")) {
					x.Errorf("the row says %q", row.Error)
				}
			})
		})
	}
}

// TestShutdown: what a shutdown ends is handed back and is no error.
func TestShutdown(t *testing.T) {
	exp := tracetest.NewInMemoryExporter()
	p := sdk.NewTracerProvider(sdk.WithSyncer(exp))
	run(t, otelax.Options{Provider: p}, ax.Config{Grace: time.Second}, func(x *traced) {
		x.Handle("k", func(ctx context.Context, _ *ax.Task) error {
			<-ctx.Done()
			return ctx.Err()
		}, ax.Timeout(ax.NoTimeout))
		x.submit(ax.NewTask{Kind: "k"})
		x.RunDue()
	})
	ss := exp.GetSpans()
	if len(ss) != 1 || get(ss[0], "ax.outcome") != "released" || ss[0].Status.Code != codes.Unset {
		t.Errorf("%+v", ss)
	}
}

// TestCanceled: an attempt that somebody canceled is no error, whatever its handler then wishes and
// whether or not it was past its time-out already.
func TestCanceled(t *testing.T) {
	for name, gives := range map[string]error{"error": errors.New("broken off"),
		"snooze": ax.Snooze(time.Hour), "release": ax.Release()} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", late), func(t *testing.T) {
				run(t, otelax.Options{}, ax.Config{}, func(x *traced) {
					asked := make(chan struct{})
					x.Handle("k", func(ctx context.Context, _ *ax.Task) error {
						<-asked
						return gives
					}, ax.Timeout(time.Minute))
					id, _ := x.submit(ax.NewTask{Kind: "k"})
					x.RunDue()
					if late {
						x.Advance(61 * time.Second)
					}
					if err := x.Cancel(x.Context(), id, ax.By{}); err != nil {
						x.Fatal(err)
					}
					x.Advance(5 * time.Second)
					close(asked)
					x.Advance(time.Second)
					x.WantState(id, task.Canceled)
					s := x.one()
					if get(s, "ax.outcome") != "canceled" || s.Status.Code != codes.Unset {
						x.Errorf("outcome %s, status %v", get(s, "ax.outcome"), s.Status)
					}
				})
			})
		}
	}
}

// TestCompleteTx: the span says that the row decides, not the handler.
func TestCompleteTx(t *testing.T) {
	run(t, otelax.Options{}, ax.Config{}, func(x *traced) {
		x.Handle("k", func(ctx context.Context, _ *ax.Task) error {
			executor.InTx(ctx) // as ax.CompleteTx does
			return errors.New("after the commit")
		}, ax.MaxRetries(0))
		x.submit(ax.NewTask{Kind: "k"})
		x.RunDue()
		if s := x.one(); get(s, "ax.complete_tx") != "true" || get(s, "ax.outcome") != "failed" {
			x.Errorf("attributes %v", s.Attributes)
		}
	})
}

// TestNested: a task that a handler submits is a child of the attempt.
func TestNested(t *testing.T) {
	run(t, otelax.Options{}, ax.Config{}, func(x *traced) {
		x.Handle("outer", func(ctx context.Context, t *ax.Task) error {
			_, err := x.Submit(ctx, ax.NewTask{Kind: "inner", Labels: t.Labels})
			return err
		})
		x.Handle("inner", func(context.Context, *ax.Task) error { return nil })
		_, from := x.submit(ax.NewTask{Kind: "outer"})
		x.Advance(5 * time.Second)
		ss := x.attempts()
		if len(ss) != 2 {
			x.Fatalf("%d spans", len(ss))
		}
		slices.SortFunc(ss, func(a, b tracetest.SpanStub) int { return -strings.Compare(a.Name, b.Name) })
		wantChild(x, ss[0], from)
		wantChild(x, ss[1], ss[0].SpanContext)
	})
}

// TestNoSpan: a task that was submitted outside of a trace begins one; a traceparent that came with
// its labels is taken.
func TestNoSpan(t *testing.T) {
	run(t, otelax.Options{}, ax.Config{}, func(x *traced) {
		x.Handle("k", func(context.Context, *ax.Task) error { return nil })
		res, err := x.Submit(x.Context(), ax.NewTask{Kind: "k"})
		if err != nil {
			x.Fatal(err)
		}
		x.RunDue()
		wantRoot(x, x.one())
		if row, err := x.Get(x.Context(), res.ID); err != nil || len(row.Labels) != 0 {
			x.Errorf("labels %v, %v", row.Labels, err)
		}
		x.spans.Reset()
		if _, err := x.Submit(x.Context(), ax.NewTask{Kind: "k", Labels: map[string]string{
			"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		}}); err != nil {
			x.Fatal(err)
		}
		x.RunDue()
		if s := x.one(); s.Parent.SpanID().String() != "b7ad6b7169203331" {
			x.Errorf("parent %v", s.Parent)
		}
	})
}

// TestRunInsideASpan: the span that a program was in when it called Run has nothing to do with the
// tasks.
func TestRunInsideASpan(t *testing.T) {
	exp := tracetest.NewInMemoryExporter()
	p := sdk.NewTracerProvider(sdk.WithSyncer(exp))
	ctx, span := p.Tracer("program").Start(t.Context(), "main")
	h := otelax.New(otelax.Options{Provider: p}).Middleware(func(context.Context, *ax.Task) error {
		return nil
	})
	if err := h(ctx, &ax.Task{Kind: "k", Run: 1, Attempt: 1}); err != nil {
		t.Error(err)
	}
	span.End()
	wantRoot(t, exp.GetSpans()[0])
}

// TestNotSampled: what the caller does not record, nobody records.
func TestNotSampled(t *testing.T) {
	exp := tracetest.NewInMemoryExporter()
	on := sdk.NewTracerProvider(sdk.WithSyncer(exp))
	off := sdk.NewTracerProvider(sdk.WithSampler(sdk.NeverSample()))
	run(t, otelax.Options{Provider: on}, ax.Config{}, func(x *traced) {
		called := false
		x.Handle("k", func(context.Context, *ax.Task) error { called = true; return nil })
		x.tr = off.Tracer("program")
		_, from := x.submit(ax.NewTask{Kind: "k"})
		x.RunDue()
		if from.IsSampled() || !called || len(exp.GetSpans()) != 0 {
			x.Errorf("sampled %t, called %t, %d spans", from.IsSampled(), called, len(exp.GetSpans()))
		}
	})
}

// TestGlobalProvider: without options the global provider is used.
func TestGlobalProvider(t *testing.T) {
	exp := tracetest.NewInMemoryExporter()
	otel.SetTracerProvider(sdk.NewTracerProvider(sdk.WithSyncer(exp)))
	h := otelax.New(otelax.Options{}).Middleware(func(context.Context, *ax.Task) error { return nil })
	if err := h(t.Context(), &ax.Task{Kind: "k"}); err != nil || len(exp.GetSpans()) != 1 {
		t.Errorf("%d spans, %v", len(exp.GetSpans()), err)
	}
}

// TestRedactPanics: a text that cannot be masked is withheld.
func TestRedactPanics(t *testing.T) {
	exp := tracetest.NewInMemoryExporter()
	p := sdk.NewTracerProvider(sdk.WithSyncer(exp))
	h := otelax.New(otelax.Options{Provider: p, Redact: func(string) string { panic("x") }}).
		Middleware(func(context.Context, *ax.Task) error { return errors.New("secret") })
	if err := h(t.Context(), &ax.Task{Kind: "k"}); err == nil || err.Error() != "secret" {
		t.Errorf("the handler's error became %v", err)
	}
	s := exp.GetSpans()[0]
	if text := fmt.Sprintf("%+v", s); strings.Contains(text, "secret") ||
		!strings.Contains(s.Status.Description, "withheld") {
		t.Errorf("%s", text)
	}
}
