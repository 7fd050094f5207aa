package trigger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/internal/complete"
	"github.com/ax-sched/ax/internal/plant"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// FireStore is what firing jobs needs.
type FireStore interface {
	store.JobStore
	Tasks(ctx context.Context, ids []task.ID) ([]task.Task, error)
}

// JobsConfig says how Jobs works; all fields are required.
type JobsConfig struct {
	Store FireStore
	Fence store.Fence
	Now   func() task.Time // estimate of the store's time
	NewID func() task.ID
	// Fired is told of each task a fire has made; it must not block.
	Fired  func(t *task.Task)
	Failed func(error)
	Poll   time.Duration // 2 s
}

// Jobs turns the fires of jobs into tasks for the time of one leader's term. What is due is
// computed from the job's cursor in the table, never from when this process woke up.
type Jobs struct {
	cfg   JobsConfig
	jobs  map[task.ID]*job
	since task.Time // definitions changed at or after this are read again
	next  time.Time // when to read definitions next; zero: now
	wake  chan struct{}
	// broken holds the versions of definitions that this program cannot plan.
	broken map[task.ID]int64

	changed atomic.Bool // somebody said that a definition has changed
	mu      sync.Mutex
	after   map[task.ID]bool // jobs that wait for the end of a task
}

// job is one definition and where it stands.
type job struct {
	task.Job
	plan plan
	next task.Time // next fire time; 0: none, or not known yet
	ends bool      // next depends on the end of LastTask
}

// maxFires is how many fires one transaction records.
const maxFires = 500

// margin is how far back definitions are read again: a transaction that was slow to commit shows
// an UpdatedAt of the past.
const margin = 10 * time.Second

// NewJobs returns a Jobs that knows nothing yet.
func NewJobs(cfg JobsConfig) *Jobs {
	return &Jobs{cfg: cfg, jobs: map[task.ID]*job{}, wake: make(chan struct{}, 1),
		after: map[task.ID]bool{}, broken: map[task.ID]int64{}}
}

// Wake says that a definition has changed, or that the clock has jumped.
func (j *Jobs) Wake() {
	j.changed.Store(true)
	j.signal()
}

func (j *Jobs) signal() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// Ended says that the task of a fire of the job has ended.
func (j *Jobs) Ended(job task.ID) {
	j.mu.Lock()
	waits := j.after[job]
	j.mu.Unlock()
	if waits {
		j.signal()
	}
}

// Run fires jobs until ctx ends or the store says that a newer leader exists.
func (j *Jobs) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-j.wake:
		case <-timer.C:
		}
		pause, err := j.runOnce(ctx)
		switch {
		case isFenced(err):
			return err
		case err != nil:
			j.cfg.Failed(err)
			pause = j.cfg.Poll
		}
		timer.Reset(pause)
	}
}

// runOnce reads what changed, fires what is due, and returns how long to sleep.
func (j *Jobs) runOnce(ctx context.Context) (time.Duration, error) {
	ctx, cancel := clock.Limit(ctx)
	defer cancel()
	if err := j.read(ctx); err != nil {
		return 0, err
	}
	if err := j.ended(ctx); err != nil {
		return 0, err
	}
	now := j.cfg.Now()
	var due []*job
	pause := j.cfg.Poll
	for _, b := range j.jobs {
		switch {
		case b.next == 0:
		case b.next <= now:
			due = append(due, b)
		default:
			pause = min(pause, b.next.Sub(now))
		}
	}
	slices.SortFunc(due, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.next, b.next), cmp.Compare(a.Name, b.Name))
	})
	for part := range slices.Chunk(due, maxFires) {
		if err := j.fire(ctx, part, now); err != nil {
			return 0, err
		}
		pause = 0 // more may be due already
	}
	return pause, nil
}

// read takes in definitions that changed, when it is time or somebody said so.
func (j *Jobs) read(ctx context.Context) error {
	if !j.changed.Swap(false) && time.Now().Before(j.next) {
		return nil
	}
	j.next = time.Time{} // an error below makes the next round read again
	rows, err := j.cfg.Store.Jobs(ctx, j.since)
	if err != nil {
		return fmt.Errorf("read jobs: %w", err)
	}
	for _, r := range rows {
		j.since = max(j.since, r.UpdatedAt-task.Time(margin.Microseconds()))
		old := j.jobs[r.ID]
		switch {
		case r.DeletedAt != 0:
			delete(j.jobs, r.ID)
		case old == nil || old.Version != r.Version:
			p, err := newPlan(&r)
			if err != nil {
				if j.broken[r.ID] != r.Version { // it is read again and again: say it once
					j.cfg.Failed(fmt.Errorf("job %s: %w", r.Name, err))
				}
				j.broken[r.ID] = r.Version
				delete(j.jobs, r.ID)
				continue
			}
			b := &job{Job: r, plan: p}
			b.arm()
			if plant.On(plant.FireFromNow) && b.plan != nil {
				b.next = b.plan.next(j.cfg.Now())
			}
			j.jobs[r.ID] = b
		}
	}
	j.next = time.Now().Add(j.cfg.Poll)
	return nil
}

