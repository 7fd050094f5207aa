package notes

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/ax-sched/ax/task"
)

// handler hands records on, and keeps them as lines of an execution.
type handler struct {
	next slog.Handler
	e    *Execution
	// with are the calls of WithAttrs and WithGroup, to be repeated for each record: a handler of
	// slog that several goroutines share would format under a lock, and what it formats may log.
	with []func(slog.Handler) slog.Handler
}

// Handler returns a handler that hands records to next and keeps them for the execution too.
func (e *Execution) Handler(next slog.Handler) slog.Handler { return &handler{next: next, e: e} }

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.e.C.cfg.Level.Level() || h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= h.e.C.cfg.Level.Level() {
		text := task.Masked(h.text(ctx, r), h.e.C.cfg.Redact)
		h.e.line(r.Level, task.CutText(text, task.MaxLogLine))
	}
	if !h.next.Enabled(ctx, r.Level) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

// text is the message and the attributes as slog's text handler writes them, without time and
// level: those have their own places.
func (h *handler) text(ctx context.Context, r slog.Record) string {
	const noMessage = ` msg=""`
	bare := slog.NewRecord(time.Time{}, r.Level, "", 0)
	r.Attrs(func(a slog.Attr) bool { bare.AddAttrs(a); return true })
	var b bytes.Buffer
	var t slog.Handler = slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.Level(-1 << 20)})
	for _, f := range h.with {
		t = f(t)
	}
	_ = t.Handle(ctx, bare) // a buffer takes everything
	_, attrs, _ := strings.Cut(strings.TrimSuffix(b.String(), "\n"), noMessage)
	return r.Message + attrs
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(as []slog.Attr) slog.Handler {
	return h.add(func(t slog.Handler) slog.Handler { return t.WithAttrs(as) })
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return h.add(func(t slog.Handler) slog.Handler { return t.WithGroup(name) })
}

func (h *handler) add(f func(slog.Handler) slog.Handler) slog.Handler {
	return &handler{next: f(h.next), e: h.e, with: append(slices.Clip(h.with), f)}
}
