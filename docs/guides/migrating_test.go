package guides

import (
	"context"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/axtest"
)

func nightly(ctx context.Context, a *ax.Scheduler, purge func(context.Context) error) error {
	err := a.Handle("purge", func(ctx context.Context, _ *ax.Task) error { return purge(ctx) })
	if err != nil {
		return err
	}
	return a.PutJob(ctx, ax.JobSpec{Name: "purge", Kind: "purge",
		Schedule: ax.CronIn("Europe/Berlin", "30 3 * * *")})
}

func TestNightly(t *testing.T) {
	axtest.Run(t, ax.Config{}, func(tt *axtest.T) {
		var at []string
		purge := func(context.Context) error {
			at = append(at, time.Now().UTC().Format(time.TimeOnly))
			return nil
		}
		if err := nightly(tt.Context(), tt.Scheduler, purge); err != nil {
			tt.Fatal(err)
		}
		tt.Advance(24 * time.Hour)
		if len(at) != 1 || at[0] != "02:30:00" { // UTC, in winter
			tt.Errorf("ran at %v", at)
		}
	})
}