// arm computes the next fire from the cursor.
func (b *job) arm() {
	b.next, b.ends = 0, b.Schedule.After > 0
	switch {
	case !b.ends:
		b.next = b.plan.next(b.LastFire)
	case b.LastTask.IsZero():
		b.next, b.ends = b.LastFire.Add(b.Schedule.After), false
	}
}

// ended finds which last tasks have ended, for jobs that fire some time after that.
func (j *Jobs) ended(ctx context.Context) error {
	var ids []task.ID
	byTask := map[task.ID]*job{}
	for _, b := range j.jobs {
		if b.ends {
			ids = append(ids, b.LastTask)
			byTask[b.LastTask] = b
		}
	}
	if len(ids) == 0 {
		return nil
	}
	j.watch(byTask)
	rows, err := j.tasks(ctx, ids)
	if err != nil {
		return err
	}
	for id, b := range byTask {
		end := b.LastFire // the row was deleted: it has ended some time ago
		if t := rows[id]; t != nil {
			if !t.State.Final() {
				continue
			}
			// A store clock that was set back must not put the next fire before the cursor.
			end = max(t.FinishedAt, t.UpdatedAt, b.LastFire)
		}
		b.next, b.ends = end.Add(b.Schedule.After), false
	}
	return nil
}

// watch says which jobs a call of Ended concerns, before their tasks are read.
func (j *Jobs) watch(byTask map[task.ID]*job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(j.after)
	for _, b := range byTask {
		j.after[b.ID] = true
	}
}

func (j *Jobs) tasks(ctx context.Context, ids []task.ID) (map[task.ID]*task.Task, error) {
	rows, err := j.cfg.Store.Tasks(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read the tasks of the last fires: %w", err)
	}
	m := make(map[task.ID]*task.Task, len(rows))
	for i := range rows {
		m[rows[i].ID] = &rows[i]
	}
	return m, nil
}

// fire records one fire of each job: the latest one that is due, which stands for the earlier.
func (j *Jobs) fire(ctx context.Context, due []*job, now task.Time) error {
	waiting, err := j.waiting(ctx, due)
	if err != nil {
		return err
	}
	fires := make([]store.Fire, len(due))
	for i, b := range due {
		last, n := b.next, 1
		if b.Schedule.After == 0 {
			last, n = b.plan.latest(b.LastFire, now)
		}
		fires[i] = store.Fire{JobID: b.ID, Version: b.Version, Task: b.task(j.cfg.NewID(), last, n)}
		if row := waiting[b.LastTask]; row != nil {
			fires[i].Replace = complete.Supersede(row)
		}
	}
	res, err := j.cfg.Store.Fire(ctx, j.cfg.Fence, fires)
	if err != nil {
		for _, b := range due {
			if plant.On(plant.FireTwice) {
				break
			}
			j.forget(b) // the cursors may have moved: a fire computed from an old one doubles some
		}
		return fmt.Errorf("fire: %w", err)
	}
	for i, b := range due {
		switch res[i].Status {
		case store.Fired:
			t := &fires[i].Task
			t.ID, t.Version, t.RunAt = res[i].Row.ID, res[i].Row.Version, res[i].Row.RunAt
			b.LastFire, b.LastTask = t.FireTime, t.ID
			j.cfg.Fired(t)
			b.arm()
		case store.AlreadyFired: // an answer was lost, or a leader before this one did it
			j.forget(b)
		case store.JobChanged:
			j.forget(b)
		}
	}
	return nil
}

// forget drops what is believed of a job; the next reading brings its row.
func (j *Jobs) forget(b *job) {
	delete(j.jobs, b.ID)
	j.since, j.next = 0, time.Time{}
}

// waiting reads the last fires of jobs of which at most one fire may wait.
func (j *Jobs) waiting(ctx context.Context, due []*job) (map[task.ID]*task.Task, error) {
	var ids []task.ID
	for _, b := range due {
		if b.Overlap == task.OverlapSkip && !b.LastTask.IsZero() {
			ids = append(ids, b.LastTask)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return j.tasks(ctx, ids)
}

// task builds the task of a fire. n is how many fires it stands for.
func (b *job) task(id task.ID, at task.Time, n int) task.Task {
	t := task.Task{ID: id, Kind: b.Kind, Group: b.Group, Payload: b.Payload, Bucket: b.Bucket,
		JobID: b.ID, Job: b.Name, FireTime: at, FireCount: n, Overlap: b.Overlap,
		MaxRetries: b.MaxRetries, Timeout: b.Timeout, RetryPolicy: b.RetryPolicy,
		OwnerService: b.OwnerService, Labels: b.Labels}
	if n > 1 {
		t.FireFrom = b.next
	}
	if b.Overlap != task.OverlapAllow {
		t.OverlapKey = "job/" + b.ID.String()
	}
	t.State, t.Run, t.RunAt = task.Scheduled, 1, at
	return t
}
