package manifest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ax-sched/ax/internal/manifest"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
)

// wrong holds files and what is said of them.
var wrong = []struct{ name, text, want string }{
	{"empty", "", "1 the file is empty; write `jobs:` and below it a job"},
	{"no YAML", "jobs:\n  a: [", "2 is no YAML: did not find expected node content"},
	{"no mapping", "[1]", "1 this must be a mapping of keys to values"},
	{"no jobs", "tz: UTC", "1 has no `jobs:`; write it and below it a job"},
	{"two documents", "jobs: {}\n---\njobs: {}", "2 there is a second document; one file holds one"},
	{"misspelt", "jbos: {}", `1 key "jbos" is unknown; is jobs meant?`},
	{"job without a body", "jobs:\n  a:", "2 job a: this must be a mapping of keys to values"},
	{"name", "jobs:\n  \"a\\x01\": {}",
		"2 jobs: name: has the control character 0x01 at byte 1; remove it"},
	{"twice", "jobs:\n  a: {kind: k, schedule: '@daily'}\n  a: {kind: k, schedule: '@daily'}",
		`3 key "a" is there twice; keep one`},
	{"nearest", "jobs:\n  a:\n    kind: k\n    schedul: {}\n    max_retires: 3",
		"4 job a: key \"schedul\" is unknown; is schedule meant?\n" +
			`5 job a: key "max_retires" is unknown; is max_retries meant?`},
	{"nearest below", "jobs:\n  a:\n    kind: k\n    retry:\n      budgt: 3s\n    schedule: x",
		`5 job a: retry: key "retry.budgt" is unknown; is budget meant?`},
	{"far", "jobs: {a: {kind: k, schedule: {minutely: 1}}}",
		`1 job a: schedule: key "schedule.minutely" is unknown; use one of cron, tz, ` +
			"every, every_ms, delay, delay_ms, at"},
	{"other sort", "jobs: {a: {kind: k, schedule: x, shell: ls}}", `1 job a: key "shell" belongs to ` +
		"files of ax run; here a job has a kind and a payload"},
	{"nothing", "jobs:\n  a: {}",
		"2 job a: has no schedule; write cron, every, delay or at below it\n" +
			"2 job a: has no kind; name the handler that runs it"},
	{"two schedules", "jobs: {a: {kind: k, schedule: {every: 1s, delay: 2s}}}",
		"1 job a: schedule: needs one of cron, every, delay and at"},
	{"no schedule", "jobs: {a: {kind: k, schedule: {}}}",
		"1 job a: schedule: needs one of cron, every, delay and at"},
	{"zone", "jobs: {a: {kind: k, schedule: {every: 1s, tz: UTC}}}",
		"1 job a: schedule: tz is for cron; remove it"},
	{"no zone", "tz: Mars\njobs: {}",
		`1 tz: "Mars" is not a time zone; use an IANA name such as Europe/Berlin`},
	{"zero", "jobs: {a: {kind: k, schedule: {every_ms: 0}}}",
		"1 job a: schedule.every_ms: is 0; use a longer time"},
	{"both forms", "jobs: {a: {kind: k, schedule: x, jitter: 1s, jitter_ms: 1000}}",
		"1 job a: jitter and jitter_ms say the same; keep one"},
	{"duration", "jobs: {a: {kind: k, schedule: x, jitter: 5}}",
		`1 job a: jitter: "5" is no duration such as 90s, 5m or 2h30m`},
	{"millis", "jobs: {a: {kind: k, schedule: x, jitter_ms: -5}}",
		"1 job a: jitter_ms: is -5; use milliseconds from 0 on"},
	{"too many millis", "jobs: {a: {kind: k, schedule: x, jitter_ms: 9223372036855}}",
		"1 job a: jitter_ms: is 9223372036855; use milliseconds from 0 on"},
	{"fraction", "jobs: {a: {kind: k, schedule: x, retry: {kind: fixed, delay: 1us}}}",
		"1 job a: retry.delay: 1µs is no whole number of milliseconds"},
	{"octal", "jobs: {a: {kind: k, schedule: x, max_retries: 0x10}}",
		"1 job a: max_retries: must be a whole number"},
	{"negative", "jobs: {a: {kind: k, schedule: x, max_retries: -1}}",
		"1 job a: max_retries: is -1; use 0 to 2147483647"},
	{"timeout", "jobs: {a: {kind: k, schedule: x, timeout: 0s}}",
		"1 job a: timeout: is 0; use a longer time, or none"},
	{"choice", "jobs: {a: {kind: k, schedule: x, misfire: never}}",
		`1 job a: misfire: "never" is unknown; use once, skip, all`},
	{"instant", "jobs: {a: {kind: k, schedule: {at: 2030-01-31}}}", `1 job a: schedule.at: ` +
		`"2030-01-31" is no time from 1970 to 9999 such as 2030-01-31T22:00:00Z`},
	{"labels", "jobs:\n  a:\n    kind: k\n    schedule: x\n    labels: {a: [1]}",
		"5 job a: labels: a must be a text"},
	{"own label", "jobs:\n  a:\n    kind: k\n    schedule: x\n    labels:\n      ax.run: me",
		"5 job a: label ax.run: names that begin with ax. belong to ax; take another"},
	{"payloads", "jobs:\n  a: {kind: k, schedule: x, payload: 1, payload_text: b}",
		"2 job a: has more than one payload; keep one"},
	{"number", "jobs: {a: {kind: k, schedule: x, payload: {n: 0777}}}", `1 job a: payload: "0777" ` +
		"is no number of JSON; write it as one, or in quotes as a text"},
	{"infinite", "jobs: {a: {kind: k, schedule: x, payload: .inf}}", `1 job a: payload: ".inf" ` +
		"is no number of JSON; write it as one, or in quotes as a text"},
	{"base64", "jobs: {a: {kind: k, schedule: x, payload_base64: '?'}}",
		"1 job a: payload_base64: is no base64: illegal base64 data at input byte 0"},
	{"tag", "jobs: {a: {kind: k, schedule: x, payload: !x y}}",
		"1 job a: payload: the tag !x is unknown"},
	{"in itself", "jobs: {a: {kind: k, schedule: x, payload: &p [*p]}}",
		"1 job a: payload: is too large, or lies in itself"},
	{"merged into itself", "jobs: {a: &a {kind: k, schedule: x, <<: *a}}",
		"1 job a: << must be a mapping of keys to values"},
}

