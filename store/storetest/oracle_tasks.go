package storetest

import (
	"errors"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// texts are what random errors, results and details are drawn from.
var texts = []string{"", "boom", "quote ' and \\", "Ü 订单", "tab\tnew\nline"}

// drawTask draws a new task, or one that was inserted before.
func (w *world) drawTask() task.Task {
	rt := w.rt
	if len(w.stale) > 0 && rapid.IntRange(0, 9).Draw(rt, "again") == 0 {
		tk := rapid.SampledFrom(w.stale).Draw(rt, "task")
		tk.State, tk.OverlapKey = task.Scheduled, ""
		return tk
	}
	tk := newTask("x")
	tk.Kind, tk.Group = w.kind, w.group
	tk.Bucket = rapid.SampledFrom([]task.Bucket{task.Critical, task.Normal}).Draw(rt, "bucket")
	tk.Payload = []byte(rapid.SampledFrom(texts).Draw(rt, "payload"))
	if n := rapid.IntRange(0, 5).Draw(rt, "key"); n < len(w.keys) {
		tk.Key = w.keys[n]
		tk.Unique = rapid.SampledFrom([]task.Unique{task.UniqueLive, task.UniqueLive, 1000,
			hour, task.UniqueForever}).Draw(rt, "unique")
	}
	if n := rapid.IntRange(0, 2).Draw(rt, "overlap"); n < len(w.overlaps) {
		tk.OverlapKey = w.overlaps[n]
		tk.Overlap = rapid.SampledFrom([]task.Overlap{task.OverlapSkip, task.OverlapQueue,
			task.OverlapReplace}).Draw(rt, "policy")
	}
	if rapid.Bool().Draw(rt, "absolute") {
		tk.RunAt = w.drawTime()
	} else if rapid.Bool().Draw(rt, "delayed") {
		tk.RunIn = 3_600_000_000_000
	}
	switch rapid.IntRange(0, 5).Draw(rt, "options") {
	case 0:
		tk.ExpiresAt = w.start.Add(-time.Hour)
	case 1:
		tk.ExpiresAt, tk.OnUnknown = w.start.Add(1000*time.Hour), task.UnknownHold
	case 2:
		tk.MaxLateness, tk.MaxLifetime = time.Second, time.Hour
	}
	if rapid.Bool().Draw(rt, "labels") {
		tk.Labels = map[string]string{"a": "b"}
	}
	if tk.OverlapKey == "" && rapid.IntRange(0, 3).Draw(rt, "claimed") == 0 {
		tk.State, tk.RunAt, tk.RunIn = task.Running, task.StoreNow, 0
		w.assign(&tk.Mutable)
		tk.StartedAt = task.StoreNow
	}
	return tk
}

// assign sets what a claim sets.
func (w *world) assign(m *task.Mutable) {
	m.Attempt++
	m.Executor, m.ExecutionID, m.Token = "exec", newID(), 1
	m.Epoch = rapid.SampledFrom(w.epochs).Draw(w.rt, "epoch")
	m.DispatchedAt = task.StoreNow
}

// insert inserts some tasks under some fence.
func (w *world) insert() {
	tasks := make([]task.Task, rapid.IntRange(1, 4).Draw(w.rt, "tasks"))
	claimed := false
	for i := range tasks {
		tasks[i] = w.drawTask()
		claimed = claimed || tasks[i].State == task.Running
	}
	sameScopes(tasks)
	f, stale := w.fence()
	if !claimed {
		f, stale = store.Fence{}, false
	}
	w.insertBoth(f, stale, tasks)
}

// sameScopes gives tasks with one key one scope: which of the tasks in its way is named to one with
// another scope depends on the order in which a store looks.
func sameScopes(tasks []task.Task) {
	of := make(map[string]task.Unique)
	for i := range tasks {
		if t := &tasks[i]; t.Key != "" {
			if _, ok := of[t.Key]; !ok {
				of[t.Key] = t.Unique
			}
			t.Unique = of[t.Key]
		}
	}
}

// keepKeys inserts a task with each key and a window, to see whether both sides agree on what is
// kept, and for whom.
func (w *world) keepKeys() {
	tasks := make([]task.Task, len(w.keys))
	for i := range tasks {
		tasks[i] = newTask("x")
		tasks[i].Kind, tasks[i].Group, tasks[i].Key = w.kind, w.group, w.keys[i]
		tasks[i].Unique = hour
	}
	w.insertBoth(store.Fence{}, false, tasks)
}

// insertBoth inserts tasks on both sides and compares the answers.
func (w *world) insertBoth(f store.Fence, stale bool, tasks []task.Task) {
	real, err := w.real.Insert(w.ctx, f, tasks)
	if err == nil && len(real) > 0 {
		w.at = real[0].At
	}
	mem, merr := w.mem.Insert(w.ctx, f, tasks)
	if stale {
		w.fenced("insert", err, merr)
		return
	}
	w.must("insert", err, merr)
	w.same("answers of insert", mem, real)
	for _, in := range mem {
		if in.Version != 0 && !slices.Contains(w.ids, in.ID) { // else it was deleted
			w.ids = append(w.ids, in.ID)
		}
	}
	w.remember()
}

func (w *world) fenced(what string, real, mem error) {
	if !errors.Is(real, store.ErrFenced) || !errors.Is(mem, store.ErrFenced) {
		w.rt.Fatalf("%s under a stale token: %v; the oracle: %v", what, real, mem)
	}
}

// remember keeps the rows as they are now, to be used as stale ones later.
func (w *world) remember() {
	rows, err := w.mem.Tasks(w.ctx, w.ids)
	w.must("tasks", nil, err)
	w.stale = append(w.stale, rows...)
}

// drawPlan draws a transition of row, which may be out of date, by random legal moves.
func (w *world) drawPlan(row task.Task) *task.Transition {
	rt := w.rt
	tr := task.Begin(&row)
	for {
		var out []task.Event
		for _, l := range task.Moves() {
			if l.From == tr.Set.State {
				out = append(out, l.Event)
			}
		}
		e := rapid.SampledFrom(out).Draw(rt, "event")
		if tr.Set.State == task.Scheduled && rapid.Bool().Draw(rt, "claim") {
			e = task.Claim // or most tasks would end before they began
		}
		tr.By(rapid.SampledFrom(texts).Draw(rt, "actor"), e, task.NoReason,
			rapid.SampledFrom(texts).Draw(rt, "detail"))
		effect(&tr.Set, e)
		if e == task.Claim || e == task.ClaimLocal {
			w.assign(&tr.Set)
		}
		if tr.Set.State.Resting() && rapid.IntRange(0, 3).Draw(rt, "more") > 0 {
			break
		}
	}
	tr.Set.Error = rapid.SampledFrom(texts).Draw(rt, "error")
	tr.Set.Result = []byte(rapid.SampledFrom(texts).Draw(rt, "result"))
	if rapid.IntRange(0, 3).Draw(rt, "move") == 0 {
		tr.Set.RunAt, tr.Set.RunIn = w.drawTime(), 0
	}
	tr.WhenDue = rapid.IntRange(0, 2).Draw(rt, "when due") == 0
	switch rapid.IntRange(0, 5).Draw(rt, "execution") {
	case 0:
		tr.Execution = row.ExecutionID
	case 1:
		tr.Execution = newID()
	}
	return tr.Keys(&row)
}

// drawPlans draws transitions of different tasks. No two of them concern one key, because who
// comes first is left to the store then.
func (w *world) drawPlans() []*task.Transition {
	var trs []*task.Transition
	taken := map[string]bool{}
	for range rapid.IntRange(1, 5).Draw(w.rt, "transitions") {
		rows, err := w.mem.Tasks(w.ctx, []task.ID{rapid.SampledFrom(w.ids).Draw(w.rt, "task")})
		w.must("tasks", nil, err)
		row := rows[0]
		if rapid.IntRange(0, 5).Draw(w.rt, "stale") == 0 {
			row = rapid.SampledFrom(w.stale).Draw(w.rt, "stale row")
		}
		tr := w.drawPlan(row)
		if rapid.IntRange(0, 19).Draw(w.rt, "ghost") == 0 {
			tr.ID = newID()
		}
		names := []string{"id " + tr.ID.String(), "row " + row.ID.String()}
		if row.OverlapKey != "" {
			names = append(names, "overlap "+row.OverlapKey)
		}
		if row.Key != "" {
			names = append(names, "key "+row.Key)
		}
		if slices.ContainsFunc(names, func(n string) bool { return taken[n] }) {
			continue
		}
		for _, n := range names {
			taken[n] = true
		}
		trs = append(trs, tr)
	}
	return trs
}

// causes returns every reason for which the oracle's rows refuse tr at an instant. Where there are
// several, a store may answer any of them.
func (w *world) causes(tr *task.Transition, at task.Time) []store.Status {
	rows, err := w.mem.Tasks(w.ctx, []task.ID{tr.ID})
	w.must("tasks", nil, err)
	var out []store.Status
	if len(rows) == 0 {
		out = append(out, store.Gone)
		rows = make([]task.Task, 1)
	}
	row := rows[0]
	if row.Version != tr.Version || row.State != tr.From ||
		!tr.Execution.IsZero() && row.ExecutionID != tr.Execution {
		out = append(out, store.Conflict)
	}
	if tr.WhenDue && row.RunAt > at {
		out = append(out, store.NotDue)
	}
	all, err := w.mem.Tasks(w.ctx, w.ids)
	w.must("tasks", nil, err)
	for i := range all {
		o := &all[i]
		if o.ID == tr.ID {
			continue
		}
		if tr.TakeKey != "" && o.OverlapKey == tr.TakeKey && o.HoldsKey() ||
			row.Key != "" && o.Key == row.Key && !o.State.Final() && row.State.Final() &&
				!tr.Set.State.Final() {
			out = append(out, store.KeyBusy)
		}
	}
	return out
}

// apply applies some transitions under some fence.
func (w *world) apply() {
	if len(w.ids) == 0 {
		w.insert()
	}
	if len(w.ids) == 0 {
		return
	}
	trs := w.drawPlans()
	if len(trs) == 0 {
		return
	}
	f, stale := w.fence()
	w.applyBoth(f, stale, trs)
}

// applyBoth applies transitions on both sides and compares the results.
func (w *world) applyBoth(f store.Fence, stale bool, trs []*task.Transition) {
	real, err := w.real.Apply(w.ctx, f, trs)
	if err == nil && len(real) == len(trs) {
		w.at = real[0].At
	}
	causes := make([][]store.Status, len(trs))
	for i, tr := range trs {
		causes[i] = w.causes(tr, w.at)
	}
	mem, merr := w.mem.Apply(w.ctx, f, trs)
	if stale {
		w.fenced("apply", err, merr)
		return
	}
	w.must("apply", err, merr)
	if len(real) != len(trs) {
		w.rt.Fatalf("apply of %d gave %d results", len(trs), len(real))
	}
	for i := range trs {
		if slices.Contains(causes[i], real[i].Status) && slices.Contains(causes[i], mem[i].Status) {
			continue
		}
		w.same("result of apply", mem[i], real[i])
	}
	w.remember()
}

// claimKeys claims each overlap key with a task of its own, to see whether both sides agree on who
// holds it.
func (w *world) claimKeys() {
	rows, err := w.mem.Tasks(w.ctx, w.ids)
	w.must("tasks", nil, err)
	if !slices.ContainsFunc(rows, func(t task.Task) bool { return t.OverlapKey != "" }) {
		return
	}
	tasks := make([]task.Task, len(w.overlaps))
	trs := make([]*task.Transition, len(tasks))
	for i := range tasks {
		tasks[i] = newTask("x")
		tasks[i].Kind, tasks[i].Group, tasks[i].OverlapKey = w.kind, w.group, w.overlaps[i]
		tasks[i].RunAt, tasks[i].FireTime, tasks[i].Version = w.start, w.start, 1
		trs[i] = follow(&tasks[i], task.Claim)
		w.ids = append(w.ids, tasks[i].ID)
	}
	w.insertBoth(store.Fence{}, false, tasks)
	w.applyBoth(store.Fence{}, false, trs)
}

// compareExpired compares what both sides have of this sequence that has expired.
func (w *world) compareExpired() {
	e, ok := store.As[store.Expirer](w.real)
	if !ok {
		w.rt.Fatal("the store does not implement store.Expirer")
	}
	real, err := e.Expired(w.ctx, 1_000_000)
	mem, merr := w.mem.Expired(w.ctx, 1_000_000)
	w.must("expired", err, merr)
	real = slices.DeleteFunc(real, func(t task.Task) bool { return !slices.Contains(w.ids, t.ID) })
	w.sameTasks("expired", mem, real)
}
