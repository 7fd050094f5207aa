package crontab

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parse reads a text that must be right.
func parse(t *testing.T, text string, opts Options) *File {
	t.Helper()
	f, err := Parse(text, opts)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// show prints an entry for comparison, without the environment.
func show(e Entry) string {
	at := e.Schedule
	if e.Reboot {
		at = "@reboot"
	}
	s := fmt.Sprintf("%d: %s", e.Line, at)
	if e.Zone != "" {
		s += " zone=" + e.Zone
	}
	if e.User != "" {
		s += " user=" + e.User
	}
	s += fmt.Sprintf(" %q", e.Command)
	if e.Input != "" {
		s += fmt.Sprintf(" < %q", e.Input)
	}
	return s
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		name, text string
		system     bool
		want       []string
	}{
		{"nothing", "", false, nil},
		{"comments and blank lines", "# a\n\n  \t\n   # * * * * * b\n", false, nil},
		{"five fields", "*/5 0-3,5 1 jan MON-FRI /bin/true\n", false,
			[]string{`1: */5 0-3,5 1 jan MON-FRI "/bin/true"`}},
		{"blanks before and between", " \t1\t2  3 4\t* \t echo  a  b\n", false,
			[]string{`1: 1 2 3 4 * "echo  a  b"`}},
		{"no line feed at the end", "0 0 * * * x", false, []string{`1: 0 0 * * * "x"`}},
		{"Windows line ends", "# c\r\n0 0 * * * x y\r\n", false, []string{`2: 0 0 * * * "x y"`}},
		{"macros", "@daily a\n@Hourly b\n@midnight c\n@reboot d\n", false,
			[]string{`1: @daily "a"`, `2: @hourly "b"`, `3: @midnight "c"`, `4: @reboot "d"`}},
		{"@every", "@every  90s   a b\n", false, []string{`1: @every 90s "a b"`}},
		{"fields that go beyond the manual", "0 0 LW * * a\n0 0 * * FRI#2 b\nH H * * * c\n", false,
			[]string{`1: 0 0 LW * * "a"`, `2: 0 0 * * FRI#2 "b"`, `3: H H * * * "c"`}},
		{"an equals sign in the command", "0 0 * * * A=b c=d\n@daily E=f g\n", false,
			[]string{`1: 0 0 * * * "A=b c=d"`, `2: @daily "E=f g"`}},
		{"a hash in the command is no comment", "0 0 * * * a # b\n", false,
			[]string{`1: 0 0 * * * "a # b"`}},
		{"user", "17 * * * *\troot\tcd / && run\n@reboot www-data x\n", true,
			[]string{`1: 17 * * * * user=root "cd / && run"`, `2: @reboot user=www-data "x"`}},
		{"zone for the lines below", "0 1 * * * a\nCRON_TZ=Asia/Shanghai\n0 2 * * * b\n" +
			"CRON_TZ=\n0 3 * * * c\n", false, []string{`1: 0 1 * * * "a"`,
			`3: 0 2 * * * zone=Asia/Shanghai "b"`, `5: 0 3 * * * "c"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, e := range parse(t, c.text, Options{System: c.system}).Entries {
				got = append(got, show(e))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestPercent(t *testing.T) {
	for _, c := range []struct{ line, command, input string }{
		{`date +\%F`, `date +%F`, ""},
		{`a%`, `a`, ""},
		{`cat%one%two`, "cat", "one\ntwo\n"},
		{`cat%one%`, "cat", "one\n"},
		{`cat%%`, "cat", "\n"},
		{`cat%50\% of%it`, "cat", "50% of\nit\n"},
		{`mail -s "100\%" x%Hello%%bye`, `mail -s "100%" x`, "Hello\n\nbye\n"},
		{`grep 'a\.b' x`, `grep 'a\.b' x`, ""},
		{`a \\% b`, `a \\`, " b\n"}, // the first backslash belongs to the second
		{`a \`, `a \`, ""},
		{`cat%a\b`, "cat", "a\\b\n"},
	} {
		e := parse(t, "* * * * * "+c.line, Options{}).Entries[0]
		if e.Command != c.command || e.Input != c.input {
			t.Errorf("%s: command %q, input %q; want %q, %q", c.line, e.Command, e.Input,
				c.command, c.input)
		}
	}
}

func TestEnvironment(t *testing.T) {
	f := parse(t, `
A=1
B = two words
C="  kept  "
D='it is "quoted"'
"E" = e
F=
G=$HOME/bin
_h1=x=y
0 0 * * * first
A=2
SHELL=/bin/bash
0 0 * * * second
`, Options{})
	first := []Var{{"A", "1"}, {"B", "two words"}, {"C", "  kept  "}, {"D", `it is "quoted"`},
		{"E", "e"}, {"F", ""}, {"G", "$HOME/bin"}, {"_h1", "x=y"}}
	if d := cmp.Diff(first, f.Entries[0].Env); d != "" {
		t.Error(d)
	}
	second := append([]Var{{"A", "2"}}, first[1:7]...)
	second = append(second, Var{"SHELL", "/bin/bash"}, first[7])
	if d := cmp.Diff(second, f.Entries[1].Env); d != "" {
		t.Error(d)
	}
}

func TestNotes(t *testing.T) {
	f := parse(t, `MAILTO=root
MAILTO=
MAILTO=somebody
LOGNAME=x
RANDOM_DELAY=45
TZ=Asia/Tokyo
A=b # c
0 0 13 * FRI x
`, Options{})
	var got []string
	for _, n := range f.Notes {
		got = append(got, n.String())
	}
	for i, want := range []string{"line 1: MAILTO is ignored", "line 4: LOGNAME is ignored",
		"line 5: RANDOM_DELAY is ignored", "line 6: TZ is for the commands",
		`line 7: A: a comment needs its own line; the value is "b # c"`,
		"line 8: day of month and weekday are both restricted"} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Fatalf("notes %q; want %q in place %d", got, want, i)
		}
	}
	if len(got) != 6 {
		t.Errorf("notes %q, want 6", got)
	}
	want := []Var{{"A", "b # c"}, {"TZ", "Asia/Tokyo"}}
	if d := cmp.Diff(want, f.Entries[0].Env); d != "" {
		t.Error(d)
	}
}

// TestRefused has every refusal, each on line 2, before a good line.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		line, want string
		system     bool
	}{
		{"x", "ends after 1 of 5 time fields", false},
		{"* * * *", "ends after 4 of 5 time fields", false},
		{"* * * * *", "has no command", false},
		{"* * * * *   ", "has no command", false},
		{"@daily", "has no command", false},
		{"* * * * * * /bin/true", "a line has five time fields and no seconds", false},
		{"* * * * * %input", "has no command before the %", false},
		{"60 * * * * x", `minute "60"`, false},
		{"* * * * XYZ x", `weekday "XYZ"`, false},
		{"0 0 30 2 * x", "never fires", false},
		{"-*/5 * * * * x", "minute", false},
		{"@often x", "@often", false},
		{"@every x y", `"@every x"`, false},
		{"@every 10s", "has no command", false},
		{"@every 10ms x", "10ms", false},
		{"A=\"b", `A: the quote " at the start`, false},
		{"A='b' c", `A: the quote ' at the start`, false},
		{"CRON_TZ=Nowhere/Town", `CRON_TZ: "Nowhere/Town" is not a time zone`, false},
		{"CRON_TZ=Local", `CRON_TZ: "Local" is not a time zone`, false},
		{"CRON_TZ=../../etc/passwd", "is not a time zone", false},
		{"CRON_TZ=UTC 0 3 * * * x", `CRON_TZ: "UTC 0 3 * * * x" is not a time zone`, false},
		{"SHELL=bash", `SHELL: "bash" must be an absolute path`, false},
		{"* * * * * a\x00b", "NUL byte", false},
		{"1A=b", "ends after 1 of 5 time fields", false},
		{"* * * * *", "ends after the time fields", true},
		{"* * * * * root", "has no command", true},
		{"@reboot root", "has no command", true},
	} {
		f, err := Parse("# first\n"+c.line+"\n@daily root good\n", Options{System: c.system})
		var bad *Error
		if !errors.As(err, &bad) || len(bad.Lines) != 1 {
			t.Errorf("%q: error %v, want one line", c.line, err)
			continue
		}
		if l := bad.Lines[0]; l.Number != 2 || !strings.Contains(l.Text, c.want) {
			t.Errorf("%q: %s, want %q on line 2", c.line, l, c.want)
		}
		if len(f.Entries) != 1 || f.Entries[0].Line != 3 {
			t.Errorf("%q: entries %v, want the good one", c.line, f.Entries)
		}
	}
}

func TestAllErrorsAtOnce(t *testing.T) {
	_, err := Parse("61 * * * * a\n* * * * * ok\nA='\n\n* * b\n", Options{})
	if err == nil {
		t.Fatal("no error")
	}
	var at []string
	for line := range strings.Lines(err.Error()) {
		at = append(at, line[:len("line 1")])
	}
	if d := cmp.Diff([]string{"line 1", "line 3", "line 5"}, at); d != "" {
		t.Errorf("%s\n%v", d, err)
	}
}

// TestNames: a line keeps its name when others move around it, and changes it when it changes.
func TestNames(t *testing.T) {
	name := func(text string) string {
		f := parse(t, text, Options{Name: "tab"})
		return f.Entries[len(f.Entries)-1].Name
	}
	base := name("0 1 * * * a%b\n")
	if !strings.HasPrefix(base, "tab:") || len(base) != len("tab:01234567") {
		t.Errorf("name %q, want tab: and 8 digits", base)
	}
	for _, same := range []string{"\n\n#\n0 1 * * * a%b", "A=b\n0 1  * *  * a%b",
		"@daily z\n0 1 * * * a%b"} {
		if got := name(same); got != base {
			t.Errorf("%q: name %q, want %q", same, got, base)
		}
	}
	seen := map[string]string{base: "base"}
	for _, other := range []string{"0 2 * * * a%b", "0 1 * * * a%c", "0 1 * * * ab", "@reboot a%b",
		"CRON_TZ=Asia/Tokyo\n0 1 * * * a%b", "0 1 * * * a%b\n0 1 * * * a%b"} {
		got := name(other)
		if was, ok := seen[got]; ok {
			t.Errorf("%q has the name %q of %q", other, got, was)
		}
		seen[got] = other
	}
	if got := name("0 1 * * * a%b\n0 1 * * * a%b"); got != base+":2" {
		t.Errorf("an equal line is named %q, want %s:2", got, base)
	}
}

func TestDigest(t *testing.T) {
	entry := func(text string) *Entry {
		return &parse(t, text, Options{System: true}).Entries[0]
	}
	base := entry("0 1 * * * u a%b").Digest()
	if got := entry("A=b\n7 7 * * * u a%b").Digest(); got != base {
		t.Error("the digest depends on the schedule or the environment")
	}
	for _, other := range []string{"0 1 * * * v a%b", "0 1 * * * u a%c", "0 1 * * * u ab"} {
		if entry(other).Digest() == base {
			t.Errorf("%q has the same digest", other)
		}
	}
}

// TestPackages reads files in the form that Debian packages install.
func TestPackages(t *testing.T) {
	text := `# Clean up old sessions and scrub volumes: in the manner of several packages.
SHELL=/bin/sh
PATH=/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin

30 3 * * 0 root test -e /run/systemd/system || SERVICE_MODE=1 /usr/libexec/scrub_all
09,39 *     * * *     root   [ -x /usr/lib/sess/clean ] && if [ ! -d /run/systemd ]; then clean; fi
5-55/10 * * * * root command -v collect > /dev/null && collect 1 1
59 23 * * * root command -v collect > /dev/null && collect 60 2
25 6	* * *	root	test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
*/1 * * * * www-data find /var/tmp/x -mmin +10 -printf '\%p\n' -delete
`
	f := parse(t, text, Options{Name: "packages", System: true})
	want := []string{
		`5: 30 3 * * 0 user=root "test -e /run/systemd/system || SERVICE_MODE=1 ` +
			`/usr/libexec/scrub_all"`,
		`6: 09,39 * * * * user=root "[ -x /usr/lib/sess/clean ] && ` +
			`if [ ! -d /run/systemd ]; then clean; fi"`,
		`7: 5-55/10 * * * * user=root "command -v collect > /dev/null && collect 1 1"`,
		`8: 59 23 * * * user=root "command -v collect > /dev/null && collect 60 2"`,
		`9: 25 6 * * * user=root "test -x /usr/sbin/anacron || { cd / && ` +
			`run-parts --report /etc/cron.daily; }"`,
		`10: */1 * * * * user=www-data "find /var/tmp/x -mmin +10 -printf '%p\\n' -delete"`,
	}
	var got []string
	for _, e := range f.Entries {
		got = append(got, show(e))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