func TestWrong(t *testing.T) {
	t.Parallel()
	for _, c := range wrong {
		if got := remarks(t, c.text, manifest.Options{}); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestLaughs: few lines that stand for very many values are refused soon.
func TestLaughs(t *testing.T) {
	t.Parallel()
	text := "x-0: &x0 [" + strings.Repeat("lol,", 10) + "]\n"
	for i := range 12 {
		text += fmt.Sprintf("x-%d: &x%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*x%d,", i), 10))
	}
	text += "jobs:\n  a: {kind: k, schedule: x, payload: *x12}"
	want := "13 job a: payload: has 262257 bytes; at most 262144: store it elsewhere and pass its name"
	if got := remarks(t, text, manifest.Options{}); got != want {
		t.Errorf("remarks %q, want %q", got, want)
	}
	text = "x-1: &a {kind: k, schedule: x, <<: [" + strings.Repeat("*a, ", 50) + "]}\njobs: {a: *a}"
	got := remarks(t, text, manifest.Options{})
	if !strings.Contains(got, "1 job a: << is there too often, or in itself") {
		t.Errorf("remarks %q", got)
	}
}

// TestExplain: what PutJob says is said of the line where the field stands.
func TestExplain(t *testing.T) {
	t.Parallel()
	f := parse(t, "jobs:\n  a:\n    kind: k\n    schedule:\n      every_ms: 1\n    retry:\n"+
		"      factor: 0.5\n    labels: {x: y}", manifest.Options{})
	j := &f.Jobs[0]
	bad := func(field string) error { return &task.InputError{Field: field, Reason: "is wrong"} }
	err := fmt.Errorf("put: %w", errors.Join(bad("labels.x"),
		&retry.FieldError{Field: "factor", Problem: "is wrong"}, bad("schedule"),
		errors.Join(bad("schedule.every"), bad("timeout")), errors.New("other")))
	var got []string
	for _, l := range j.Explain(err) {
		got = append(got, fmt.Sprint(l.Number, " ", l.Text))
	}
	want := "2 job a: timeout: is wrong\n2 job a: other\n4 job a: schedule: is wrong\n" +
		"5 job a: schedule.every: is wrong\n7 job a: retry.factor: is wrong\n8 job a: labels.x: is wrong"
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("%s\nwant\n%s", s, want)
	}
}

func remarks(t *testing.T, text string, opts manifest.Options) string {
	t.Helper()
	_, err := manifest.Parse([]byte(text), opts)
	var bad *manifest.Error
	if !errors.As(err, &bad) {
		t.Errorf("error %v of\n%s", err, text)
		return ""
	}
	var out []string
	for _, l := range bad.Lines {
		out = append(out, fmt.Sprint(l.Number, " ", l.Text))
	}
	return strings.Join(out, "\n")
}

// FuzzParse: no file makes the reader panic, and what it takes can be written and read again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte(actions))
	for _, c := range wrong {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = manifest.Parse(data, manifest.Options{Run: true})
		file, err := manifest.Parse(data, manifest.Options{})
		if err != nil {
			return
		}
		text, err := manifest.Write(file)
		if err != nil {
			t.Fatal(err)
		}
		again, err := manifest.Parse(text, manifest.Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for i := range file.Jobs {
			if d := manifest.Diff(&file.Jobs[i], &again.Jobs[i]); len(d) != 0 {
				t.Errorf("%+v\n%s", d, text)
			}
		}
	})
}
