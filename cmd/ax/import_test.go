package main

import (
	"os"
	"os/user"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/command"
	"github.com/google/go-cmp/cmp"
)

// TestImportCrontab: ax run does the same with the printed file as with the crontab.
func TestImportCrontab(t *testing.T) { // not parallel: it sets a variable of the environment
	t.Setenv("X", "of ax")
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	tab := strings.Join([]string{"# comment", "MAILTO=root", "SHELL=/bin/bash", `A = " b ${X} $y "`,
		"* * * * * echo '${X}' $y: \"#\"", "@reboot true", "CRON_TZ=Asia/Shanghai",
		`0 3 * * FRI-MON cat%one%two \% three %`, "@every 10s echo '  multi\\n'", "EMPTY=",
		"@daily echo yes", "@daily echo yes"}, "\n") + "\n"
	system := "HOME=/\n5 4 * * * " + u.Username + " echo $HOME%in\n"
	for _, c := range []struct {
		text  string
		flags []string
	}{{tab, nil}, {tab, []string{"--json"}}, {system, []string{"--system"}}} {
		dir := t.TempDir()
		from, to := filepath.Join(dir, "tab"), filepath.Join(dir, "ax.yaml")
		if err := os.WriteFile(from, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := runAx(t, dir, append([]string{"import", "crontab", from}, c.flags...)...)
		if r.code != 0 {
			t.Fatalf("%+v", r)
		}
		if err := os.WriteFile(to, []byte(r.out), 0o600); err != nil {
			t.Fatal(err)
		}
		opts := loadOptions{system: c.text == system, zone: "Europe/Berlin",
			kind: func(string) string { return "k" }}
		before, err := load(t.Context(), []string{from}, opts)
		if err != nil {
			t.Fatal(err)
		}
		after, err := load(t.Context(), []string{to}, opts)
		if err != nil {
			t.Fatalf("%v\n%s", err, r.out)
		}
		if d := cmp.Diff(effects(before), effects(after), cmp.Exporter(func(reflect.Type) bool {
			return true
		})); d != "" {
			t.Errorf("- crontab, + file:\n%s\n%s", d, r.out)
		}
	}
}

// effect is what ax run does with a line.
type effect struct {
	Name, Shell, Line, Input, Dir, User string
	Reboot                              bool
	Schedule                            ax.Schedule
	Env                                 map[string]string
}

func effects(l *loaded) (out []effect) {
	for _, x := range l.lines {
		p := x.do.(*command.Action)
		s := p.Spec(&ax.Task{})
		e := effect{Name: x.name, Line: s.Line, Shell: s.Shell, Input: s.Input, Dir: s.Dir,
			User: p.Account.Name, Reboot: x.reboot, Env: p.Environment()}
		if !x.reboot {
			e.Schedule = x.spec.Schedule
		}
		out = append(out, e)
	}
	return out
}
