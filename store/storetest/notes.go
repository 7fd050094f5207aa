package storetest

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

var noteTests = []test{
	{"Progress", testNoteProgress},
	{"LastExecutionCounts", testNoteExecutions},
	{"LaterExecutionCounts", testNoteOrder},
	{"LogOrderAndPages", testNoteLog},
	{"LogOfFewExecutions", testNoteTrim},
	{"UnknownTask", testNoteUnknown},
	{"NoRowChanges", testNoteRow},
	{"Prune", testNotePrune},
	{"Concurrent", testNoteConcurrent},
}

// noter returns the ability, which every store has.
func noter(t *testing.T, s Full) store.Noter {
	t.Helper()
	n, ok := store.As[store.Noter](s)
	if !ok {
		t.Fatal("the store does not implement store.Noter")
	}
	return n
}

// note writes notes, twice: a repeated call changes nothing.
func note(t *testing.T, s Full, ns ...store.Note) {
	t.Helper()
	for range 2 {
		if err := noter(t, s).Note(t.Context(), ns); err != nil {
			t.Fatalf("note: %v", err)
		}
	}
}

// noted returns what is kept of a task's progress, and whether anything is.
func noted(t *testing.T, s Full, id task.ID) (task.Progress, bool) {
	t.Helper()
	ps, err := noter(t, s).Notes(t.Context(), []task.ID{id, id})
	switch {
	case err != nil:
		t.Fatalf("notes: %v", err)
	case len(ps) == 0:
		return task.Progress{}, false
	case len(ps) > 1:
		t.Errorf("%d notes of one task", len(ps))
	}
	return ps[0], true
}

// lines reads a page of a log.
func lines(t *testing.T, s Full, q store.LogQuery) []task.LogLine {
	t.Helper()
	ls, err := noter(t, s).Logs(t.Context(), q)
	if err != nil {
		t.Fatalf("logs: %v", err)
	}
	return ls
}

// runs returns the row of a task that runs.
func runs(t *testing.T, s Full) task.Task {
	t.Helper()
	return inState(t, s, task.Running, nil)
}

// progress is a note of the last execution of a row.
func progress(row task.Task, at task.Time, done int64) store.Note {
	return store.Note{Changed: true, Progress: task.Progress{TaskID: row.ID,
		ExecutionID: row.ExecutionID, At: at, Done: done, Total: 10}}
}

// testNoteProgress: the latest word counts, and an output stays until there is another.
func testNoteProgress(t *testing.T, s Full) {
	row := runs(t, s)
	if p, ok := noted(t, s, row.ID); ok {
		t.Errorf("before the first note: %+v", p)
	}
	steps := []struct {
		name   string
		note   func() store.Note
		done   int64
		output []byte
	}{
		{"first", func() store.Note { return progress(row, 100, 1) }, 1, nil},
		{"later", func() store.Note { return progress(row, 101, 2) }, 2, nil},
		{"of the same time", func() store.Note { return progress(row, 101, 1) }, 1, nil},
		{"earlier", func() store.Note { return progress(row, 99, 7) }, 1, nil},
		{"with output", func() store.Note {
			n := progress(row, 102, 3)
			n.NewOutput, n.Output = true, []byte("{\x00\xff}")
			return n
		}, 3, []byte("{\x00\xff}")},
		{"without output", func() store.Note { return progress(row, 103, 4) }, 4,
			[]byte("{\x00\xff}")},
		{"lines alone", func() store.Note {
			n := progress(row, 104, 9)
			n.Changed, n.Lines = false, []task.LogLine{{Seq: 1, At: 1, Text: "x"}}
			return n
		}, 4, []byte("{\x00\xff}")},
		{"large output", func() store.Note {
			n := progress(row, 105, 5)
			n.NewOutput, n.Output = true, bytes.Repeat([]byte("x"), task.MaxOutput)
			return n
		}, 5, bytes.Repeat([]byte("x"), task.MaxOutput)},
		{"of unknown length", func() store.Note {
			n := progress(row, 106, 6)
			n.Total = 0
			return n
		}, 6, bytes.Repeat([]byte("x"), task.MaxOutput)},
	}
	for _, st := range steps {
		n := st.note()
		note(t, s, n)
		p, ok := noted(t, s, row.ID)
		if !ok || p.Done != st.done || !bytes.Equal(p.Output, st.output) ||
			p.TaskID != row.ID || p.ExecutionID != row.ExecutionID {
			t.Errorf("%s: done %d with %d bytes, %t; want %d with %d", st.name, p.Done,
				len(p.Output), ok, st.done, len(st.output))
		}
	}
	if p, _ := noted(t, s, row.ID); p.Total != 0 || p.At != 106 {
		t.Errorf("the last note is %d of %d at %d", p.Done, p.Total, p.At)
	}
}

