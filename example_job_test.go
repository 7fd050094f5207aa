package ax_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

func ExampleScheduler_PutJob() {
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	for range 2 { // as often as you like: it stays one definition
		err = a.PutJob(ctx, ax.JobSpec{Name: "settlement", Kind: "settle.day",
			Schedule: ax.CronIn("Europe/Berlin", "30 2 * * *")})
		fmt.Println(err)
	}
	err = a.PutJob(ctx, ax.JobSpec{Name: "never", Kind: "k", Schedule: ax.Cron("0 0 30 2 *")})
	fmt.Println(errors.Is(err, ax.ErrNeverFires))
	jobs, err := a.Jobs(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, j := range jobs {
		j.LastFire = task.FromGo(time.Date(2099, 3, 28, 12, 0, 0, 0, time.UTC))
		next, err := a.NextFires(j, 3)
		fmt.Println(j.Name, j.Version, err)
		for _, t := range next { // the clocks go forward on the 29th
			fmt.Println(t.Format(time.RFC3339))
		}
	}
	// Output:
	// <nil>
	// <nil>
	// true
	// settlement 1 <nil>
	// 2099-03-29T01:00:00Z
	// 2099-03-30T00:30:00Z
	// 2099-03-31T00:30:00Z
}

// A job fires while Run runs; its handler sees which fire it is.
func ExampleEvery() {
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet})
	if err != nil {
		fmt.Println(err)
		return
	}
	fires := make(chan *ax.Task)
	a.Handle("reconcile", func(_ context.Context, t *ax.Task) error { fires <- t; return nil })
	defer running(a)()
	if err := a.PutJob(context.Background(), ax.JobSpec{Name: "reconciliation", Kind: "reconcile",
		Schedule: ax.Every(time.Second)}); err != nil {
		fmt.Println(err)
		return
	}
	first, second := <-fires, <-fires
	fmt.Println(first.Job, first.Attempt, second.FireTime.Sub(first.FireTime))
	// Output: reconciliation 1 1s
}
