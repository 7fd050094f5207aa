package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/command"
	"github.com/ax-sched/ax/internal/crontab"
	"github.com/ax-sched/ax/internal/show"
	"github.com/ax-sched/ax/internal/webcall"
)

// maxCrontab is how large a file may be; anything larger is hardly written by hand.
const maxCrontab = 1 << 20

// loaded is what the files say.
type loaded struct {
	opts  loadOptions
	files []string
	lines []*line
	jobs  int // of the lines, how many come from files of jobs
	notes []string
	web   []*webcall.Client // of the HTTP calls
}

// loadOptions say how files are read.
type loadOptions struct {
	system bool   // crontabs have a user in each line
	zone   string // of lines and jobs that name none
	kind   func(sort string) string
}

// String says how much it is.
func (l *loaded) String() string {
	var parts []string
	if n := len(l.lines) - l.jobs; n > 0 || l.jobs == 0 {
		parts = append(parts, count(n, "line"))
	}
	if l.jobs > 0 {
		parts = append(parts, count(l.jobs, "job"))
	}
	return strings.Join(parts, " and ") + " of " + count(len(l.files), "file")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// line is one line of a crontab, or one job of a file of jobs, ready to run.
type line struct {
	name   string // of its job, within this set of files
	place  string // the file and the number of the line
	when   string // its schedule, for a reader
	what   string // what it runs, for a reader
	digest string // of what it runs
	reboot bool
	// spec says all but the name, the payload and the label.
	spec   ax.JobSpec
	paused *bool // nil: as it is
	do     action
}

// action is what a line does for a task. What it prints goes to out; its error says what becomes of
// the task.
type action interface {
	Run(ctx context.Context, t *ax.Task, out io.Writer) error
}

// load reads files and folders. The error lists everything that is wrong in any.
func load(ctx context.Context, paths []string, opts loadOptions) (*loaded, error) {
	l := &loaded{opts: opts}
	var errs []error
	for _, path := range paths {
		st, err := os.Stat(path)
		switch {
		case err != nil:
			errs = append(errs, err)
		case st.IsDir():
			errs = append(errs, l.folder(path))
		case isManifest(path):
			errs = append(errs, l.manifest(ctx, path))
		default:
			errs = append(errs, l.file(path, opts.system))
		}
	}
	return l, errors.Join(errs...)
}

// folderFile are the names that cron daemons read in a folder: no back-ups, no files of package
// managers.
var folderFile = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func (l *loaded) folder(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !e.IsDir() && folderFile.MatchString(e.Name()) {
			errs = append(errs, l.file(filepath.Join(path, e.Name()), true))
		}
	}
	return errors.Join(errs...)
}

func (l *loaded) file(path string, system bool) error {
	name := filepath.Base(path)
	same := func(f string) bool { return filepath.Base(f) == name && !isManifest(f) }
	if i := slices.IndexFunc(l.files, same); i >= 0 {
		return fmt.Errorf("%s: has the same name as %s, and jobs are named by it; rename one", path,
			l.files[i])
	}
	l.files = append(l.files, path)
	text, err := readFile(path)
	if err != nil {
		return err
	}
	system = system || isSystem(path)
	f, err := crontab.Parse(text, crontab.Options{Name: name, System: system})
	var bad *crontab.Error
	if errors.As(err, &bad) {
		err = nil
	} else {
		bad = &crontab.Error{}
	}
	for _, e := range f.Entries {
		account, err := accountOf(&e, system)
		if err != nil {
			bad.Lines = append(bad.Lines, crontab.Line{Number: e.Line, Text: err.Error()})
			continue
		}
		l.lines = append(l.lines, l.entry(&e, path, account))
	}
	for _, n := range f.Notes {
		l.notes = append(l.notes, fmt.Sprintf("%s:%d: %s", path, n.Number, n.Text))
	}
	return errors.Join(err, placed(path, bad.Lines))
}

// entry makes a line of an entry of a crontab: no time-out and no retries.
func (l *loaded) entry(e *crontab.Entry, path string, account *command.Account) *line {
	zone := e.Zone
	if zone == "" {
		zone = l.opts.zone
	}
	p := &command.Action{Line: e.Command, Input: e.Input, Account: account}
	for _, v := range e.Env {
		p.Env = append(p.Env, [2]string{v.Name, v.Value})
	}
	return &line{name: e.Name, place: fmt.Sprintf("%s:%d", path, e.Line), when: e.Schedule,
		what: show.FirstLine(e.Command), digest: e.Digest(), reboot: e.Reboot, do: p,
		spec: ax.JobSpec{Schedule: ax.CronIn(zone, e.Schedule), Kind: l.opts.kind(crontabKind),
			Timeout: ax.NoTimeout, MaxRetries: ax.Int(0)}}
}

func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCrontab+1))
	if err == nil && len(text) > maxCrontab {
		err = fmt.Errorf("%s: is larger than 1 MiB, which no such file is", path)
	}
	return string(text), err
}

// isSystem tells by the place of a file whether its lines name a user.
func isSystem(path string) bool {
	abs, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	return abs == "/etc/crontab" || filepath.Dir(abs) == "/etc/cron.d"
}

func accountOf(e *crontab.Entry, system bool) (*command.Account, error) {
	if !system {
		return command.Own(), nil
	}
	return command.Lookup(e.User)
}

// placed puts the file's name before each remark, as compilers do.
func placed(path string, bad []crontab.Line) error {
	if len(bad) == 0 {
		return nil
	}
	slices.SortStableFunc(bad, func(a, b crontab.Line) int { return a.Number - b.Number })
	s := make([]string, len(bad))
	for i, b := range bad {
		s[i] = fmt.Sprintf("%s:%d: %s", path, b.Number, b.Text)
	}
	return errors.New(strings.Join(s, "\n"))
}
