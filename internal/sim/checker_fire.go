package sim

import (
	"bytes"
	"time"

	"github.com/ax-sched/ax/cron"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// jobShadow is a definition as the checker knows it.
type jobShadow struct {
	task.Job
	since time.Duration // when it was last put or deleted
}

// early is how far the estimate of the store's time may be ahead: a step of a second that is not
// known yet, half the time of a slow call that carried the only sample, and what the clock takes
// for noise. Only the record of a fire may come early; its task starts by the store's clock.
const early = 3 * time.Second

// put is told of a definition as it stands after PutJob.
func (c *checker) put(j task.Job, now task.Time) {
	old := c.jobs[j.ID]
	switch {
	case old == nil:
		for _, o := range c.jobs {
			if o.Name == j.Name && o.DeletedAt == 0 {
				c.fail("I1", "job %q has two definitions, %s and %s", j.Name, o.ID, j.ID)
			}
		}
		if j.LastFire < j.Anchor && j.Schedule.At == 0 {
			c.fail("I1", "job %q begins with its cursor before it was made", j.Name)
		}
	case j.LastFire < old.LastFire:
		c.fail("I1", "the cursor of job %q moved back from %d to %d", j.Name, old.LastFire, j.LastFire)
	case sameTimes(&j, &old.Job) && (j.LastFire != old.LastFire || j.Fires != old.Fires):
		c.fail("I1", "the cursor of job %q moved by a put of the same schedule", j.Name)
	case !sameTimes(&j, &old.Job) && j.LastFire < now && j.Schedule.At == 0:
		c.fail("I1", "the new schedule of job %q owes fires since %v before it was put", j.Name,
			now.Sub(j.LastFire))
	case j.Anchor != old.Anchor:
		c.fail("I1", "the anchor of job %q moved", j.Name)
	}
	c.jobs[j.ID] = &jobShadow{Job: j, since: c.at}
}

func sameTimes(a, b *task.Job) bool {
	return a.Schedule == b.Schedule && a.StartsAt == b.StartsAt && a.EndsAt == b.EndsAt &&
		a.MaxFires == b.MaxFires
}

// steered is told of the control that a store took for a definition.
func (c *checker) steered(id task.ID, version int64, row task.Job) {
	old := c.jobs[id]
	if old == nil || old.DeletedAt != 0 || old.Version != version {
		c.fail("I1", "the steer of job %s in version %d was taken, which it does not have", id, version)
		return
	}
	if row.PausedAt != 0 {
		c.count("job paused")
	} else if old.PausedAt != 0 {
		c.count("job resumed")
	}
	c.jobs[id] = &jobShadow{Job: row, since: c.at}
}

// deleted is told of a definition that was ended.
func (c *checker) deleted(name string, now task.Time) {
	for _, j := range c.jobs {
		if j.Name == name && j.DeletedAt == 0 {
			j.DeletedAt, j.since = now, c.at
			j.Version++
		}
	}
}

// fired is told of a Fire that the store took.
// asked is the store's time when the call was made.
func (c *checker) fired(p *process, f store.Fence, fires []store.Fire, res []store.FireResult,
	asked task.Time) {
	c.fenced(f, "fire")
	if f == (store.Fence{}) {
		c.fail("I7", "jobs were fired without a fence")
	}
	runs := map[task.ID]int{}
	for i := range fires {
		c.fire(p, f, &fires[i], res[i])
		if j := c.jobs[fires[i].JobID]; j != nil && res[i].Status == store.Fired {
			if fires[i].Task.State == task.Scheduled {
				runs[j.ID]++
			}
			c.policies(j, &fires[i].Task, asked, res[i].Row.At, runs[j.ID])
		}
	}
}

func (c *checker) fire(p *process, f store.Fence, x *store.Fire, res store.FireResult) {
	j := c.jobs[x.JobID]
	changed := j == nil || j.DeletedAt != 0 || j.Version != x.Version
	switch res.Status {
	case store.JobChanged:
		c.count("fire of a changed job")
		if !changed {
			c.fail("I1", "a fire of job %q was refused as changed, which it is not", j.Name)
		}
		return
	case store.AlreadyFired:
		c.count("fire repeated")
		if changed || x.Task.FireTime > j.LastFire {
			c.fail("I1", "a fire of job %s was refused as done, which it is not", x.JobID)
		}
		return
	}
	if changed {
		c.fail("I1", "a fire of job %s was taken although its definition has changed", x.JobID)
		return
	}
	if id, twice := c.fires[fireKey{j.ID, x.Task.FireTime}]; twice {
		c.fail("I4", "fire %d of job %q has two tasks, %s and %s", x.Task.FireTime, j.Name, id,
			x.Task.ID)
	}
	c.covers(j, &x.Task, res.Row.At)
	if r := x.Replace; r != nil {
		if row := c.rows[r.ID]; row != nil && c.matches(row, r) {
			if row.RunAt <= res.Row.At {
				c.count("fire superseded when due")
			}
			c.count("superseded")
			row.entered = c.at // its wait ends by a newer fire, not by a claim
			c.move(p, f, r, store.Result{Status: store.Applied, At: res.Row.At,
				Version: row.Version + int64(len(r.Moves))})
		}
	}
	event := task.Fire
	if x.Task.State == task.Skipped {
		event = task.FireSkip
	} else {
		j.Fires++
	}
	c.insertOne(&x.Task, event, res.Row)
	c.fires[fireKey{j.ID, x.Task.FireTime}] = x.Task.ID
	j.LastFire, j.LastTask = x.Task.FireTime, x.Task.ID
	if !x.Last.IsZero() {
		j.LastTask = x.Last
	}
}

// policies checks that a record says what the job's policies and the persons want (I20). runs is
// how many fires of the job the same call has let run.
func (c *checker) policies(j *jobShadow, t *task.Task, asked, now task.Time, runs int) {
	if j.PausedAt != 0 && (j.PausedUntil == 0 || now.Add(early) < j.PausedUntil) {
		c.fail("I20", "job %q fires although it is paused until %d", j.Name, j.PausedUntil)
	}
	if j.MaxFires > 0 && j.Fires > j.MaxFires {
		c.fail("I20", "job %q has run %d of at most %d fires", j.Name, j.Fires, j.MaxFires)
	}
	grace := j.MisfireGrace
	if grace == 0 {
		grace = task.DefaultMisfireGrace
	}
	skip, run := t.State == task.Skipped, t.State == task.Scheduled
	if skip {
		c.count("fire skipped " + t.Reason.String())
	}
	switch toSkip := t.FireTime == j.SkipUntil; {
	case toSkip != (t.Reason == task.ByRequest) || toSkip != skip && t.Reason != task.Misfired:
		c.fail("I20", "job %q: fire %d is %s(%s), to be skipped is %d", j.Name, t.FireTime, t.State,
			t.Reason, j.SkipUntil)
	case t.FireFrom != 0 && t.FireFrom <= j.SkipUntil && j.SkipUntil <= t.FireTime:
		c.fail("I20", "job %q: %s(%s) stands for %d to %d, to be skipped is %d alone", j.Name,
			t.State, t.Reason, t.FireFrom, t.FireTime, j.SkipUntil)
	case toSkip:
	case skip && j.Misfire == task.MisfireOnce,
		skip && j.Misfire == task.MisfireSkip && now.Sub(t.FireTime) <= grace-early:
		c.fail("I20", "job %q: fire %d was skipped as misfired %v after its time", j.Name,
			t.FireTime, now.Sub(t.FireTime))
	case run && j.Misfire == task.MisfireSkip && j.Overlap == task.OverlapAllow &&
		asked.Sub(t.FireTime) > grace+early+time.Second:
		// With another overlap the calls between the decision and this one may take long.
		c.fail("I20", "job %q: fire %d runs %v after its time", j.Name, t.FireTime,
			asked.Sub(t.FireTime))
	case run && j.Misfire == task.MisfireAll && (t.FireCount != 1 || runs > j.MisfireCap):
		c.fail("I20", "job %q: fire %d stands for %d, and is run %d of at most %d", j.Name,
			t.FireTime, t.FireCount, runs, j.MisfireCap)
	case run && runs > 1:
		c.count("missed fires run one by one")
	}
}

// covers checks that a fire stands for exactly the fire times since the cursor: none is left out,
// none is counted twice, several are collapsed into the latest one (I1, and I20 for "once").
func (c *checker) covers(j *jobShadow, t *task.Task, now task.Time) {
	if t.FireTime > now.Add(early) {
		c.fail("I3", "job %q fires for %v in the future", j.Name, t.FireTime.Sub(now))
	}
	if j.Schedule.After > 0 {
		c.coversEnd(j, t)
		return
	}
	first := c.nextFire(&j.Job, j.LastFire)
	n, at := 0, j.LastFire
	for at < t.FireTime {
		if at = c.nextFire(&j.Job, at); at == 0 || n > 100_000 {
			break
		}
		n++
	}
	var from task.Time
	if n > 1 {
		from = first
		c.count("fires collapsed")
	}
	if late := t.RunAt.Sub(t.FireTime); late < 0 || late > j.Jitter {
		c.fail("I1", "job %q: fire %d is due %v after its time, at most %v is right", j.Name,
			t.FireTime, late, j.Jitter)
	}
	if at != t.FireTime || t.FireCount != n || t.FireFrom != from {
		c.fail("I1", "job %q, cursor %d: a fire for %d to %d counting %d; right is %d to %d "+
			"counting %d", j.Name, j.LastFire, t.FireFrom, t.FireTime, t.FireCount, from, at, n)
	}
}

// coversEnd is covers for a job that fires some time after the end of its last task.
func (c *checker) coversEnd(j *jobShadow, t *task.Task) {
	from := j.LastFire
	if last := c.rows[j.LastTask]; last != nil {
		if !last.State.Final() {
			c.fail("I1", "job %q fires while its last task is %s", j.Name, last.State)
		}
		from = max(last.FinishedAt, last.UpdatedAt)
	}
	// A step of the store's clock may put the end before the fire time; the cursor still grows.
	if want := from.Add(j.Schedule.After); t.FireTime < want ||
		t.FireTime > max(want, j.LastFire.Add(j.Schedule.After)) {
		c.fail("I1", "job %q fires for %d, want %d", j.Name, t.FireTime, want)
	}
}

// nextFire works out the next fire on its own, one step at a time.
func (c *checker) nextFire(j *task.Job, t task.Time) task.Time {
	at := c.anyFire(j, t)
	for at != 0 && at < j.StartsAt {
		at = c.anyFire(j, at)
	}
	if j.EndsAt != 0 && at > j.EndsAt {
		return 0
	}
	return at
}

// anyFire is nextFire without the bounds of the job.
func (c *checker) anyFire(j *task.Job, t task.Time) task.Time {
	s := j.Schedule
	switch {
	case s.At != 0 && t < s.At:
		return s.At
	case s.Every != 0:
		at := j.Anchor.Add(s.Every)
		if gone := t.Sub(j.Anchor); gone > 0 {
			at = j.Anchor.Add(gone / s.Every * s.Every)
		}
		for at <= t || at == j.Anchor {
			at = at.Add(s.Every)
		}
		return at
	case s.Cron != "":
		zone, err := time.LoadLocation(s.Zone)
		if err == nil {
			var p *cron.Schedule
			p, err = cron.Parse(s.Cron, cron.In(zone), cron.Seed(j.Name), cron.Anchor(j.Anchor.Go()))
			if err == nil {
				return task.FromGo(p.Next(t.Go()))
			}
		}
		c.fail("I1", "schedule of job %q: %v", j.Name, err)
	}
	return 0
}

// owing checks that no job has a fire without its record, once nothing was in its way for so
// long.
func (c *checker) owing(now task.Time, bound time.Duration) {
	for _, j := range c.jobs {
		if j.DeletedAt != 0 || c.at-max(c.quiet, j.since) < bound ||
			j.MaxFires > 0 && j.Fires >= j.MaxFires ||
			j.PausedAt != 0 && (j.PausedUntil == 0 || now.Sub(j.PausedUntil) < bound) {
			continue
		}
		next := c.nextFire(&j.Job, j.LastFire)
		if last := c.rows[j.LastTask]; j.Schedule.After > 0 {
			switch {
			case last == nil:
				next = j.LastFire.Add(j.Schedule.After)
			case last.State.Final() && c.at-last.entered > j.Schedule.After:
				next = last.UpdatedAt.Add(j.Schedule.After)
			}
		}
		if next != 0 && now.Sub(next) > bound {
			c.fail("I1", "job %q has no record of its fire at %d, which was due %v ago", j.Name,
				next, now.Sub(next))
		}
	}
}

// sameHistory compares the two logs of a row.
func sameHistory(a, b []task.Entry) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		if x.TaskID != y.TaskID || x.Version != y.Version || x.At != y.At || x.From != y.From ||
			x.To != y.To || x.Event != y.Event || x.Reason != y.Reason ||
			x.Attempt != y.Attempt || !bytes.Equal(x.ExecutionID[:], y.ExecutionID[:]) {
			return false
		}
	}
	return true
}
