package crontab

import (
	"errors"
	"strings"
	"testing"

	"github.com/ax-sched/ax/cron"
)

// FuzzParse: any text gives entries or errors with line numbers, and what is accepted can be
// scheduled.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "\n", "* * * * * a%b\\%c", "@reboot x", "A = 'b'\n@every 5s c",
		"CRON_TZ=Europe/Berlin\n0 2 * * * x", "* * * *", "\"\"=", "=", "'='", "@", "@every",
		"H H(0-7) * * * root x", "0 0 L * 5L a\r\n", "\x00", "* * * * * %", "0 0 * * 7#5 \\",
		"30 2 * * * a\n30 2 * * * a", "CRON_TZ=\n\xff\xfe * * * * x"} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, system bool) {
		file, err := Parse(text, Options{Name: "f", System: system})
		lines := strings.Count(text, "\n") + 1
		var bad *Error
		if err != nil && (!errors.As(err, &bad) || len(bad.Lines) == 0) {
			t.Fatalf("error %v names no lines", err)
		}
		for _, l := range append(file.Notes, bad.lines()...) {
			if l.Number < 1 || l.Number > lines || l.Text == "" {
				t.Errorf("remark %v on a text of %d lines", l, lines)
			}
		}
		names := map[string]bool{}
		for i := range file.Entries {
			e := &file.Entries[i]
			if names[e.Name] {
				t.Errorf("two entries are named %q", e.Name)
			}
			names[e.Name] = true
			if strings.Trim(e.Command, blanks) == "" || system != (e.User != "") {
				t.Errorf("entry %+v of %q", e, text)
			}
			if strings.ContainsRune(e.Command+e.Input, 0) {
				t.Errorf("entry %+v holds a NUL byte", e)
			}
			if _, err := cron.Parse(e.Schedule, cron.Seed(e.Name)); err != nil && !e.Reboot {
				t.Errorf("entry %+v: %v", e, err)
			}
		}
	})
}

func (e *Error) lines() []Line {
	if e == nil {
		return nil
	}
	return e.Lines
}
