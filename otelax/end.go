package otelax

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/ax-sched/ax/executor"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/task"
)

// end ends the span of a handler that has returned.
func (tr *Tracing) end(ctx context.Context, span trace.Span, err error) {
	o := outcome(ctx, span, complete.Report(err).Outcome)
	if err != nil && o != task.OutSnoozed {
		text := tr.exception(span, fmt.Sprintf("%T", cause(err)), err.Error())
		if o == task.OutFailed || o == task.OutTimeout {
			span.SetStatus(codes.Error, text)
		}
	}
	span.End()
}

// outcome returns what the scheduler will make of a handler's end, and writes it into the span.
func outcome(ctx context.Context, span trace.Span, o task.Outcome) task.Outcome {
	o, inTx := executor.Ended(ctx, o)
	span.SetAttributes(attribute.String("ax.outcome", o.String()))
	if inTx {
		span.SetAttributes(attribute.Bool("ax.complete_tx", true))
	}
	return o
}

// cause is the innermost error of a chain: its type says more than that of what wraps it.
func cause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// broke ends the span of a handler that has panicked, and lets the panic go on; a nil p is
// runtime.Goexit. The deferred function that calls it has recovered: the stack is still that of
// the panic.
func (tr *Tracing) broke(ctx context.Context, span trace.Span, p any) {
	text := "handler called runtime.Goexit"
	if p != nil {
		text = "panic: " + fmt.Sprint(p)
	}
	o := outcome(ctx, span, task.OutFailed)
	text = tr.exception(span, fmt.Sprintf("%T", p), text,
		attribute.String("exception.stacktrace", string(debug.Stack())))
	if o == task.OutFailed || o == task.OutTimeout {
		span.SetStatus(codes.Error, text)
	}
	span.End()
	if p != nil {
		panic(p)
	}
}

// exception adds an event to the span and returns its text as it may be seen.
func (tr *Tracing) exception(span trace.Span, typ, text string, more ...attribute.KeyValue) string {
	text = task.CutText(task.Masked(text, tr.o.Redact), task.MaxError)
	span.AddEvent("exception", trace.WithAttributes(append(more,
		attribute.String("exception.type", typ), attribute.String("exception.message", text))...))
	return text
}
