package manifest_test

import (
	"testing"

	"github.com/ax-sched/ax/internal/manifest"
	"github.com/ax-sched/ax/task"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// actions names each key of a job of ax run once.
const actions = `
tz: Asia/Tokyo
jobs:
  backup:
    command: [pg_dump, -f, "/var/backup/$$.sql", 3]
    input: hello
    env: {HOME: "/srv", PGPASSWORD: "${DB_PASSWORD}", PLAIN: "$${HOME} $x"}
    dir: /tmp
    user: backup
    schedule: {cron: "0 3 * * *"}
    timeout: 1h
  boot: {shell: "echo up", schedule: "@reboot"}
  call:
    http:
      url: https://example.com/hook?key=${KEY}
      method: put
      headers: {authorization: "Bearer ${TOKEN}", X-N: 1}
      body: {order: 12345678901234567890}
    schedule: {every: 1m}
  text: {http: {url: "http://localhost:8080", body: plain}, schedule: {every: 1m}}
`

func lookup(name string) (string, bool) {
	v, ok := map[string]string{"DB_PASSWORD": "hidden", "KEY": "k/1?", "TOKEN": "secret",
		"SHORT": "abc", "CRLF": "a\r\nb", "EMPTY": ""}[name]
	return v, ok
}

var ofRun = manifest.Options{Run: true, Lookup: lookup}

func TestActions(t *testing.T) {
	t.Parallel()
	f := parse(t, actions, ofRun)
	same := func(s string) manifest.Text { return manifest.Text{Raw: s, Value: s} }
	want := []*manifest.Action{
		{Command: []string{"pg_dump", "-f", "/var/backup/$$.sql", "3"}, Input: "hello",
			Env: []manifest.Var{{Name: "HOME", Value: same("/srv")},
				{Name: "PGPASSWORD", Value: manifest.Text{Raw: "${DB_PASSWORD}", Value: "hidden"}},
				{Name: "PLAIN", Value: manifest.Text{Raw: "$${HOME} $x", Value: "${HOME} $x"}}},
			Dir: "/tmp", User: "backup"},
		{Shell: "echo up"},
		{HTTP: &manifest.HTTP{Method: "PUT", JSON: true, Body: []byte(`{"order":12345678901234567890}`),
			URL: manifest.Text{Raw: "https://example.com/hook?key=${KEY}",
				Value: "https://example.com/hook?key=k/1?"},
			Headers: []manifest.Var{
				{Name: "Authorization", Value: manifest.Text{Raw: "Bearer ${TOKEN}", Value: "Bearer secret"}},
				{Name: "X-N", Value: same("1")}}}},
		{HTTP: &manifest.HTTP{URL: same("http://localhost:8080"), Body: []byte("plain")}},
	}
	for i, a := range want {
		if d := cmp.Diff(a, f.Jobs[i].Do, cmpopts.IgnoreUnexported(manifest.Var{})); d != "" {
			t.Errorf("job %d: - want, + got:\n%s", i, d)
		}
	}
	if s := f.Jobs[0].Row.Schedule; s != (task.Schedule{Cron: "0 3 * * *", Zone: "Asia/Tokyo"}) {
		t.Errorf("schedule %+v", s)
	}
	if b := f.Jobs[1]; !b.Reboot || b.Row.Schedule != (task.Schedule{}) {
		t.Errorf("reboot %t, schedule %+v", b.Reboot, b.Row.Schedule)
	}
	// What a command is given is its own affair; a password of a database is not looked for.
	if d := cmp.Diff([]string{"k/1?", "secret"}, f.Secrets); d != "" {
		t.Errorf("secrets: - want, + got:\n%s", d)
	}
}

// TestActionsAreWritten: import prints such files.
func TestActionsAreWritten(t *testing.T) {
	t.Parallel()
	f := parse(t, actions, ofRun)
	again := parse(t, write(t, f), ofRun)
	for i := range f.Jobs {
		a, b := f.Jobs[i].Do, again.Jobs[i].Do
		if i == 2 { // the body is a text now
			a.HTTP.JSON = false
		}
		if d := cmp.Diff(a, b, cmpopts.IgnoreUnexported(manifest.Var{})); d != "" {
			t.Errorf("job %d: - before, + after:\n%s", i, d)
		}
		if f.Jobs[i].Reboot != again.Jobs[i].Reboot || a.Digest() != b.Digest() {
			t.Errorf("job %d: digest %s, %s", i, a.Digest(), b.Digest())
		}
	}
}

// TestDigest: it tells actions apart, and does not change with a secret.
func TestDigest(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, do := range []string{
		"shell: a", "shell: b", "command: [a]", "command: [a, b]", "command: [a b]",
		"{shell: a, input: b}", "{shell: a, env: {X: b}}", "{shell: a, dir: b}",
		"http: {url: 'http://a'}", "http: {url: 'http://a', body: b}",
		"http: {url: 'http://a', method: PUT}", "http: {url: 'http://a', headers: {X: '${TOKEN}'}}",
	} {
		if do[0] != '{' {
			do = "{" + do + "}"
		}
		text := "x-1: &do " + do + "\njobs: {j: {<<: *do, schedule: {every: 1m}}}"
		d := parse(t, text, ofRun).Jobs[0].Do.Digest()
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have the same digest", do, other)
		}
		seen[d] = do
		other := manifest.Options{Run: true,
			Lookup: func(string) (string, bool) { return "new", true }}
		if again := parse(t, text, other).Jobs[0].Do.Digest(); again != d {
			t.Errorf("%s: the digest changes with a secret", do)
		}
	}
}