// testNoteExecutions: only the last execution of a task has progress; it stays when that has ended.
func testNoteExecutions(t *testing.T, s Full) {
	first := runs(t, s)
	n := progress(first, 500, 5)
	n.NewOutput, n.Output = true, []byte("first")
	note(t, s, n)
	waits := mustApply(t, s, follow(&first, task.Fail, task.Retry))
	if p, ok := noted(t, s, first.ID); !ok || p.Done != 5 || string(p.Output) != "first" {
		t.Errorf("after the failure: %+v", p)
	}
	second := mustApply(t, s, follow(&waits, task.ClaimLocal))
	note(t, s, progress(first, 600, 6))
	if p, _ := noted(t, s, first.ID); p.Done != 6 || string(p.Output) != "first" {
		t.Errorf("the last words of the first execution, before the first ones of the second: %+v", p)
	}
	note(t, s, progress(second, 400, 1)) // the clock of another process
	if p, _ := noted(t, s, first.ID); p.Done != 1 || p.Output != nil ||
		p.ExecutionID != second.ExecutionID {
		t.Errorf("the first note of the second execution: %+v", p)
	}
	late := progress(first, 700, 7)
	late.Lines = []task.LogLine{{Seq: 3, At: 700, Text: "late"}}
	note(t, s, late, progress(second, 401, 2))
	if p, _ := noted(t, s, first.ID); p.Done != 2 || p.ExecutionID != second.ExecutionID {
		t.Errorf("notes of both: %+v", p)
	}
	if ls := lines(t, s, store.LogQuery{Task: first.ID}); len(ls) != 1 || ls[0].Text != "late" {
		t.Errorf("the line of the first execution: %+v", ls)
	}
}

// testNoteOrder: of executions that are not the last one the later one counts, whatever comes first
// and in how many calls; and none against the last one, whose id may be smaller than theirs.
func testNoteOrder(t *testing.T, s Full) {
	var early, late task.Task
	with := func(row task.Task, execution task.ID) task.Task {
		row.ExecutionID = execution
		return row
	}
	for _, tt := range []struct {
		name  string
		calls func() [][]store.Note
	}{
		{"in order", func() [][]store.Note {
			return [][]store.Note{{progress(early, 9, 1)}, {progress(late, 1, 2)}}
		}},
		{"backwards", func() [][]store.Note {
			return [][]store.Note{{progress(late, 1, 2)}, {progress(early, 9, 1)}}
		}},
		{"at once", func() [][]store.Note {
			return [][]store.Note{{progress(late, 1, 2), progress(early, 9, 1)}}
		}},
	} {
		a, b := newID(), newID()
		row := runs(t, s) // its own id is larger
		c := newID()
		early, late = with(row, a), with(row, b)
		for _, call := range tt.calls() {
			note(t, s, call...)
		}
		if p, _ := noted(t, s, row.ID); p.Done != 2 || p.ExecutionID != b {
			t.Errorf("%s: %+v; want that of the later execution", tt.name, p)
		}
		note(t, s, progress(with(row, c), 1, 3), progress(row, 1, 4))
		if p, _ := noted(t, s, row.ID); p.Done != 4 || p.ExecutionID != row.ExecutionID {
			t.Errorf("%s, then the last one: %+v", tt.name, p)
		}
		note(t, s, progress(with(row, c), 5, 5))
		if p, _ := noted(t, s, row.ID); p.Done != 4 {
			t.Errorf("%s: against the last one counts %+v", tt.name, p)
		}
	}
}

