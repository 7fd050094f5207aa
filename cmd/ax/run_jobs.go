package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/manifest"
	"github.com/ax-sched/ax/task"
)

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
		return l.name
	}
	return d.cmd.Name + "/" + l.name
}

// install makes the jobs of the lines and deletes those of lines that are gone.
func (d *crond) install(ctx context.Context, l *loaded) error {
	m := make(map[string]*line, len(l.lines))
	for _, x := range l.lines {
		m[d.jobName(x)] = x
	}
	if err := d.checkNames(ctx, m); err != nil {
		return err
	}
	d.lines.set(m) // before the jobs: a fire may come at once
	d.hangUp(l.web)
	for _, x := range l.lines {
		if x.reboot {
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
	next := map[string]string{}
	for _, j := range jobs {
		x := m[j.Name]
		switch {
		case j.Labels[manifest.OfRun] != d.cmd.Name:
		case x == nil || x.reboot:
			if err := d.ax.DeleteJob(ctx, j.Name); err != nil && !errors.Is(err, ax.ErrNotFound) {
				return err
			}
			d.log.say(j.Name, "is no longer in the files: deleted")
		default:
			if err := d.steer(ctx, &j, x); err != nil {
				return err
			}
			next[j.Name] = d.next(&j, x)
		}
	}
	d.announce(l, next)
	return nil
}

// checkNames refuses to replace jobs that somebody else has made.
func (d *crond) checkNames(ctx context.Context, m map[string]*line) error {
	jobs, err := d.ax.Jobs(ctx)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if x := m[j.Name]; x != nil && !x.reboot && j.Labels[manifest.OfRun] != d.cmd.Name {
			return fmt.Errorf("%s: there is a job %s in this database that these files have not made; "+
				"take another name, or another --name", x.place, j.Name)
		}
	}
	return nil
}

func (d *crond) put(ctx context.Context, l *line) (err error) {
	spec := l.spec
	spec.Name, spec.Labels = d.jobName(l), d.labels(l)
	if spec.Payload, err = d.ticket(l); err != nil {
		return err
	}
	if err := d.ax.PutJob(ctx, spec); err != nil {
		return fmt.Errorf("%s: %w", l.place, err)
	}
	return nil
}

// steer pauses or resumes a job whose file says so.
func (d *crond) steer(ctx context.Context, j *task.Job, l *line) error {
	is := j.Control.Paused(task.FromGo(time.Now()))
	by := ax.By{Actor: actor(), Reason: "so it stands in " + l.place}
	switch {
	case l.paused == nil || *l.paused == is:
		return nil
	case *l.paused:
		return d.ax.PauseJob(ctx, j.Name, time.Time{}, by)
	}
	return d.ax.ResumeJob(ctx, j.Name, by)
}

// labels marks what ax run has made, with its --name: nothing else is deleted.
func (d *crond) labels(l *line) map[string]string {
	m := map[string]string{manifest.OfRun: d.cmd.Name}
	maps.Copy(m, l.spec.Labels)
	return m
}

func (d *crond) ticket(l *line) ([]byte, error) {
	return json.Marshal(ticket{Line: d.jobName(l), Digest: l.digest})
}

// reboot submits the lines that run once at the start. The key lets one that still has to recover
// from a crash stand for the new one.
func (d *crond) reboot(ctx context.Context) error {
	d.lines.mu.RLock()
	defer d.lines.mu.RUnlock()
	for name, l := range d.lines.m {
		if !l.reboot {
			continue
		}
		payload, err := d.ticket(l)
		if err != nil {
			return err
		}
		s := &l.spec
		_, err = d.ax.Submit(ctx, ax.NewTask{Kind: s.Kind, Key: task.CutText("@reboot "+name,
			task.MaxName), Payload: payload, Timeout: s.Timeout, MaxRetries: s.MaxRetries,
			Retry: s.Retry, Priority: s.Priority, Service: s.Service, Labels: d.labels(l)})
		if err != nil {
			return fmt.Errorf("%s: %w", l.place, err)
		}
	}
	return nil
}

// next says when a job fires next; j is the job as it was before its line was heeded.
func (d *crond) next(j *task.Job, l *line) string {
	is := j.Control.Paused(task.FromGo(time.Now()))
	if l.paused != nil {
		is = *l.paused
	}
	switch {
	case is && l.paused == nil && j.PausedUntil != 0:
		return "paused until " + j.PausedUntil.Go().Format(time.RFC3339)
	case is:
		return "paused"
	}
	j.PausedAt, j.PausedUntil = 0, 0
	if ts, err := d.ax.NextFires(*j, 1); err == nil && len(ts) > 0 {
		return "next " + ts[0].Format(time.RFC3339)
	}
	return "next not known yet"
}

// announce says under which name each line can be found, and when it runs next.
func (d *crond) announce(l *loaded, next map[string]string) {
	for _, n := range l.notes {
		d.log.say("", "note: %s", n)
	}
	for _, x := range l.lines {
		name := d.jobName(x)
		if x.reboot {
			d.log.say(name, "is %s: @reboot %s", x.place, x.what)
			continue
		}
		d.log.say(name, "is %s: %s %s; %s", x.place, x.when, x.what, next[name])
	}
}
