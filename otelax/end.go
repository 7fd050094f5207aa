package otelax

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/task"
)

// end ends the span of a handler that has returned.
func (tr *Tracing) end(ctx context.Context, span trace.Span, err error) {
	o := outcome(ctx, err)
	span.SetAttributes(attribute.String("ax.outcome", o.String()))
	if err != nil && o != task.OutSnoozed {
		text := tr.exception(span, fmt.Sprintf("%T", cause(err)), err.Error())
		if o == task.OutFailed || o == task.OutTimeout {
			span.SetStatus(codes.Error, text)
		}
	}
	span.End()
}

// outcome is what the scheduler will make of the end of an attempt.
func outcome(ctx context.Context, err error) task.Outcome {
	o := complete.Report(err).Outcome
	if o != task.OutFailed {
		return o
	}
	switch why := context.Cause(ctx); {
	case errors.Is(why, ax.ErrShutdown), errors.Is(why, ax.ErrFenced):
		return task.OutReleased
	case errors.Is(why, ax.ErrCanceled):
		return task.OutCanceled
	case errors.Is(why, ax.ErrTimeout):
		return task.OutTimeout
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
func (tr *Tracing) broke(span trace.Span, p any) {
	text := "handler called runtime.Goexit"
	if p != nil {
		text = "panic: " + fmt.Sprint(p)
	}
	span.SetAttributes(attribute.String("ax.outcome", task.OutFailed.String()))
	text = tr.exception(span, fmt.Sprintf("%T", p), text,
		attribute.String("exception.stacktrace", string(debug.Stack())))
	span.SetStatus(codes.Error, text)
	span.End()
	if p != nil {
		panic(p)
	}
}

// exception adds an event to the span and returns its text as it may be seen.
func (tr *Tracing) exception(span trace.Span, typ, text string, more ...attribute.KeyValue) string {
	text = task.CutText(tr.redact(text), task.MaxError)
	span.AddEvent("exception", trace.WithAttributes(append(more,
		attribute.String("exception.type", typ), attribute.String("exception.message", text))...))
	return text
}

// redact masks a text. It never gives out what was not masked.
func (tr *Tracing) redact(s string) (out string) {
	if tr.o.Redact == nil {
		return s
	}
	defer func() {
		if recover() != nil {
			out = "the text of this error is withheld: Redact panicked"
		}
	}()
	return tr.o.Redact(s)
}