// testNoteLog: lines come back as they were, in order, page by page from either end.
func testNoteLog(t *testing.T, s Full) {
	row := runs(t, s)
	levels := []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError, 0, 12}
	var want []task.LogLine
	for range 2 {
		execution := newID()
		for seq := range int64(30) {
			text := fmt.Sprintf("line %d\n\t\"é\u2400\" %s", seq, strings.Repeat("x", int(seq)*50))
			if seq == 0 {
				text = ""
			}
			want = append(want, task.LogLine{TaskID: row.ID, ExecutionID: execution,
				Seq: 2*seq + 5, At: task.Time(1000 - seq), Level: levels[int(seq)%len(levels)],
				Text: text})
		}
	}
	for i := len(want) - 1; i >= 0; i -= 10 { // in any order
		n := store.Note{Progress: task.Progress{TaskID: row.ID, ExecutionID: want[i].ExecutionID}}
		for _, l := range want[i-9 : i+1] {
			l.TaskID, l.ExecutionID = task.ID{}, task.ID{} // those of the note count
			n.Lines = append(n.Lines, l)
		}
		note(t, s, n)
	}
	changed := store.Note{Progress: task.Progress{TaskID: row.ID, ExecutionID: want[0].ExecutionID},
		Lines: []task.LogLine{{Seq: 5, At: 1, Text: "another text of the same line"}}}
	note(t, s, changed)
	page := func(what string, q store.LogQuery, want []task.LogLine) {
		t.Helper()
		q.Task = row.ID
		same(t, what, want, lines(t, s, q))
	}
	mark := func(i int) store.LogMark {
		return store.LogMark{Execution: want[i].ExecutionID, Seq: want[i].Seq}
	}
	page("all", store.LogQuery{}, want)
	page("a page", store.LogQuery{Limit: 7}, want[:7])
	page("the next", store.LogQuery{After: mark(6), Limit: 7}, want[7:14])
	page("over the border", store.LogQuery{After: mark(27), Limit: 7}, want[28:35])
	page("behind a line that is not there", store.LogQuery{Limit: 2,
		After: store.LogMark{Execution: want[0].ExecutionID, Seq: 6}}, want[1:3])
	page("behind the last", store.LogQuery{After: mark(59)}, nil)
	page("the newest", store.LogQuery{Newest: true, Limit: 32}, want[28:])
	page("the newest behind one", store.LogQuery{Newest: true, After: mark(57)}, want[58:])
	page("one execution", store.LogQuery{Execution: want[0].ExecutionID}, want[:30])
	page("the newest of it", store.LogQuery{Execution: want[0].ExecutionID, Newest: true, Limit: 3},
		want[27:30])
	page("its next page", store.LogQuery{Execution: want[0].ExecutionID, After: mark(9), Limit: 5},
		want[10:15])
	page("its newest behind one", store.LogQuery{Execution: want[0].ExecutionID, After: mark(25),
		Newest: true, Limit: 2}, want[28:30])
	page("another", store.LogQuery{Execution: newID()}, nil)
	if ls := lines(t, s, store.LogQuery{Task: newID()}); len(ls) != 0 {
		t.Errorf("%d lines of a task that does not exist", len(ls))
	}
}

// testNoteTrim: the log of a task that runs again and again does not grow for ever.
func testNoteTrim(t *testing.T, s Full) {
	row, other := runs(t, s), runs(t, s)
	var all []task.ID
	for i := range store.LogExecutions + 5 {
		all = append(all, newID())
		for _, id := range []task.ID{row.ID, other.ID} {
			if id == other.ID && i > 0 {
				continue
			}
			note(t, s, store.Note{Progress: task.Progress{TaskID: id, ExecutionID: all[i]},
				Lines: []task.LogLine{{Seq: 1, At: 1, Text: "a"}, {Seq: 2, At: 1, Text: "b"}}})
		}
	}
	ls := lines(t, s, store.LogQuery{Task: row.ID})
	if len(ls) != 2*store.LogExecutions || ls[0].ExecutionID != all[5] || ls[0].Seq != 1 {
		t.Errorf("%d lines are kept, of %d executions; want the last %d", len(ls), len(ls)/2,
			store.LogExecutions)
	}
	if ls := lines(t, s, store.LogQuery{Task: other.ID}); len(ls) != 2 {
		t.Errorf("another task has %d lines; want 2", len(ls))
	}
}

// testNoteUnknown: what nobody can ask for is dropped, and holds up nothing else of the call.
func testNoteUnknown(t *testing.T, s Full) {
	row, gone := runs(t, s), task.Task{ID: newID()}
	gone.ExecutionID = newID()
	n := progress(gone, 1, 1)
	n.Lines = []task.LogLine{{Seq: 1, At: 1, Text: "x"}}
	note(t, s, n, progress(row, 1, 2))
	if p, ok := noted(t, s, gone.ID); ok {
		t.Errorf("a note of no task is kept: %+v", p)
	}
	if p, _ := noted(t, s, row.ID); p.Done != 2 {
		t.Errorf("beside one of no task: %+v", p)
	}
	gone.Kind, gone.Group, gone.Bucket, gone.State = "k", "g", task.Low, task.Scheduled
	gone.Run, gone.RunAt, gone.ExecutionID = 1, 1, task.ID{}
	insert(t, s, gone)
	if ls := lines(t, s, store.LogQuery{Task: gone.ID}); len(ls) != 0 {
		t.Errorf("a new task has the log of an earlier note: %+v", ls)
	}
	note(t, s)
}

