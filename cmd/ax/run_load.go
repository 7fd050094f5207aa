package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ax-sched/ax/internal/command"
	"github.com/ax-sched/ax/internal/crontab"
)

// maxCrontab is how large a file may be; anything larger is hardly a crontab.
const maxCrontab = 1 << 20

// loaded is what the files say.
type loaded struct {
	files []string
	lines []*line
	notes []string
}

// String says how much it is.
func (l *loaded) String() string {
	return count(len(l.lines), "line") + " of " + count(len(l.files), "file")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// line is one line of a crontab, ready to run.
type line struct {
	crontab.Entry
	file    string
	account *command.Account
}

// where is the place of a line for a reader.
func (l *line) where() string { return fmt.Sprintf("%s:%d", l.file, l.Line) }

// load reads crontab files and folders of them. The error lists everything that is wrong in any.
func load(paths []string, system bool) (*loaded, error) {
	l := &loaded{}
	var errs []error
	for _, path := range paths {
		st, err := os.Stat(path)
		switch {
		case err != nil:
			errs = append(errs, err)
		case st.IsDir():
			errs = append(errs, l.folder(path))
		default:
			errs = append(errs, l.file(path, system))
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
	same := func(f string) bool { return filepath.Base(f) == name }
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
		l.lines = append(l.lines, &line{Entry: e, file: path, account: account})
	}
	for _, n := range f.Notes {
		l.notes = append(l.notes, fmt.Sprintf("%s:%d: %s", path, n.Number, n.Text))
	}
	return errors.Join(err, placed(path, bad.Lines))
}

func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCrontab+1))
	if err == nil && len(text) > maxCrontab {
		err = fmt.Errorf("%s: is larger than 1 MiB, which no crontab is", path)
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
