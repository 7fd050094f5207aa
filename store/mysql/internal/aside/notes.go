package aside

import (
	"bytes"
	"context"
	"log/slog"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/mysql/internal/wire"
	"github.com/ax-sched/ax/task"
)

// Note implements store.Noter. The locks are taken in the order of ids.
func (l Line) Note(ctx context.Context, notes []store.Note) error {
	if len(notes) == 0 {
		return nil
	}
	notes = slices.Clone(notes)
	slices.SortStableFunc(notes, func(a, b store.Note) int {
		return bytes.Compare(a.TaskID[:], b.TaskID[:])
	})
	return l.Tx(ctx, "note", func(c *wire.Conn) error {
		n := noter{c: c, notes: notes}
		return n.write(ctx)
	})
}

// noter is one transaction of notes.
type noter struct {
	c     *wire.Conn
	notes []store.Note
	last  map[task.ID]task.ID // task to its last execution
	kept  map[task.ID]said    // task to whose progress is kept
}

// said is whose progress is kept, and of when it is.
type said struct {
	execution task.ID
	at        task.Time
}

func (n *noter) write(ctx context.Context) error {
	n.last, n.kept = map[task.ID]task.ID{}, map[task.ID]said{}
	ids := make([]task.ID, len(n.notes))
	for i := range n.notes {
		ids[i] = n.notes[i].TaskID
	}
	a := &wire.Args{}
	a.IDs(slices.Compact(ids))
	err := n.c.Each(ctx, lastExecutions, a, func(r *wire.Row) { n.last[r.ID()] = r.ID() })
	if err == nil {
		err = n.c.Each(ctx, lockProgress, a, func(r *wire.Row) {
			n.kept[r.ID()] = said{r.ID(), r.Time()}
		})
	}
	for i := range n.notes {
		if _, there := n.last[n.notes[i].TaskID]; there && err == nil {
			if err = n.progress(ctx, &n.notes[i]); err == nil {
				err = n.lines(ctx, &n.notes[i])
			}
		}
	}
	return err
}

// progress keeps what a note says of the progress, unless an execution that counts more has said
// something.
func (n *noter) progress(ctx context.Context, o *store.Note) error {
	if !o.Changed {
		return nil
	}
	kept, found := n.kept[o.TaskID]
	output := o.Output
	if !o.NewOutput {
		output = nil
	}
	a := &wire.Args{}
	v := insertProgress
	switch last := n.last[o.TaskID]; {
	case !found:
		a.ID(o.TaskID)
	case kept.execution == o.ExecutionID && o.At < kept.at:
		return nil
	case kept.execution == o.ExecutionID && !o.NewOutput:
		v = moveProgress
	case kept.execution == o.ExecutionID, o.ExecutionID == last:
		v = replaceProgress
	case kept.execution == last, bytes.Compare(o.ExecutionID[:], kept.execution[:]) < 0:
		return nil
	default:
		v = replaceProgress
	}
	if v != moveProgress {
		a.Text(string(o.ExecutionID[:]))
	}
	a.Time(o.At)
	a.Int(o.Done)
	a.Int(o.Total)
	if v != moveProgress {
		a.Bytes(output)
	}
	if found {
		a.ID(o.TaskID)
	}
	n.kept[o.TaskID] = said{o.ExecutionID, o.At}
	_, err := n.c.Exec(ctx, v, a)
	return err
}

// lines writes the lines of a note. The first of an execution makes room for those of it.
func (n *noter) lines(ctx context.Context, o *store.Note) error {
	first := false
	for part := range slices.Chunk(o.Lines, wire.MostRows) {
		a := &wire.Args{}
		a.Rows(len(part))
		for i := range part {
			first = first || part[i].Seq == 1
			a.Text(string(o.TaskID[:]))
			a.Text(string(o.ExecutionID[:]))
			a.Int(part[i].Seq)
			a.Time(part[i].At)
			a.Int(int64(part[i].Level))
			a.Text(part[i].Text)
		}
		if _, err := n.c.Exec(ctx, insertLines, a); err != nil {
			return err
		}
	}
	if !first {
		return nil
	}
	a := &wire.Args{}
	a.ID(o.TaskID)
	a.Int(store.LogExecutions)
	old := ""
	err := n.c.Each(ctx, oldExecution, a, func(r *wire.Row) { old = r.Text() })
	if err != nil || old == "" {
		return err
	}
	a = &wire.Args{}
	a.ID(o.TaskID)
	a.Text(old)
	_, err = n.c.Exec(ctx, dropLines, a)
	return err
}

// Notes implements store.Noter. They come in the order of ids.
func (l Line) Notes(ctx context.Context, ids []task.ID) ([]task.Progress, error) {
	out := []task.Progress{}
	if len(ids) == 0 {
		return out, nil
	}
	a := &wire.Args{}
	a.IDs(ids)
	err := l.each(ctx, "read notes", readNotes, a, func(r *wire.Row) {
		out = append(out, task.Progress{TaskID: r.ID(), ExecutionID: r.ID(), At: r.Time(),
			Done: r.Int(), Total: r.Int(), Output: r.Bytes()})
	})
	return out, err
}

// Logs implements store.Noter.
func (l Line) Logs(ctx context.Context, q store.LogQuery) ([]task.LogLine, error) {
	v := readLog
	switch run := !q.Execution.IsZero(); {
	case run && q.Newest:
		v = readRunLogNewest
	case run:
		v = readRunLog
	case q.Newest:
		v = readLogNewest
	}
	limit := q.Limit
	if limit <= 0 {
		limit = 100
	}
	a := &wire.Args{}
	a.Text(string(q.Task[:]))
	a.Text(string(q.After.Execution[:]))
	a.Text(string(q.After.Execution[:]))
	a.Int(q.After.Seq)
	if !q.Execution.IsZero() {
		a.ID(q.Execution)
	}
	a.Int(int64(min(limit, 1000)))
	out := []task.LogLine{}
	err := l.each(ctx, "read log", v, a, func(r *wire.Row) {
		out = append(out, task.LogLine{TaskID: q.Task, ExecutionID: r.ID(), Seq: r.Int(),
			At: r.Time(), Level: slog.Level(r.Int()), Text: r.Text()})
	})
	if q.Newest {
		slices.Reverse(out)
	}
	return out, err
}
