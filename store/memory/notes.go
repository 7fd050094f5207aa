package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// notes is what the executions of one task have said.
type notes struct {
	progress task.Progress // of no execution: none has said anything
	log      []task.LogLine
}

// Note implements store.Noter.
func (s *Store) Note(ctx context.Context, ns []store.Note) error {
	if _, err := s.begin(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for i := range ns {
		if r := s.rows[ns[i].TaskID]; r != nil {
			r.note(&ns[i])
		}
	}
	return nil
}

func (r *row) note(n *store.Note) {
	if r.notes == nil {
		r.notes = &notes{}
	}
	was := r.notes.progress
	same := was.ExecutionID == n.ExecutionID
	if n.Changed && r.counts(n) {
		now := n.Progress
		now.Output = nil
		switch {
		case n.NewOutput:
			now.Output = bytes.Clone(n.Output)
		case same:
			now.Output = was.Output
		}
		r.notes.progress = now
	}
	for _, l := range n.Lines {
		l.TaskID, l.ExecutionID = n.TaskID, n.ExecutionID
		i, found := slices.BinarySearchFunc(r.notes.log, l, compareLines)
		if !found {
			r.notes.log = slices.Insert(r.notes.log, i, l)
		}
		if l.Seq == 1 {
			r.notes.trim()
		}
	}
}

// trim drops the lines of executions before the last few.
func (n *notes) trim() {
	var last task.ID
	for i, kept := len(n.log)-1, 0; i >= 0; i-- {
		if n.log[i].ExecutionID == last {
			continue
		}
		last = n.log[i].ExecutionID
		if kept++; kept > store.LogExecutions {
			n.log = slices.Delete(n.log, 0, i+1)
			return
		}
	}
}

// counts reports whether the progress in a note replaces what is kept.
func (r *row) counts(n *store.Note) bool {
	was := &r.notes.progress
	switch {
	case was.ExecutionID == n.ExecutionID:
		return n.At >= was.At
	case n.ExecutionID == r.ExecutionID || was.ExecutionID.IsZero():
		return true
	case was.ExecutionID == r.ExecutionID:
		return false
	}
	return bytes.Compare(was.ExecutionID[:], n.ExecutionID[:]) < 0
}

func compareLines(a, b task.LogLine) int {
	return cmp.Or(bytes.Compare(a.ExecutionID[:], b.ExecutionID[:]), cmp.Compare(a.Seq, b.Seq))
}

// Notes implements store.Noter. They come in the order of ids.
func (s *Store) Notes(ctx context.Context, ids []task.ID) ([]task.Progress, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	out := []task.Progress{}
	seen := make(map[task.ID]bool, len(ids))
	for _, id := range ids {
		r := s.rows[id]
		if r == nil || seen[id] || r.notes == nil || r.notes.progress.ExecutionID.IsZero() {
			continue
		}
		seen[id] = true
		p := r.notes.progress
		p.Output = bytes.Clone(p.Output)
		out = append(out, p)
	}
	return out, nil
}

// Logs implements store.Noter.
func (s *Store) Logs(ctx context.Context, q store.LogQuery) ([]task.LogLine, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	r := s.rows[q.Task]
	if r == nil || r.notes == nil {
		return nil, nil
	}
	after := task.LogLine{ExecutionID: q.After.Execution, Seq: q.After.Seq}
	out := slices.DeleteFunc(slices.Clone(r.notes.log), func(l task.LogLine) bool {
		return compareLines(l, after) <= 0 ||
			!q.Execution.IsZero() && l.ExecutionID != q.Execution
	})
	limit := page(q.Limit, 100, 1000)
	if q.Newest && len(out) > limit {
		out = out[len(out)-limit:]
	}
	return out[:min(len(out), limit)], nil
}
