package sqlite

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/store/sqlite/internal/lite"
	"github.com/ax-sched/ax/task"
)

var _ store.Noter = (*Store)(nil)

// Note implements store.Noter.
func (s *Store) Note(ctx context.Context, notes []store.Note) error {
	rows := len(notes)
	for i := range notes {
		rows += len(notes[i].Lines)
	}
	err := s.writer.do(ctx, false, rows, func(t *tx) error {
		for i := range notes {
			if err := t.note(&notes[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("note: %w", err)
	}
	return nil
}

// note writes what one execution has said, if its task exists.
func (t *tx) note(o *store.Note) error {
	var n int64
	var last task.ID
	found, err := one(t.conn, findTask, func(q *lite.Stmt) { q.Blob(1, o.TaskID[:]) },
		func(q *lite.Stmt) { n, last = q.ColInt(0), readID(q, 5) })
	if err != nil || !found {
		return err
	}
	if o.Changed {
		_, err := t.run(noteProgress, func(q *lite.Stmt) {
			q.Blob(1, o.ExecutionID[:])
			q.Int(2, int64(o.At))
			q.Int(3, o.Done)
			q.Int(4, o.Total)
			q.Blob(5, o.Output)
			q.Int(6, n)
			q.Int(7, flag(o.NewOutput))
			q.Blob(8, last[:])
		})
		if err != nil {
			return err
		}
	}
	return t.noteLines(n, o)
}

func (t *tx) noteLines(n int64, o *store.Note) error {
	for i := range o.Lines {
		l := &o.Lines[i]
		_, err := t.run(noteLine, func(q *lite.Stmt) {
			q.Int(1, n)
			q.Blob(2, o.ExecutionID[:])
			q.Int(3, l.Seq)
			q.Int(4, int64(l.At))
			q.Int(5, int64(l.Level))
			q.Text(6, l.Text)
		})
		if err == nil && l.Seq == 1 {
			_, err = t.run(trimLog, func(q *lite.Stmt) {
				q.Int(1, n)
				q.Int(2, store.LogExecutions)
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Notes implements store.Noter. They come in the order of ids.
func (s *Store) Notes(ctx context.Context, ids []task.ID) ([]task.Progress, error) {
	out := []task.Progress{}
	err := s.readers.do(ctx, func(c *lite.Conn) error {
		for _, id := range unique(ids) {
			err := each(c, selectNotes, func(q *lite.Stmt) { q.Blob(1, id[:]) },
				func(q *lite.Stmt) error {
					out = append(out, task.Progress{TaskID: id, ExecutionID: readID(q, 0),
						At: task.Time(q.ColInt(1)), Done: q.ColInt(2), Total: q.ColInt(3),
						Output: q.ColBlob(4)})
					return nil
				})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read notes: %w", err)
	}
	return out, nil
}

// Logs implements store.Noter.
func (s *Store) Logs(ctx context.Context, q store.LogQuery) ([]task.LogLine, error) {
	query := selectLog
	switch run := !q.Execution.IsZero(); {
	case run && q.Newest:
		query = selectRunLogNewest
	case run:
		query = selectRunLog
	case q.Newest:
		query = selectLogNewest
	}
	out := []task.LogLine{}
	err := s.readers.do(ctx, func(c *lite.Conn) error {
		return each(c, query, func(st *lite.Stmt) {
			st.Blob(1, q.Task[:])
			st.Blob(2, q.After.Execution[:])
			st.Int(3, q.After.Seq)
			st.Int(4, int64(page(q.Limit, 100, 1000)))
			if !q.Execution.IsZero() {
				st.Blob(5, q.Execution[:])
			}
		}, func(st *lite.Stmt) error {
			out = append(out, task.LogLine{TaskID: q.Task, ExecutionID: readID(st, 0),
				Seq: st.ColInt(1), At: task.Time(st.ColInt(2)), Level: slog.Level(st.ColInt(3)),
				Text: st.ColText(4)})
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	if q.Newest {
		slices.Reverse(out)
	}
	return out, nil
}
