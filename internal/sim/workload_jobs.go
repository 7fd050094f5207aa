package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/ax-sched/ax"
)

// policies draws what a definition says beside its schedule, which may repeat by the clock.
func (w *world) policies(d dice, s *ax.JobSpec, byClock bool) {
	switch d.IntN(4) {
	case 0:
		s.Misfire = ax.MisfireSkip
		s.MisfireGrace = d.between(500*time.Millisecond, 6*time.Second).Truncate(time.Millisecond)
	case 1:
		s.Misfire, s.MisfireCap = ax.MisfireAll, 1+d.IntN(4)
		s.Overlap = oneOf(d, ax.Allow, ax.Queue)
	}
	if d.chance(0.15) {
		s.MaxFires = 1 + d.IntN(8)
	}
	if !byClock || d.chance(0.7) {
		return
	}
	s.Jitter = d.between(0, 900*time.Millisecond).Truncate(time.Millisecond)
	if d.chance(0.5) {
		s.StartsAt = time.Now().Add(d.between(0, 15*time.Second))
	}
	if d.chance(0.5) {
		s.EndsAt = time.Now().Add(d.between(16*time.Second, 60*time.Second))
	}
}

// actOnJob is a person who pauses, resumes or triggers a job, or skips its next fire.
func (w *world) actOnJob(d dice, n int) {
	name, by := fmt.Sprintf("job%d", d.IntN(5)), ax.By{Actor: "sim", Reason: fmt.Sprint("act ", n)}
	what := d.IntN(5)
	until, later := time.Time{}, d.between(time.Second, 15*time.Second)
	if what == 1 {
		until = time.Now().Add(later)
	}
	w.attempt(d, func(ctx context.Context, p *process) error {
		switch what {
		case 0, 1:
			return p.ax.PauseJob(ctx, name, until, by)
		case 2, 3:
			_, err := p.ax.SkipNext(ctx, name, by)
			return err
		}
		res, err := p.ax.TriggerJob(ctx, name, ax.JobRun{Key: by.Reason, Payload: []byte("run")}, by)
		w.acknowledged(p, []ax.Result{res}, err)
		return err
	})
	if what == 0 && w.sleep(later) {
		w.attempt(d, func(ctx context.Context, p *process) error {
			return p.ax.ResumeJob(ctx, name, by)
		})
	}
}
