package otelax_test

import (
	"context"
	"fmt"
	"log/slog"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/otelax"
	"github.com/ax-sched/ax/store/memory"
)

// The handler's span is a child of the request that submitted the task.
func Example() {
	spans := tracetest.NewInMemoryExporter() // yours sends them to a collector
	provider := sdk.NewTracerProvider(sdk.WithSyncer(spans))

	tr := otelax.New(otelax.Options{Provider: provider})
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{
		BeforeSubmit: tr.BeforeSubmit,
		Middleware:   []ax.Middleware{tr.Middleware},
		Logger:       slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	a.Handle("mail.send", func(context.Context, *ax.Task) error { stop(); return nil })

	inRequest, request := provider.Tracer("shop").Start(ctx, "POST /orders")
	if _, err := a.Submit(inRequest, ax.NewTask{Kind: "mail.send"}); err != nil {
		fmt.Println(err)
	}
	request.End()
	if err := a.Run(ctx); err != nil {
		fmt.Println(err)
	}

	for _, s := range spans.GetSpans() {
		fmt.Println(s.Name, s.SpanKind, s.Parent.SpanID() == request.SpanContext().SpanID())
	}
	// Output:
	// POST /orders internal false
	// process mail.send consumer true
}
