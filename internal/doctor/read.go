package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ax-sched/ax/lease"
	"github.com/ax-sched/ax/registry"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// Database is what Read reads from.
type Database interface {
	store.Store
	Leases() lease.Backend
	Registry() registry.Registry
}

// Options say how Read reads.
type Options struct {
	// Pause is how long after the first look at what is due, if something waits for long, the second
	// one follows: it tells a backlog that moves from one that does not. 0: there is none.
	Pause time.Duration
	// Host is the clock of this host. Default: time.Now.
	Host func() time.Time
}

// The bounds of a read.
const (
	mostRows      = 1000 // tasks of one sort
	mostRetrying  = 200  // tasks of one queue that are due within the next hour
	mostHistories = 100
	mostJobs      = 500 // whose last task is read
	lastFires     = 10  // of a job
	// patience bounds the reads of fires, for which a database may lack an index.
	patience = 10 * time.Second
)

// reader collects facts; what fails is noted, and the rest is read all the same.
type reader struct {
	ctx context.Context
	db  Database
	o   Options
	f   Facts
}

// Read reads the facts. An error means that nothing could be read; what can be read only in part is
// in Facts.Unread.
func Read(ctx context.Context, db Database, o Options) (*Facts, error) {
	if o.Host == nil {
		o.Host = time.Now
	}
	r := &reader{ctx: ctx, db: db, o: o}
	if err := r.clock(); err != nil {
		return nil, err
	}
	r.processes()
	r.tasks()
	r.jobs()
	r.queues()
	r.histories()
	if i, ok := store.As[store.Inspector](db); ok {
		in, err := i.Inspect(ctx)
		r.f.Inspection = in
		r.failed("the schema", err)
	}
	return &r.f, ctx.Err()
}

// failed notes an error.
func (r *reader) failed(what string, err error) {
	if err != nil && r.ctx.Err() == nil {
		r.f.Unread = append(r.f.Unread, fmt.Errorf("%s: %w", what, err))
	}
}

// capped notes that something was cut.
func (r *reader) capped(cut bool, format string, args ...any) {
	if cut {
		r.f.Capped = append(r.f.Capped, fmt.Sprintf(format, args...))
	}
}

// clock compares the clocks. The store reads its own at some time between the two of this host; the
// quickest of several questions says it best.
func (r *reader) clock() error {
	r.f.Clock.Error = -1
	for range 5 {
		before := r.o.Host()
		now, err := r.db.Now(r.ctx)
		if err != nil {
			return fmt.Errorf("read the clock of the database: %w", err)
		}
		half := r.o.Host().Sub(before) / 2
		r.f.Now = now
		if r.f.Clock.Error < 0 || half < r.f.Clock.Error {
			r.f.Clock = Offset{By: now.Go().Sub(before.Add(half)), Error: half}
		}
	}
	return nil
}

// processes reads who leads and who runs handlers.
func (r *reader) processes() {
	var err error
	if l, ok := r.db.Leases().(lease.Looker); ok {
		r.f.Leader, err = l.Look(r.ctx, 0)
		r.f.Known = err == nil
		r.failed("who leads", err)
	}
	r.f.Members, err = r.db.Registry().Members(r.ctx)
	r.failed("the executors", err)
	r.f.Kinds, err = r.db.Kinds(r.ctx)
	r.failed("the kinds", err)
}

// tasks reads the newest tasks of each sort that has an index.
func (r *reader) tasks() {
	list := func(what string, states ...task.State) []task.Task {
		rows, err := r.db.List(r.ctx, store.Query{States: states, Limit: mostRows})
		r.failed(what+" tasks", err)
		r.capped(len(rows) == mostRows && len(states) > 0, "only the newest %d %s tasks were read",
			mostRows, what)
		return rows
	}
	r.f.Recent = list("recent")
	r.f.Held = list("HELD", task.Held)
	r.f.Dead = list("DEAD", task.Dead)
	r.f.Skipped = list("SKIPPED", task.Skipped)
	var err error
	r.f.Live, err = r.db.Live(r.ctx, store.LiveQuery{Limit: mostRows})
	r.failed("running tasks", err)
	r.capped(len(r.f.Live) == mostRows, "only %d running tasks were read", mostRows)
}

// jobs reads the definitions and their fires.
func (r *reader) jobs() {
	all, err := r.db.Jobs(r.ctx, 0)
	r.failed("the jobs", err)
	var last []task.ID
	for _, j := range all {
		if j.DeletedAt != 0 {
			continue
		}
		r.f.Jobs = append(r.f.Jobs, Job{Job: j})
		if !j.LastTask.IsZero() && len(last) < mostJobs {
			last = append(last, j.LastTask)
		}
	}
	r.capped(len(last) == mostJobs, "the fires of only %d jobs were read", mostJobs)
	r.fires(task.ByID(r.whole(last)))
}

// fires reads the latest fires of jobs whose last task has not gone well.
func (r *reader) fires(last map[task.ID]*task.Task) {
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	for i := range r.f.Jobs {
		j := &r.f.Jobs[i]
		t := last[j.LastTask]
		if t == nil || t.State == task.Succeeded || !t.State.Final() && t.Failures == 0 {
			continue
		}
		rows, err := r.db.List(ctx, store.Query{Job: j.Name, Limit: lastFires})
		if ctx.Err() != nil {
			r.capped(true, "the fires of jobs took longer than %s to read: from job %s on they are "+
				"left out", patience, j.Name)
			return
		}
		r.failed("the fires of job "+j.Name, err)
		j.Last = rows
	}
}

