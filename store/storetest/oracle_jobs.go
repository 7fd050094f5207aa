package storetest

import (
	"time"

	"pgregory.net/rapid"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// putJob puts a new definition, an equal one or a changed one.
func (w *world) putJob() {
	rt := w.rt
	j := newJob("x")
	if len(w.jobs) > 0 && rapid.IntRange(0, 3).Draw(rt, "known") > 0 {
		old := rapid.SampledFrom(w.jobs).Draw(rt, "job")
		if old.DeletedAt != 0 {
			return // what becomes of its id is left to the store
		}
		j = old
		j.ID = newID()
	}
	if rapid.Bool().Draw(rt, "change") {
		j.Schedule.Every = time.Duration(rapid.IntRange(1, 3).Draw(rt, "every")) * time.Second
		j.Payload = []byte(rapid.SampledFrom(texts).Draw(rt, "payload"))
		j.MaxRetries = rapid.IntRange(-1, 1).Draw(rt, "retries")
		j.OnUnknown = task.Unknown(rapid.IntRange(0, 2).Draw(rt, "unknown"))
		j.MaxFires = int64(rapid.IntRange(0, 1).Draw(rt, "most fires"))
	}
	j.Kind, j.Group = w.kind, w.group
	real, err := w.real.PutJob(w.ctx, j)
	w.must("put job", err, nil)
	w.at = real.UpdatedAt // which does not matter if nothing changes
	mem, merr := w.mem.PutJob(w.ctx, j)
	w.must("put job", err, merr)
	w.same("answer of put job", mem, real)
	for i := range w.jobs {
		if w.jobs[i].Name == mem.Name {
			w.jobs[i] = mem
			return
		}
	}
	w.jobs = append(w.jobs, mem)
}

// steerJob replaces the control of a definition, sometimes of a version that is not there.
func (w *world) steerJob() {
	if len(w.jobs) == 0 {
		return
	}
	j := w.memJobs()[rapid.SampledFrom(w.jobs).Draw(w.rt, "job").ID]
	if j.DeletedAt != 0 {
		return
	}
	version := j.Version - int64(rapid.IntRange(0, 3).Draw(w.rt, "old")/3)
	c := task.Control{PausedAt: task.Time(rapid.IntRange(0, 2).Draw(w.rt, "paused")),
		SkipUntil: task.Time(rapid.IntRange(0, 2).Draw(w.rt, "skip")),
		PausedBy:  rapid.SampledFrom(texts).Draw(w.rt, "by")}
	real, err := w.real.(store.JobSteerer).SteerJob(w.ctx, j.ID, version, c)
	w.must("steer job", err, nil)
	if real {
		all, err := w.real.Jobs(w.ctx, w.start)
		w.must("jobs", err, nil)
		for _, x := range all {
			if x.ID == j.ID {
				w.at = x.UpdatedAt
			}
		}
	}
	mem, merr := w.mem.SteerJob(w.ctx, j.ID, version, c)
	w.must("steer job", err, merr)
	w.same("answer of steer job", mem, real)
	for i := range w.jobs {
		if w.jobs[i].ID == j.ID && mem {
			w.jobs[i] = w.memJobs()[j.ID]
		}
	}
}

// deleteJob deletes a definition that may be deleted already.
func (w *world) deleteJob() {
	if len(w.jobs) == 0 || rapid.Bool().Draw(w.rt, "rather not") {
		return
	}
	i := rapid.IntRange(0, len(w.jobs)-1).Draw(w.rt, "job")
	name := w.jobs[i].Name
	real, mem := w.real.DeleteJob(w.ctx, name), w.mem.DeleteJob(w.ctx, name)
	if isNotFound(real) && isNotFound(mem) && w.jobs[i].DeletedAt != 0 {
		return
	}
	w.must("delete job", real, mem)
	w.jobs[i].DeletedAt = w.at
}

// fire records one or two fires of the known jobs around their cursors.
func (w *world) fire() {
	if len(w.jobs) == 0 {
		w.putJob()
	}
	current := w.memJobs()
	var fires []store.Fire
	for range rapid.IntRange(1, 2).Draw(w.rt, "fires") {
		j := current[rapid.SampledFrom(w.jobs).Draw(w.rt, "job").ID]
		fires = append(fires, w.drawFire(j))
	}
	f, stale := w.fence()
	real, err := w.real.Fire(w.ctx, f, fires)
	for _, r := range real {
		if r.Status == store.Fired {
			w.at = r.Row.At
		}
	}
	mem, merr := w.mem.Fire(w.ctx, f, fires)
	if stale {
		w.fenced("fire", err, merr)
		return
	}
	w.must("fire", err, merr)
	for i := range mem {
		if mem[i].Status == store.Fired {
			w.ids = append(w.ids, mem[i].Row.ID)
			w.same("answer of fire", mem[i], real[i])
			continue
		}
		real[i].Row = store.Inserted{}
		if both := mem[i].Status == store.JobChanged && real[i].Status == store.AlreadyFired &&
			fires[i].Task.FireTime <= current[fires[i].JobID].LastFire; both {
			continue // refused for two reasons
		}
		w.same("answer of fire", mem[i], real[i])
	}
	w.remember()
}

// drawFire draws a fire of j that may be late, out of date, or replace the fire before it.
func (w *world) drawFire(j task.Job) store.Fire {
	f := fireOf(j, j.LastFire+task.Time(rapid.IntRange(-1, 3).Draw(w.rt, "ahead")))
	f.Task.Kind, f.Task.Group = w.kind, w.group
	if rapid.IntRange(0, 5).Draw(w.rt, "changed") == 0 {
		f.Version--
	}
	if rapid.Bool().Draw(w.rt, "overlap") {
		f.Task.Overlap, f.Task.OverlapKey = task.OverlapSkip, w.overlaps[0]
	}
	if rapid.IntRange(0, 4).Draw(w.rt, "skipped") == 0 {
		f.Task.State, f.Task.Reason, f.Last = task.Skipped, task.Misfired, j.LastTask
		f.Task.FinishedAt = task.StoreNow
	}
	if !j.LastTask.IsZero() && rapid.Bool().Draw(w.rt, "replace") {
		rows, err := w.mem.Tasks(w.ctx, []task.ID{j.LastTask})
		w.must("tasks", nil, err)
		if rows[0].State == task.Scheduled {
			f.Replace = follow(&rows[0], rapid.SampledFrom([]task.Event{task.Skip,
				task.Supersede}).Draw(w.rt, "event"))
			f.Replace.Version -= int64(rapid.IntRange(0, 1).Draw(w.rt, "started"))
		}
	}
	return f
}

// memJobs returns the oracle's definitions by id.
func (w *world) memJobs() map[task.ID]task.Job {
	all, err := w.mem.Jobs(w.ctx, 0)
	w.must("jobs", nil, err)
	out := map[task.ID]task.Job{}
	for _, j := range all {
		out[j.ID] = j
	}
	return out
}

// compareJobs compares the definitions of the sequence. When one was deleted, and whether that is
// a version, is the store's own matter.
func (w *world) compareJobs() {
	if len(w.jobs) == 0 {
		return
	}
	real, err := w.real.Jobs(w.ctx, w.start)
	w.must("jobs", err, nil)
	byID := map[task.ID]task.Job{}
	for _, j := range real {
		byID[j.ID] = j
	}
	mem := w.memJobs()
	for _, j := range w.jobs {
		a, b := mem[j.ID], byID[j.ID]
		if a.DeletedAt != 0 && b.DeletedAt != 0 {
			a.DeletedAt, a.UpdatedAt, a.Version = b.DeletedAt, b.UpdatedAt, b.Version
		}
		w.same("job "+j.Name, a, b)
	}
}
