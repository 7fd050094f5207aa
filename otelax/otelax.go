package otelax

import (
	"context"
	"maps"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/ax-sched/ax"
)

// Options say how tasks are traced; the zero value is usable.
type Options struct {
	// Provider makes the spans. Default: the global one, also if it is set later.
	Provider trace.TracerProvider
	// Propagator writes the labels and reads them. Default: W3C Trace Context, whatever the global
	// one is. What it writes must fit into labels, or is left out; see [Tracing.BeforeSubmit].
	Propagator propagation.TextMapPropagator
	// AlwaysLink makes the first attempt a trace of its own with a link, as the later ones. Most
	// backends do not show a trace whole that goes on for hours: use it if delays are long.
	AlwaysLink bool
	// Redact masks the texts of errors and panics before they go into a span; give it what
	// ax.Config.Redact has. If it panics the text is withheld. Default: nil, none.
	Redact func(text string) string
}

// Tracing traces the tasks of schedulers. Its methods are safe for concurrent use.
type Tracing struct {
	o      Options
	tracer trace.Tracer
}

// New returns a Tracing for Config.BeforeSubmit and Config.Middleware of schedulers.
func New(o Options) *Tracing {
	if o.Provider == nil {
		o.Provider = otel.GetTracerProvider()
	}
	if o.Propagator == nil {
		o.Propagator = propagation.TraceContext{}
	}
	return &Tracing{o: o, tracer: o.Provider.Tracer("github.com/ax-sched/ax/otelax")}
}

// BeforeSubmit puts the span of ctx into the labels of the task. Without a span it changes nothing:
// labels that came from elsewhere stay. It never refuses a submit: a value that is no label (longer
// than 200 bytes) is left out, and so is all of it where the task has no room for more labels. Of
// a longer tracestate entries are left out as W3C says.
func (tr *Tracing) BeforeSubmit(ctx context.Context, n *ax.NewTask) error {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return nil
	}
	ls := maps.Clone(n.Labels)
	if ls == nil {
		ls = map[string]string{}
	}
	fields, values := tr.o.Propagator.Fields(), propagation.MapCarrier{}
	tr.o.Propagator.Inject(ctx, values)
	for _, k := range fields {
		delete(ls, k) // they belong together: none of another span may remain
	}
	for _, k := range fields { // the most important one is the first
		put(ls, k, values[k])
	}
	n.Labels = ls
	return nil
}

// Middleware makes a span of each attempt. Put it first, so that it is outermost.
func (tr *Tracing) Middleware(next ax.Handler) ax.Handler {
	return func(ctx context.Context, t *ax.Task) (err error) {
		ctx, span := tr.start(ctx, t)
		returned := false
		defer func() {
			if !returned {
				tr.broke(ctx, span, recover())
			}
		}()
		err = next(ctx, t)
		returned = true
		tr.end(ctx, span, err)
		return err
	}
}

// start begins the span of an attempt.
func (tr *Tracing) start(ctx context.Context, t *ax.Task) (context.Context, trace.Span) {
	o := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(attributes(t)...)}
	// What the context of Run has is not where this task comes from.
	ctx = trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	if t.Job == "" {
		ctx = tr.o.Propagator.Extract(ctx, propagation.MapCarrier(t.Labels))
	}
	if from := trace.SpanContextFromContext(ctx); from.IsValid() &&
		(tr.o.AlwaysLink || t.Run > 1 || t.Attempt > 1) {
		o = append(o, trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: from}))
	}
	return tr.tracer.Start(ctx, "process "+t.Kind, o...)
}

func attributes(t *ax.Task) []attribute.KeyValue {
	id := t.ID.String()
	as := []attribute.KeyValue{
		attribute.String("ax.task.id", id),
		attribute.Int("ax.task.run", t.Run),
		attribute.String("ax.task.kind", t.Kind),
		attribute.Int("ax.task.attempt", t.Attempt),
		attribute.String("ax.execution.id", t.ExecutionID.String()),
		attribute.String("messaging.system", "ax"),
		attribute.String("messaging.operation.type", "process"),
		attribute.String("messaging.operation.name", "process"),
		attribute.String("messaging.destination.name", t.Kind),
		attribute.String("messaging.message.id", id),
	}
	if t.Job != "" {
		as = append(as, attribute.String("ax.job", t.Job))
	}
	if t.FireCount > 0 {
		as = append(as, attribute.String("ax.fire.time", t.FireTime.UTC().Format(rfc3339Milli)),
			attribute.Int("ax.fire.count", t.FireCount))
	}
	return as
}

const rfc3339Milli = "2006-01-02T15:04:05.000Z07:00"
