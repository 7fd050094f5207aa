package jobs

import (
	"github.com/ax-sched/ax/internal/crontab"
	"github.com/ax-sched/ax/internal/manifest"
	"github.com/ax-sched/ax/task"
)

// FromCrontab makes a file of ax run that does the same as a crontab. zone is written into it
// unless it is "".
func FromCrontab(f *crontab.File, zone string) *manifest.File {
	out := &manifest.File{Zone: zone}
	for _, e := range f.Entries {
		j := manifest.Job{Reboot: e.Reboot, Row: task.Job{Name: e.Name, MaxRetries: -1,
			Bucket: task.Normal, Overlap: task.OverlapSkip,
			Schedule: task.Schedule{Cron: e.Schedule, Zone: e.Zone}},
			Do: &manifest.Action{Shell: e.Command, Input: e.Input, User: e.User}}
		for _, v := range e.Env {
			j.Do.Env = append(j.Do.Env, manifest.Var{Name: v.Name,
				Value: manifest.Text{Raw: manifest.EscapeVars(v.Value)}})
		}
		out.Jobs = append(out.Jobs, j)
	}
	return out
}
