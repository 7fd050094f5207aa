package jobs

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/manifest"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// Check puts the jobs into an empty store in memory: what would be refused is refused there, by the
// same code, and what would be stored can be compared with what is. The rows are in the order of
// the file; the error is a *manifest.Error.
func Check(ctx context.Context, f *manifest.File, log *slog.Logger) ([]task.Job, error) {
	st := memory.New(memory.Options{})
	var bad []manifest.Line
	for i := range f.Jobs {
		j := &f.Jobs[i]
		s, err := ax.New(st, ax.Config{Group: j.Row.Group, Logger: log})
		if err != nil {
			return nil, err
		}
		if err := s.PutJob(ctx, checked(j)); err != nil {
			bad = append(bad, j.Explain(err)...)
		}
	}
	if len(bad) > 0 {
		return nil, &manifest.Error{Lines: bad}
	}
	all, err := st.Jobs(ctx, 0)
	if err != nil {
		return nil, err
	}
	rows := make([]task.Job, len(f.Jobs))
	for i := range f.Jobs {
		at := slices.IndexFunc(all, func(r task.Job) bool { return r.Name == f.Jobs[i].Row.Name })
		rows[i] = all[at]
	}
	return rows, st.Close()
}

// checked is what PutJob checks. A job that runs at each start of ax run has no schedule that it
// could take.
func checked(j *manifest.Job) ax.JobSpec {
	s := Spec(j)
	if j.Reboot {
		s.Schedule = ax.Every(time.Hour)
	}
	return s
}

// Spec returns a definition for Scheduler.PutJob. Group and Paused are no part of it.
func Spec(j *manifest.Job) ax.JobSpec {
	r := &j.Row
	s := ax.JobSpec{Name: r.Name, Kind: r.Kind, Payload: r.Payload, OverlapKey: r.OverlapKey,
		Misfire: r.Misfire, MisfireGrace: r.MisfireGrace, MisfireCap: r.MisfireCap,
		Jitter: r.Jitter, StartsAt: r.StartsAt.Go(), EndsAt: r.EndsAt.Go(),
		MaxFires: int(r.MaxFires), Priority: r.Bucket, Timeout: r.Timeout, Retry: j.Retry,
		AtMostOnce: j.Once, OnUnknown: r.OnUnknown, MaxLateness: r.MaxLateness,
		MaxLifetime: r.MaxLifetime, Service: r.OwnerService, Labels: r.Labels}
	if r.MaxRetries >= 0 {
		s.MaxRetries = ax.Int(r.MaxRetries)
	}
	switch r.Overlap {
	case task.OverlapAllow:
		s.Overlap = ax.Allow
	case task.OverlapSkip:
		s.Overlap = ax.Skip
	case task.OverlapQueue:
		s.Overlap = ax.Queue
	case task.OverlapReplace:
		s.Overlap = ax.Replace
	}
	switch w := r.Schedule; {
	case w.Cron != "":
		s.Schedule = ax.CronIn(w.Zone, w.Cron)
	case w.Every != 0:
		s.Schedule = ax.Every(w.Every)
	case w.After != 0:
		s.Schedule = ax.After(w.After)
	case w.At != 0:
		s.Schedule = ax.At(w.At.Go())
	}
	return s
}
