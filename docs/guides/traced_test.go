package guides

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/axtest"
	"github.com/ax-sched/ax/otelax"
)

func traced() ax.Config {
	tr := otelax.New(otelax.Options{}) // spans go to the global provider
	return ax.Config{
		BeforeSubmit: tr.BeforeSubmit,                // the span of the caller goes with the task
		Middleware:   []ax.Middleware{tr.Middleware}, // each attempt is a span
	}
}

// TestTraced: the request and the handler half an hour later are one trace.
func TestTraced(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(spans))
	otel.SetTracerProvider(provider)
	axtest.Run(t, traced(), func(tt *axtest.T) {
		tt.Handle("order.close", func(context.Context, *ax.Task) error { return nil })
		ctx, request := provider.Tracer("shop").Start(tt.Context(), "POST /orders")
		if _, err := tt.Delay(ctx, "order.close", "1007", 30*time.Minute, nil); err != nil {
			tt.Fatal(err)
		}
		request.End()
		tt.Advance(30 * time.Minute)
		got := spans.GetSpans()
		if len(got) != 2 || got[1].Name != "process order.close" ||
			got[1].Parent.SpanID() != request.SpanContext().SpanID() {
			tt.Errorf("%+v", got)
		}
	})
}