// whole reads tasks by their ids, a few at a time, because they come with their payloads.
func (r *reader) whole(ids []task.ID) (out []task.Task) {
	const few = 50
	for part := range slices.Chunk(ids, few) {
		rows, err := r.db.Tasks(r.ctx, part)
		r.failed("tasks", err)
		for _, t := range rows {
			t.Payload, t.Result = nil, nil
			out = append(out, t)
		}
	}
	return out
}

// queues reads what is due, twice if something of it waits for long, and what will be tried again
// within the next hour.
func (r *reader) queues() {
	cs := r.cursors(0, mostRows)
	first, now, err := r.db.Due(r.ctx, cs)
	r.failed("what is due", err)
	if err != nil {
		return
	}
	late := false
	for i, due := range first {
		late = late || len(due) > 0 && now.Sub(due[0].RunAt) > lateAfter
		r.f.Waiting = append(r.f.Waiting, Waiting{Group: cs[i].Group, Bucket: cs[i].Bucket, Due: due})
		r.capped(len(due) == mostRows, "only %d due tasks of group %s, priority %s, were read",
			mostRows, cs[i].Group, cs[i].Bucket)
	}
	if late && r.o.Pause > 0 && r.wait() {
		r.again(cs)
	}
	soon := r.cursors(r.f.Now, mostRetrying)
	pages, _, err := r.db.Due(r.ctx, soon)
	r.failed("what is due soon", err)
	for i := range r.f.Waiting {
		w := &r.f.Waiting[i]
		var ids []task.ID
		for _, d := range w.Due[:min(len(w.Due), mostRetrying)] {
			ids = append(ids, d.ID)
		}
		if err == nil {
			for _, d := range pages[i] {
				ids = append(ids, d.ID)
			}
		}
		w.Keys = map[task.ID]string{}
		for _, t := range r.whole(ids) {
			if t.OverlapKey != "" {
				w.Keys[t.ID] = t.OverlapKey
			}
			if t.State == task.Scheduled && t.Failures+t.Recoveries > 0 {
				r.f.Retrying = append(r.f.Retrying, t)
			}
		}
	}
}

// cursors asks for each queue: what is due until now, or what is due within an hour after an
// instant.
func (r *reader) cursors(after task.Time, limit int) (cs []store.Cursor) {
	until := r.f.Now
	if after != 0 {
		until = after.Add(time.Hour)
	}
	for _, g := range r.groups() {
		for _, b := range []task.Bucket{task.Critical, task.High, task.Normal, task.Low} {
			c := store.Cursor{Group: g, Bucket: b, Until: until, Limit: limit}
			c.After.RunAt = after
			cs = append(cs, c)
		}
	}
	return cs
}

// groups are those that somebody has named.
func (r *reader) groups() []string {
	all := []string{"default"}
	for _, m := range r.f.Members {
		all = append(all, m.Group)
	}
	for _, j := range r.f.Jobs {
		all = append(all, j.Group)
	}
	for _, t := range r.f.tasks() {
		all = append(all, t.Group)
	}
	slices.Sort(all)
	all = slices.DeleteFunc(slices.Compact(all), func(g string) bool { return g == "" })
	const most = 50
	r.capped(len(all) > most, "only %d groups were looked at", most)
	return all[:min(len(all), most)]
}

// wait pauses, and reports whether the time has passed.
func (r *reader) wait() bool {
	t := time.NewTimer(r.o.Pause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.ctx.Done():
		return false
	}
}

// again looks a second time at what was due, to see what has moved.
func (r *reader) again(cs []store.Cursor) {
	pages, _, err := r.db.Due(r.ctx, cs)
	r.failed("what is due", err)
	for i, page := range pages {
		w := &r.f.Waiting[i]
		w.Moved = map[task.ID]bool{}
		still := map[task.ID]bool{}
		for _, d := range page {
			still[d.ID] = true
		}
		for _, d := range w.Due {
			// What lies behind a full page may only have been pushed out of it.
			if !still[d.ID] && (len(page) < mostRows || d.Less(page[len(page)-1].Mark)) {
				w.Moved[d.ID] = true
			}
		}
	}
}

// histories reads those of tasks with more than one attempt, the newest first.
func (r *reader) histories() {
	var ids []task.ID
	for _, t := range r.f.tasks() {
		if t.Attempt > 1 || t.Recoveries > 0 || t.Run > 1 {
			ids = append(ids, t.ID)
		}
	}
	slices.SortFunc(ids, func(a, b task.ID) int { return slices.Compare(b[:], a[:]) })
	r.capped(len(ids) > mostHistories, "the histories of only %d tasks with several attempts were "+
		"read", mostHistories)
	for _, id := range ids[:min(len(ids), mostHistories)] {
		h, err := r.db.History(r.ctx, id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			r.failed("the history of a task", err)
			return
		}
		r.f.Histories = append(r.f.Histories, h)
	}
}
