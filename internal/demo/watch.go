package demo

import (
	"context"
	"slices"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/task"
)

// watch prints what happens without a handler: fires that are skipped, tasks that die.
func (d *demo) watch(ctx context.Context) error {
	seen := map[ax.ID]bool{}
	for pause(ctx, 50*time.Millisecond) {
		rows, err := d.ax.List(ctx, ax.Filter{States: []ax.State{task.Skipped, task.Dead}, Limit: 100})
		if err != nil {
			continue // the scheduler says so if it lasts
		}
		slices.Reverse(rows)
		for i := range rows {
			r := &rows[i]
			if r.Group != d.group || seen[r.ID] {
				continue
			}
			seen[r.ID] = true
			switch {
			case r.State == task.Dead:
				d.tell.say(title(r.Kind), "dead (%s): %s", r.Reason, r.Error)
			default:
				d.tell.say(title(r.Kind), "skipped: the run before still works")
			}
		}
	}
	return ctx.Err()
}

// rows reads the tasks that this demo has made.
func (d *demo) rows(ctx context.Context) ([]task.Task, error) {
	var all []task.Task
	for _, kind := range []string{kindClose, kindReconcile, kindReport, kindReceipt, kindCharge} {
		f := ax.Filter{Kind: kind, Limit: 1000}
		for {
			page, err := d.ax.List(ctx, f)
			if err != nil {
				return nil, err
			}
			mine := slices.DeleteFunc(slices.Clone(page), func(t task.Task) bool {
				return t.Group != d.group
			})
			all = append(all, mine...)
			if len(mine) == 0 || len(page) < f.Limit {
				break
			}
			f.Before = page[len(page)-1].ID
		}
	}
	return all, nil
}
