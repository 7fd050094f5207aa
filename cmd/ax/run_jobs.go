package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/task"
)

// label marks the jobs and tasks that ax run has made, with its --name: no others are deleted.
const label = "ax.run"

// lines are those of the files as they were read last, by job name.
type lines struct {
	mu sync.RWMutex
	m  map[string]*line
}

func (ls *lines) set(m map[string]*line) {
	ls.mu.Lock()
	ls.m = m
	ls.mu.Unlock()
}

func (ls *lines) find(name string) *line {
	ls.mu.RLock()
	defer ls.mu.RUnlock()
	return ls.m[name]
}

// ticket is the payload of a task: it names a line and what the line ran when the task was made.
// It holds nothing that could be run.
type ticket struct {
	Line   string `json:"line"`
	Digest string `json:"digest"`
}

// jobName keeps the sets of several `ax run` in one database apart.
func (d *crond) jobName(l *line) string {
	if d.cmd.Name == crontabKind {
		return l.Name
	}
	return d.cmd.Name + "/" + l.Name
}

// install makes the jobs of the lines and deletes those of lines that are gone.
func (d *crond) install(ctx context.Context, l *loaded) error {
	m := make(map[string]*line, len(l.lines))
	for _, x := range l.lines {
		m[d.jobName(x)] = x
	}
	d.lines.set(m) // before the jobs: a fire may come at once
	for _, x := range l.lines {
		if x.Reboot {
			continue
		}
		if err := d.put(ctx, x); err != nil {
			return err
		}
	}
	jobs, err := d.ax.Jobs(ctx)
	if err != nil {
		return err
	}
	next := map[string]time.Time{}
	for _, j := range jobs {
		x := m[j.Name]
		switch {
		case j.Labels[label] != d.cmd.Name:
		case x == nil || x.Reboot:
			if err := d.ax.DeleteJob(ctx, j.Name); err != nil && !errors.Is(err, ax.ErrNotFound) {
				return err
			}
			d.log.say(j.Name, "is no longer in the files: deleted")
		default:
			if ts, err := d.ax.NextFires(j, 1); err == nil && len(ts) > 0 {
				next[j.Name] = ts[0]
			}
		}
	}
	d.announce(l, next)
	return nil
}

func (d *crond) put(ctx context.Context, l *line) error {
	payload, err := d.ticket(l)
	if err != nil {
		return err
	}
	zone := l.Zone
	if zone == "" {
		zone = d.zone
	}
	err = d.ax.PutJob(ctx, ax.JobSpec{Name: d.jobName(l), Schedule: ax.CronIn(zone, l.Schedule),
		Kind: d.cmd.kind(), Payload: payload, Timeout: ax.NoTimeout, MaxRetries: ax.Int(0),
		Labels: map[string]string{label: d.cmd.Name}})
	if err != nil {
		return fmt.Errorf("%s: %w", l.where(), err)
	}
	return nil
}

func (d *crond) ticket(l *line) ([]byte, error) {
	return json.Marshal(ticket{Line: d.jobName(l), Digest: l.Digest()})
}

// reboot submits the lines that run once at the start. The key lets one that still has to recover
// from a crash stand for the new one.
func (d *crond) reboot(ctx context.Context) error {
	d.lines.mu.RLock()
	defer d.lines.mu.RUnlock()
	for name, l := range d.lines.m {
		if !l.Reboot {
			continue
		}
		payload, err := d.ticket(l)
		if err != nil {
			return err
		}
		_, err = d.ax.Submit(ctx, ax.NewTask{Kind: d.cmd.kind(), Key: task.CutText("@reboot "+name,
			task.MaxName), Payload: payload, Timeout: ax.NoTimeout, MaxRetries: ax.Int(0),
			Labels: map[string]string{label: d.cmd.Name}})
		if err != nil {
			return fmt.Errorf("%s: %w", l.where(), err)
		}
	}
	return nil
}

// announce says under which name each line can be found, and when it runs next.
func (d *crond) announce(l *loaded, next map[string]time.Time) {
	for _, n := range l.notes {
		d.log.say("", "note: %s", n)
	}
	for _, x := range l.lines {
		name := d.jobName(x)
		if x.Reboot {
			d.log.say(name, "is %s: @reboot %s", x.where(), firstLine(x.Command))
			continue
		}
		when := "not known yet"
		if t, ok := next[name]; ok {
			when = t.Format(time.RFC3339)
		}
		d.log.say(name, "is %s: %s %s; next %s", x.where(), x.Schedule, firstLine(x.Command), when)
	}
}
