package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ax-sched/ax/internal/command"
	"github.com/ax-sched/ax/internal/jobs"
	"github.com/ax-sched/ax/internal/manifest"
	"github.com/ax-sched/ax/internal/webcall"

	"github.com/ax-sched/ax/internal/show"
)

// isManifest tells files of jobs from crontabs by their names.
func isManifest(path string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(path)))
}

// manifest reads a file of jobs.
func (l *loaded) manifest(ctx context.Context, path string) error {
	l.files = append(l.files, path)
	text, err := readFile(path)
	if err != nil {
		return err
	}
	f, err := manifest.Parse([]byte(text), manifest.Options{Run: true, Lookup: os.LookupEnv})
	if err != nil {
		return manifest.In(path, err)
	}
	client := webcall.New("ax/"+version(), webcall.Mask(f.Secrets))
	l.web = append(l.web, client)
	var bad []manifest.Line
	for i := range f.Jobs {
		j := &f.Jobs[i]
		x, err := l.job(j, path, client)
		if err != nil {
			bad = append(bad, manifest.Line{Number: j.Where("user"), Text: fmt.Sprintf("job %s: %v",
				j.Row.Name, err)})
			continue
		}
		l.lines = append(l.lines, x)
		l.jobs++
	}
	if len(bad) > 0 {
		return manifest.In(path, &manifest.Error{Lines: bad})
	}
	_, err = jobs.Check(ctx, f, slog.New(slog.DiscardHandler))
	return manifest.In(path, err)
}

// job makes a line of a job.
func (l *loaded) job(j *manifest.Job, path string, client *webcall.Client) (*line, error) {
	place := fmt.Sprintf("%s:%d", path, j.Line)
	for _, x := range l.lines {
		if x.name == j.Row.Name {
			return nil, fmt.Errorf("has the same name as %s; rename one", x.place)
		}
	}
	s := &j.Row.Schedule
	if s.Cron != "" && s.Zone == "" && !strings.HasPrefix(s.Cron, "CRON_TZ=") {
		s.Zone = l.opts.zone
	}
	x := &line{name: j.Row.Name, place: place, when: jobs.Describe(*s), digest: j.Do.Digest(),
		reboot: j.Reboot, paused: j.Paused}
	var err error
	if j.Do.HTTP != nil {
		j.Row.Kind = l.opts.kind(httpKind)
		x.what, x.do = webcall.FromManifest(j.Do.HTTP, client)
	} else {
		j.Row.Kind = l.opts.kind(commandKind)
		x.what, x.do, err = command.FromManifest(j.Do)
		x.what = show.FirstLine(x.what)
		j.Row.MaxRetries = max(j.Row.MaxRetries, 0) // not set is none
	}
	x.spec = jobs.Spec(j)
	return x, err
}