func TestWrongActions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ do, want string }{
		{"{}", "2 job a: needs one of command, shell and http, to say what it does"},
		{"{shell: x, command: [y]}",
			"2 job a: needs one of command, shell and http, to say what it does"},
		{"{command: ls -l}", "1 job a: command: must be a list of a program and its arguments; a line " +
			"is for shell"},
		{"{command: []}", "1 job a: command: must be a list of a program and its arguments; a line " +
			"is for shell"},
		{"{kind: k}", `1 job a: key "kind" belongs to files of ax jobs; here a job has a command, a ` +
			"shell or an http"},
		{"{group: g}", `1 job a: key "group" belongs to files of ax jobs; here a job has a command, a ` +
			"shell or an http"},
		{`{shell: "a\0"}`, "1 job a: shell: holds a NUL character; remove it"},
		{"{shell: a, env: {A=B: c}}", `1 job a: env: "A=B" is no name of a variable`},
		{"{shell: a, env: {A: '${NONE}'}}", "1 job a: env: the variable NONE is not set in the " +
			"environment of ax; set it, or write $${NONE} for the plain text"},
		{"{shell: a, env: {A: '${1}'}}", "1 job a: env: ${ begins the name of a variable, as in " +
			"${NAME}; write $${ for the plain text"},
		{"{http: {method: GET}}", "1 job a: http: needs a url"},
		{"{http: {url: 'ftp://x'}}", `1 job a: http.url: "ftp://x" is no address such as ` +
			"https://example.com/path"},
		{"{http: {url: '${EMPTY}'}}", `1 job a: http.url: "${EMPTY}" is no address such as ` +
			"https://example.com/path"},
		{"{http: {url: 'http://x', method: BREW}}", `1 job a: http.method: "BREW" is unknown; use GET, ` +
			"HEAD, POST, PUT, PATCH, DELETE"},
		{"{http: {url: 'http://x', headers: {ax-run: 1}}}",
			"1 job a: http.headers: Ax-Run is set by ax; remove it"},
		{"{http: {url: 'http://x', headers: {idempotency-key: 1}}}", "1 job a: http.headers: " +
			"Idempotency-Key is set by ax; remove it"},
		{"{http: {url: 'http://x', headers: {a b: 1}}}", `1 job a: http.headers: "a b" is no name of a ` +
			"header"},
		{"{http: {url: 'http://x', headers: {X: '${CRLF}'}}}", "1 job a: http.headers: X has a control " +
			"character in its value; remove it"},
		{"{http: {url: 'http://x'}, dir: /}", "1 job a: dir is for commands; remove it"},
	} {
		text := "x-1: &do " + c.do + "\njobs: {a: {<<: *do, schedule: {every: 1m}}}"
		if got := remarks(t, text, ofRun); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.do, got, c.want)
		}
	}
	if got := remarks(t, "source: x\njobs: {}", ofRun); got !=
		`1 key "source" is unknown; use one of tz, jobs` {
		t.Error(got)
	}
}