// testNoteRow: notes change no task.
func testNoteRow(t *testing.T, s Full) {
	for _, state := range []task.State{task.Scheduled, task.Running, task.Succeeded, task.Held} {
		row := inState(t, s, state, func(tk *task.Task) { tk.Payload = []byte("p") })
		h := history(t, s, row.ID)
		n := progress(row, 1, 1)
		if n.ExecutionID.IsZero() {
			n.ExecutionID = newID()
		}
		n.NewOutput, n.Output = true, []byte("o")
		n.Lines = []task.LogLine{{Seq: 1, At: 1, Text: "x"}}
		note(t, s, n)
		same(t, "row in "+state.String(), row, read(t, s, row.ID))
		same(t, "history in "+state.String(), h, history(t, s, row.ID))
	}
}

// testNotePrune: what belongs to a task goes with it.
func testNotePrune(t *testing.T, s Full) {
	kind := name("kind")
	var ids []task.ID
	for range 3 {
		row := inState(t, s, task.Running, func(tk *task.Task) { tk.Kind = kind })
		row = mustApply(t, s, follow(&row, task.Succeed))
		ids = append(ids, row.ID)
		n := progress(row, 1, 1)
		n.Lines = []task.LogLine{{Seq: 1, At: 1, Text: "x"}}
		note(t, s, n)
	}
	kept := inState(t, s, task.Running, func(tk *task.Task) { tk.Kind = kind })
	n := progress(kept, 1, 1)
	n.Lines = []task.LogLine{{Seq: 1, At: 1, Text: "x"}}
	note(t, s, n)
	if n := prune(t, s, store.Fence{}, store.Prune{Keep: only(kind, keepNone)}); n != 3 {
		t.Fatalf("%d tasks were deleted; want 3", n)
	}
	for _, id := range append(ids, kept.ID) {
		// A new task with the id would show what was left behind.
		tk := newTask("again")
		tk.ID = id
		insert(t, s, tk)
		_, ok := noted(t, s, id)
		ls := lines(t, s, store.LogQuery{Task: id})
		if want := id == kept.ID; ok != want || len(ls) > 0 != want {
			t.Errorf("task %s: progress %t and %d lines; want any: %t", id, ok, len(ls), want)
		}
	}
}

// testNoteConcurrent: many executions of some tasks speak at the same time, in calls that hold the
// tasks in any order, while the rows move.
func testNoteConcurrent(t *testing.T, s Full) {
	var rows []task.Task
	for range 6 {
		rows = append(rows, runs(t, s))
	}
	const writers, rounds = 4, 10
	errs := make([]error, writers+1)
	async(writers+1, func(w int) {
		if w == writers {
			for i := range rows {
				_, err := s.Apply(t.Context(), store.Fence{},
					[]*task.Transition{follow(&rows[i], task.Succeed)})
				errs[w] = err
			}
			return
		}
		execution := newID()
		for round := range rounds {
			var ns []store.Note
			for i := range rows {
				row := rows[(i+2*w)%len(rows)]
				if w%2 == 1 {
					row = rows[len(rows)-1-i]
				}
				if w > 0 {
					row.ExecutionID = execution
				}
				n := progress(row, task.Time(round), int64(round))
				n.Lines = []task.LogLine{{Seq: int64(round + 1), At: 1, Text: "x"}}
				ns = append(ns, n)
			}
			if err := noter(t, s).Note(t.Context(), ns); err != nil {
				errs[w] = err
			}
		}
	})
	for w, err := range errs {
		if err != nil {
			t.Errorf("writer %d: %v", w, err)
		}
	}
	for _, row := range rows {
		if p, ok := noted(t, s, row.ID); !ok || p.Done != rounds-1 {
			t.Errorf("task %s: %+v; want done %d", row.ID, p, rounds-1)
		}
		if ls := lines(t, s, store.LogQuery{Task: row.ID}); len(ls) != writers*rounds {
			t.Errorf("task %s has %d lines; want %d", row.ID, len(ls), writers*rounds)
		}
		if got := read(t, s, row.ID); got.State != task.Succeeded {
			t.Errorf("task %s is %s", row.ID, got.State)
		}
	}
}
