package aside

import (
	"context"
	"log/slog"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/postgres/internal/wire"
	"github.com/ax-sched/ax/task"
)

// Note implements store.Noter. The locks are taken in the order of ids.
func (call Call) Note(ctx context.Context, notes []store.Note) error {
	notes = slices.Clone(notes)
	slices.SortFunc(notes, func(a, b store.Note) int { return wire.CompareIDs(a.TaskID, b.TaskID) })
	n := len(notes)
	a := &wire.Args{}
	a.Places(n)
	a.IDs(n, func(i int) task.ID { return notes[i].TaskID })
	a.IDs(n, func(i int) task.ID { return notes[i].ExecutionID })
	a.Bools(n, func(i int) bool { return notes[i].Changed })
	a.Int8s(n, func(i int) int64 { return int64(notes[i].At) })
	a.Int8s(n, func(i int) int64 { return notes[i].Done })
	a.Int8s(n, func(i int) int64 { return notes[i].Total })
	a.Bools(n, func(i int) bool { return notes[i].NewOutput })
	a.Byteas(n, func(i int) []byte {
		if !notes[i].NewOutput {
			return nil
		}
		return notes[i].Output
	})
	type line struct {
		note int
		*task.LogLine
	}
	var lines []line
	for i := range notes {
		for k := range notes[i].Lines {
			lines = append(lines, line{i + 1, &notes[i].Lines[k]})
		}
	}
	n = len(lines)
	a.Int4s(n, func(i int) int { return lines[i].note })
	a.Int8s(n, func(i int) int64 { return lines[i].Seq })
	a.Int8s(n, func(i int) int64 { return int64(lines[i].At) })
	a.Int4s(n, func(i int) int { return int(lines[i].Level) })
	a.Texts(n, func(i int) string { return wire.Storable(lines[i].Text) })
	a.Bools(len(notes), func(i int) bool {
		return slices.ContainsFunc(notes[i].Lines, func(l task.LogLine) bool { return l.Seq == 1 })
	})
	a.Int4(store.LogExecutions)
	return call(ctx, "note", WriteNotes, a, nil)
}

// Notes implements store.Noter.
func (call Call) Notes(ctx context.Context, ids []task.ID) ([]task.Progress, error) {
	a := &wire.Args{}
	a.IDs(len(ids), func(i int) task.ID { return ids[i] })
	out := []task.Progress{}
	err := call(ctx, "read notes", ReadNotes, a, func(r *wire.Row) {
		out = append(out, task.Progress{TaskID: r.ID(), ExecutionID: r.ID(), At: r.Time(),
			Done: r.Int8(), Total: r.Int8(), Output: r.Bytes()})
	})
	return out, err
}

// Logs implements store.Noter.
func (call Call) Logs(ctx context.Context, q store.LogQuery) ([]task.LogLine, error) {
	verb := ReadLog
	switch run := !q.Execution.IsZero(); {
	case run && q.Newest:
		verb = ReadRunLogNewest
	case run:
		verb = ReadRunLog
	case q.Newest:
		verb = ReadLogNewest
	}
	limit := q.Limit
	if limit <= 0 {
		limit = 100
	}
	a := &wire.Args{}
	a.ID(q.Task)
	a.IDOrFirst(q.After.Execution)
	a.Int8(q.After.Seq)
	a.Int8(int64(min(limit, 1000)))
	if !q.Execution.IsZero() {
		a.ID(q.Execution)
	}
	out := []task.LogLine{}
	err := call(ctx, "read log", verb, a, func(r *wire.Row) {
		out = append(out, task.LogLine{TaskID: q.Task, ExecutionID: r.ID(), Seq: r.Int8(),
			At: r.Time(), Level: slog.Level(r.Int4()), Text: r.Text()})
	})
	if q.Newest {
		slices.Reverse(out)
	}
	return out, err
}
