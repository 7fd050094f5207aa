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

// JobsConfig says how Jobs works; all fields but Skipped are required.
type JobsConfig struct {
	Store FireStore
	Fence store.Fence
	Now   func() task.Time // estimate of the store's time
	NewID func() task.ID
	// Fired is told of each task a fire has made that is to run, and Skipped, unless it is nil, of
	// each that a policy or a person does not run; they must not block.
	Fired, Skipped func(t *task.Task)

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

// maxFires is how many fires one transaction records; of a single job it may be more.
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
		switch at := b.wakes(); {
		case at == 0:
		case at <= now:
			due = append(due, b)
		default:
			pause = min(pause, at.Sub(now))
		}
	}
	slices.SortFunc(due, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.next, b.next), cmp.Compare(a.Name, b.Name))
	})
	for len(due) > 0 {
		n, err := j.fire(ctx, due, now)
		if err != nil {
			return 0, err
		}
		due, pause = due[n:], 0 // more may be due already
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
	case b.MaxFires > 0 && b.Fires >= b.MaxFires:
		b.ends = false
	case !b.ends:
		b.next = b.plan.next(b.LastFire)
	case b.LastTask.IsZero():
		b.follow(b.LastFire)
	}
}

// follow sets the next fire of a job that fires some time after an end.
func (b *job) follow(end task.Time) {
	b.next, b.ends = max(end.Add(b.Schedule.After), b.StartsAt), false
	if b.EndsAt != 0 && b.next > b.EndsAt {
		b.next = 0
	}
}

// wakes returns when something is to be done for the job; 0: not by time.
func (b *job) wakes() task.Time {
	switch {
	case b.next == 0 || b.PausedAt == 0 || plant.On(plant.PauseIgnored):
		return b.next
	case b.PausedUntil == 0:
		return 0
	}
	return max(b.next, b.PausedUntil)
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
		b.follow(end)
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
	return task.ByID(rows), nil
}

// fire records what is due of the first jobs, as many as fit into one transaction, and returns how
// many jobs these were.
func (j *Jobs) fire(ctx context.Context, due []*job, now task.Time) (int, error) {
	spans, n := fitting(due, now)
	due = due[:n]
	waiting, err := j.waiting(ctx, due)
	if err != nil {
		return 0, err
	}
	var fires []store.Fire
	var of []*job // of each fire
	for i, b := range due {
		for _, f := range j.records(b, spans[i], waiting[b.LastTask]) {
			fires, of = append(fires, f), append(of, b)
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
		return 0, fmt.Errorf("fire: %w", err)
	}
	for i, b := range of {
		if res[i].Status == store.Fired {
			j.fired(b, &fires[i], res[i])
		} else {
			// An answer was lost, a leader before this one did it, or the definition has changed.
			j.forget(b)
		}
	}
	for _, b := range due {
		b.arm()
	}
	return n, nil
}

// fitting works out the records of the first jobs, of as many as one transaction takes.
func fitting(due []*job, now task.Time) (spans [][]span, n int) {
	rows := 0
	for _, b := range due {
		s := b.pending(now)
		if rows += len(s); rows > maxFires && n > 0 {
			break
		}
		spans, n = append(spans, s), n+1
	}
	return spans, n
}

// records makes the fires of a job. The first that is to run takes the place of the one that waits.
func (j *Jobs) records(b *job, spans []span, waits *task.Task) []store.Fire {
	fires := make([]store.Fire, len(spans))
	for i, s := range spans {
		fires[i] = store.Fire{JobID: b.ID, Version: b.Version, Task: b.task(j.cfg.NewID(), s)}
		switch {
		case s.why != 0 && b.plan != nil:
			fires[i].Last = b.LastTask
		case s.why == 0 && waits != nil:
			fires[i].Replace, waits = complete.Supersede(waits), nil
		}
	}
	return fires
}

// fired takes in that the store has recorded a fire.
func (j *Jobs) fired(b *job, f *store.Fire, res store.FireResult) {
	t := &f.Task
	t.ID, t.Version, t.RunAt = res.Row.ID, res.Row.Version, res.Row.RunAt
	b.LastFire = t.FireTime
	if b.LastTask = f.Last; f.Last.IsZero() {
		b.LastTask = t.ID
	}
	switch {
	case t.State == task.Scheduled:
		b.Fires++
		j.cfg.Fired(t)
	case j.cfg.Skipped != nil:
		j.cfg.Skipped(t)
	}
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
		if b.Overlap.Latest() && !b.LastTask.IsZero() {
			ids = append(ids, b.LastTask)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return j.tasks(ctx, ids)
}

// task builds the task of a fire.
func (b *job) task(id task.ID, s span) task.Task {
	t := newTask(&b.Job, id)
	t.FireTime, t.FireFrom, t.FireCount = s.at, s.from, s.n
	t.State, t.Run, t.RunAt = task.Scheduled, 1, s.at.Add(spread(&b.Job, s.at))
	if s.why != 0 {
		t.State, t.Reason, t.FinishedAt = task.Skipped, s.why, task.StoreNow
	}
	if s.why == task.ByRequest {
		t.Error = skipped(&b.Job)
	}
	return t
}

// newTask builds what the tasks of a job have in common.
func newTask(j *task.Job, id task.ID) task.Task {
	t := task.Task{ID: id, Kind: j.Kind, Group: j.Group, Payload: j.Payload, Bucket: j.Bucket,
		JobID: j.ID, Job: j.Name, Overlap: j.Overlap, MaxRetries: j.MaxRetries,
		Timeout: j.Timeout, RetryPolicy: j.RetryPolicy, OwnerService: j.OwnerService,
		OnUnknown: j.OnUnknown, MaxLateness: j.MaxLateness, MaxLifetime: j.MaxLifetime,
		Labels: j.Labels}
	if j.Overlap != task.OverlapAllow {
		t.OverlapKey = j.OverlapKey
		if t.OverlapKey == "" {
			t.OverlapKey = "job/" + j.ID.String()
		}
	}
	return t
}
