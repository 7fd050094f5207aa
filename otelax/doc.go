// Package otelax traces tasks with OpenTelemetry, from the submit to the handler. It is a package
// of its own, so that programs that do not import it do not link OpenTelemetry; it needs only the
// API, and does nothing until the program sets up an SDK.
//
//	tr := otelax.New(otelax.Options{})
//	a, err := ax.New(st, ax.Config{
//		BeforeSubmit: tr.BeforeSubmit,
//		Middleware:   []ax.Middleware{tr.Middleware},
//	})
//
// # Traces
//
// BeforeSubmit puts the span of the submit's context into the task, as the labels "traceparent" and
// "tracestate" of W3C Trace Context. Each attempt is a span of kind consumer with the name
// "process" and the kind of the task; the handler's context has it.
//
//   - The first attempt of a task is a child of that span, however much later it runs
//     ([Options.AlwaysLink] makes it as the next ones).
//   - Later attempts, and those of a new run, begin traces of their own with a link to that span:
//     they may be hours later, when nobody looks at the first trace any more.
//   - A task of a job begins a trace of its own.
//
// A task that a handler submits with its context is a child of the attempt's span.
//
// # Attributes
//
//   - ax.task.id, ax.task.run, ax.task.kind, ax.task.attempt and ax.execution.id;
//   - of a task of a job ax.job, and of its fire ax.fire.time and ax.fire.count;
//   - ax.outcome, how the attempt ended: succeeded, failed, timeout, canceled, snoozed, released;
//   - ax.complete_tx, true if the handler has called [ax.CompleteTx]: where that was committed the
//     task has succeeded, whatever the handler says then;
//   - messaging.system "ax", messaging.operation.type and messaging.operation.name "process",
//     messaging.destination.name, which is the kind, and messaging.message.id, the task's id.
//
// The status is an error for failed and timeout; the text of the error and of a panic is an
// exception event. An attempt whose handler is not called, because its payload cannot be decrypted,
// or does not return, because its process has died, has no span: the history of the task tells.
package otelax
