package trigger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// DeskStore is what a Desk needs. It reads the store's time: a process that never led has no good
// estimate of it.
type DeskStore interface {
	store.Clock
	store.Inserter
	store.JobStore
}

// Desk is where persons act on jobs. Each act is one conditional change of the definition's
// control, decided again when somebody else was faster.
type Desk struct {
	Store  DeskStore
	Logger *slog.Logger
	// Conflict is what the error of an act that came too late matches.
	Conflict error
	// Changed is told of each change.
	Changed func()
	// Made is told of the tasks that were inserted.
	Made func([]task.Task, []store.Inserted)
}

// Act says who acts on which job, and why.
type Act struct{ Job, Actor, Reason string }

// tries is how often an act is decided again.
const tries = 10

// Pause stops the fires of a job, until an instant or until somebody resumes it.
func (d *Desk) Pause(ctx context.Context, a Act, until time.Time) error {
	return d.change(ctx, "pause", a, func(j *task.Job) error {
		if err := task.CheckInstant("until", until); err != nil {
			return err
		}
		now, err := d.Store.Now(ctx)
		if err != nil {
			return err
		}
		return pause(j, task.FromGo(until), now, a)
	})
}

// Resume lets a job fire again.
func (d *Desk) Resume(ctx context.Context, a Act) error {
	return d.change(ctx, "resume", a, func(j *task.Job) error { resume(j); return nil })
}

// SkipNext says that the next fire does not run, and returns its time. A job remembers one such
// fire, so another one is refused until the first has its record.
func (d *Desk) SkipNext(ctx context.Context, a Act) (time.Time, error) {
	var next task.Time
	err := d.change(ctx, "skip next fire of", a, func(j *task.Job) (err error) {
		now, err := d.Store.Now(ctx)
		if err != nil {
			return err
		}
		was := j.SkipUntil
		next, err = skip(j, now, a)
		if err == nil && j.LastFire < was && was < next {
			return fmt.Errorf("the one of %s that is to be skipped has no record yet; try again "+
				"when it has: %w", was.Go().Format(time.RFC3339), d.Conflict)
		}
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	// The fire may have been made between the reading and the change.
	switch j, err := d.Find(ctx, a.Job); {
	case err != nil:
		return time.Time{}, fmt.Errorf("skip next fire of job %q: it is asked for, but whether it "+
			"came in time is not known: %w", a.Job, err)
	case j.LastFire >= next && j.SkipUntil == next:
		return time.Time{}, fmt.Errorf("skip next fire of job %q: it is made already: %w", a.Job,
			d.Conflict)
	}
	return next.Go(), nil
}

// change changes the control of a job, if nobody else has changed the job meanwhile.
func (d *Desk) change(ctx context.Context, verb string, a Act, f func(*task.Job) error) error {
	wrap := func(err error) error { return fmt.Errorf("%s job %q: %w", verb, a.Job, err) }
	st, ok := store.As[store.JobSteerer](d.Store)
	if !ok {
		return wrap(errors.New("this store cannot; it is no store.JobSteerer"))
	}
	if err := task.CheckBy(a.Actor, a.Reason); err != nil {
		return wrap(err)
	}
	for range tries {
		j, err := d.Find(ctx, a.Job)
		if err != nil {
			return wrap(err)
		}
		before := j.Control
		if err := f(&j); err != nil {
			return wrap(err)
		}
		if j.Control == before {
			return nil
		}
		done, err := st.SteerJob(ctx, j.ID, j.Version, j.Control)
		if err != nil {
			return wrap(err)
		}
		if done {
			d.Changed()
			d.told(verb, a)
			return nil
		}
	}
	return wrap(fmt.Errorf("it changes too fast; try again: %w", d.Conflict))
}

// Find reads one definition, or returns store.ErrNotFound.
func (d *Desk) Find(ctx context.Context, name string) (task.Job, error) {
	all, err := d.Store.Jobs(ctx, 0)
	for _, j := range all {
		if j.Name == name && j.DeletedAt == 0 {
			return j, nil
		}
	}
	if err == nil {
		err = store.ErrNotFound
	}
	return task.Job{}, err
}

// Jobs reads the definitions that were not deleted.
func (d *Desk) Jobs(ctx context.Context) ([]task.Job, error) {
	all, err := d.Store.Jobs(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return slices.DeleteFunc(all, func(j task.Job) bool { return j.DeletedAt != 0 }), nil
}

// Run says how a job is run now; the zero value is usable.
type Run struct {
	// Key makes a repeated call harmless: a key of a job stands for one task, as long as that is
	// kept. A later call has its id, and says Duplicate. The task has no Key of its own. "" makes a
	// task with each call.
	Key     string
	Payload []byte // replaces that of the job unless it is nil
}

// Manual builds the task of a run that a person asks for now. id is used unless the run has a key.
func (d *Desk) Manual(ctx context.Context, a Act, run Run, id task.ID) (task.Task, error) {
	j, err := d.Find(ctx, a.Job)
	if err = errors.Join(err, task.CheckBy(a.Actor, a.Reason), task.CheckName("key", run.Key, true),
		task.CheckPayload(run.Payload)); err != nil {
		return task.Task{}, fmt.Errorf("trigger job %q: %w", a.Job, err)
	}
	if run.Key != "" {
		id = runID(&j, run.Key)
	}
	t := manual(&j, id)
	if run.Payload != nil {
		t.Payload = append([]byte{}, run.Payload...)
	}
	d.told("trigger", a)
	return t, nil
}

// Insert makes the task of a run. A task with this id that was there already is a duplicate: its id
// is that of the run's key. It is told from a new one by what the answer says anyway, for a new one
// is due at the very time of the transaction; so of two calls that share one, both are new.
func (d *Desk) Insert(ctx context.Context, a Act, t task.Task) (store.Inserted, error) {
	rows := []task.Task{t}
	ins, err := d.Store.Insert(ctx, store.Fence{}, rows)
	if err != nil {
		return store.Inserted{}, fmt.Errorf("trigger job %q: %w", a.Job, err)
	}
	d.Made(rows, ins)
	in := ins[0]
	in.Duplicate = in.Duplicate || in.Version != 1 || in.RunAt != in.At
	return in, nil
}

func (d *Desk) told(verb string, a Act) {
	d.Logger.Info("a person acts on a job", "verb", verb, "job", a.Job, "actor", a.Actor,
		"reason", a.Reason)
}
