package sweep

import (
	"context"
	"fmt"
	"time"

	"github.com/ax-sched/ax/internal/clock"
	"github.com/ax-sched/ax/internal/plant"
	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

// OwnConfig says how Own works; all fields are required.
type OwnConfig struct {
	Store interface {
		Live(ctx context.Context, q store.LiveQuery) ([]task.Task, error)
		Tasks(ctx context.Context, ids []task.ID) ([]task.Task, error)
	}
	// Epoch returns the executor epoch of this process, or 0.
	Epoch func() int64
	// Known reports whether the execution runs here, is being claimed, or waits to be recorded.
	Known func(execution task.ID) bool
	// Cancel ends the context of an execution somebody asked to cancel, or whose row has moved on
	// without it; it may be called again.
	Cancel func(execution task.ID)
	// HandBack takes a task whose execution does not run here although the table says so: the
	// answer to a claim was lost, and it was never started.
	HandBack func(t *task.Task)
	Failed   func(error)
	Every    time.Duration // 2 s
}

// patience is how long an execution must have been missing here before it is handed back.
const patience = 5 * time.Second

// Own compares what the table says runs in this process with what does. It needs no leadership.
type Own struct {
	cfg     OwnConfig
	missing map[task.ID]time.Time // by execution: since when
	running map[task.ID]found     // by execution: what the last turn found to run here
}

// found is an execution that runs here, by the table or although its task is held.
type found struct {
	task task.ID
	held bool
}

// NewOwn returns an Own that has seen nothing yet.
func NewOwn(cfg OwnConfig) *Own { return &Own{cfg: cfg, missing: map[task.ID]time.Time{}} }

// Run compares regularly until ctx ends.
func (o *Own) Run(ctx context.Context) error {
	tick := time.NewTicker(o.cfg.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if err := o.runOnce(ctx); err != nil {
			o.cfg.Failed(fmt.Errorf("compare running executions: %w", err))
		}
	}
}

func (o *Own) runOnce(ctx context.Context) error {
	epoch := o.cfg.Epoch()
	if epoch == 0 {
		return nil
	}
	ctx, cancel := clock.Limit(ctx)
	defer cancel()
	missing, running := map[task.ID]time.Time{}, map[task.ID]found{}
	q := store.LiveQuery{Epoch: epoch, Limit: page}
	for {
		rows, err := o.cfg.Store.Live(ctx, q)
		if err != nil {
			return err
		}
		for i := range rows {
			o.look(&rows[i], missing, running)
		}
		if len(rows) < page {
			break
		}
		q.After = rows[len(rows)-1].ID
	}
	o.missing = missing
	return o.moved(ctx, running)
}

// moved looks at the executions that run here and are live no more by the table: a person has asked
// another process to cancel, resolve or rerun a held task. Those that are left out still are held,
// or have completed their task in a transaction of their own.
func (o *Own) moved(ctx context.Context, running map[task.ID]found) error {
	var ids []task.ID
	gone := map[task.ID]found{}
	for x, f := range o.running {
		if _, ok := running[x]; ok || !o.cfg.Known(x) {
			continue
		}
		if len(ids) == page {
			running[x] = f // next time
			continue
		}
		gone[x], ids = f, append(ids, f.task)
	}
	if len(ids) > 0 {
		rows, err := o.cfg.Store.Tasks(ctx, ids)
		if err != nil {
			return err
		}
		byID := task.ByID(rows)
		for x, f := range gone {
			switch t := byID[f.task]; {
			case t == nil || t.ExecutionID != x:
				o.cfg.Cancel(x)
			case t.State == task.Held || t.State.Live():
				running[x] = found{task: f.task, held: t.State == task.Held}
			case t.State != task.Succeeded || f.held:
				o.cfg.Cancel(x)
			}
		}
	}
	o.running = running
	return nil
}

func (o *Own) look(t *task.Task, missing map[task.ID]time.Time, running map[task.ID]found) {
	if o.cfg.Known(t.ExecutionID) && !plant.On(plant.HandBackRunning) {
		running[t.ExecutionID] = found{task: t.ID}
		if t.CancelAsked != 0 {
			o.cfg.Cancel(t.ExecutionID)
		}
		return
	}
	since, ok := o.missing[t.ExecutionID]
	if !ok {
		since = time.Now()
	}
	missing[t.ExecutionID] = since
	if time.Since(since) >= patience {
		o.cfg.HandBack(t)
	}
}
