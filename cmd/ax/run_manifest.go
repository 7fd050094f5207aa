package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/command"
	"github.com/ax-sched/ax/internal/jobs"
	"github.com/ax-sched/ax/internal/manifest"
	"github.com/ax-sched/ax/internal/webcall"
	"github.com/ax-sched/ax/task"
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
	client := webcall.New("ax/"+version(), masked(f.Secrets))
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
	return manifest.In(path, check(ctx, f))
}

// check asks the code of PutJob about all jobs. One that runs at each start has no schedule that it
// could take.
func check(ctx context.Context, f *manifest.File) error {
	with := *f
	with.Jobs = slices.Clone(f.Jobs)
	for i := range with.Jobs {
		if with.Jobs[i].Reboot {
			with.Jobs[i].Row.Schedule = task.Schedule{Every: time.Hour}
		}
	}
	_, err := jobs.Check(ctx, &with, slog.New(slog.DiscardHandler))
	return err
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
		x.what, x.do = newCall(j.Do.HTTP, client)
	} else {
		j.Row.Kind = l.opts.kind(commandKind)
		x.what, x.do, err = newCommand(j.Do)
		j.Row.MaxRetries = max(j.Row.MaxRetries, 0) // not set is none
	}
	x.spec = jobs.Spec(j)
	return x, err
}

func newCommand(a *manifest.Action) (what string, p *commandLine, err error) {
	p = &commandLine{args: a.Command, line: a.Shell, input: a.Input, dir: a.Dir,
		account: command.Own()}
	if a.User != "" {
		if p.account, err = command.Lookup(a.User); err != nil {
			return "", nil, err
		}
	}
	for _, v := range a.Env {
		p.env = append(p.env, [2]string{v.Name, v.Value.Value})
	}
	if len(a.Command) > 0 {
		return firstLine(strings.Join(a.Command, " ")), p, nil
	}
	return firstLine(a.Shell), p, nil
}

// httpCall is an HTTP call of a job.
type httpCall struct {
	client *webcall.Client
	call   webcall.Call
}

func newCall(h *manifest.HTTP, client *webcall.Client) (what string, c *httpCall) {
	c = &httpCall{client: client, call: webcall.Call{Method: h.Method, URL: h.URL.Value, Body: h.Body,
		Header: http.Header{}}}
	if h.JSON {
		c.call.Header.Set("Content-Type", "application/json")
	}
	for _, v := range h.Headers {
		c.call.Header.Set(v.Name, v.Value.Value)
	}
	if h.Method == "" {
		c.call.Method = http.MethodGet
		if h.Body != nil {
			c.call.Method = http.MethodPost
		}
	}
	return c.call.Method + " " + h.URL.Raw, c
}

func (c *httpCall) run(ctx context.Context, t *ax.Task, out io.Writer) error {
	text, err := c.client.Do(ctx, &c.call, t)
	if err != nil {
		return err // it repeats the text
	}
	_, err = io.WriteString(out, text)
	return err
}

// masked hides secrets.
func masked(secrets []string) func(string) string {
	var pairs []string
	// The longest first: a replacer tries them in this order, and one may begin as another does.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, s := range secrets {
		pairs = append(pairs, s, "***")
	}
	return strings.NewReplacer(pairs...).Replace
}
