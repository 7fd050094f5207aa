package manifest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax/internal/manifest"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/task"
	"github.com/google/go-cmp/cmp"
)

// everything names each key of a job once.
const everything = `
source: billing
tz: Europe/Berlin
x-often: &often {every: 90s}
jobs:
  night:
    kind: order.settle
    group: workers
    payload: {order: 12345678901234567890, price: 1.50, at: 2030-01-02, tags: [a, "1", null, true]}
    schedule: {cron: "0 3 * * *", tz: Asia/Shanghai}
    misfire: skip
    misfire_grace: 1m
    overlap: allow
    priority: high
    max_retries: 0
    retry: {kind: list, delays: [1s, 1m30s], jitter_pct: 12.5, jitter_ms: 20, budget: 2h}
    timeout: none
    starts_at: 2030-01-31T22:00:00+01:00
    ends_at: "2031-01-31T22:00:00.000001Z"
    max_fires: 7
    jitter: 30s
    labels: {zone: eu, level: 3}
    owner_service: payments
    on_unknown: hold
    max_lateness: 1h
    max_lifetime_ms: 90000
    paused: true
  often:
    kind: k
    payload_text: |
      two
      lines
    schedule: *often
    misfire: all
    misfire_cap: 5
    overlap: allow
    retry: {delay_ms: 1000, factor: 2, cap: 1m, jitter: 500ms}
    timeout_ms: 1500
  after:
    kind: k
    payload_base64: AP8=
    overlap: queue
    overlap_key: one at a time
    schedule: {delay_ms: 1}
  once: {kind: k, schedule: {at: 2030-01-31T22:00:00Z}, overlap: replace}
  short: {kind: k, schedule: "*/5 * * * *"}
`

func TestEveryKey(t *testing.T) {
	t.Parallel()
	f := parse(t, everything, manifest.Options{})
	yes := true
	base := task.Job{Kind: "k", MaxRetries: -1, Bucket: task.Normal, Overlap: task.OverlapSkip}
	want := make([]task.Job, 5)
	for i, name := range []string{"night", "often", "after", "once", "short"} {
		want[i] = base
		want[i].Name = name
	}
	want[0] = task.Job{Name: "night", Kind: "order.settle", Group: "workers",
		Payload:  []byte(`{"order":12345678901234567890,"price":1.50,"at":"2030-01-02","tags":["a","1",null,true]}`),
		Schedule: task.Schedule{Cron: "0 3 * * *", Zone: "Asia/Shanghai"}, Misfire: task.MisfireSkip,
		MisfireGrace: time.Minute, Overlap: task.OverlapAllow, Bucket: task.High,
		Timeout: task.NoTimeout, StartsAt: at("2030-01-31T21:00:00Z"),
		EndsAt: at("2031-01-31T22:00:00.000001Z"), MaxFires: 7, Jitter: 30 * time.Second,
		Labels: map[string]string{"zone": "eu", "level": "3"}, OwnerService: "payments",
		OnUnknown:   task.UnknownHold,
		MaxLateness: time.Hour, MaxLifetime: 90 * time.Second}
	want[1].Payload, want[1].Schedule.Every = []byte("two\nlines\n"), 90*time.Second
	want[1].Misfire, want[1].MisfireCap, want[1].Overlap = task.MisfireAll, 5, task.OverlapAllow
	want[1].Timeout = 1500 * time.Millisecond
	want[2].Payload, want[2].OverlapKey = []byte{0, 255}, "one at a time"
	want[2].Schedule.After, want[2].Overlap = time.Millisecond, task.OverlapQueue
	want[3].Schedule.At, want[3].Overlap = at("2030-01-31T22:00:00Z"), task.OverlapReplace
	want[4].Schedule = task.Schedule{Cron: "*/5 * * * *", Zone: "Europe/Berlin"}
	if f.Source != "billing" || f.Zone != "Europe/Berlin" || len(f.Jobs) != len(want) {
		t.Fatalf("file %+v", f)
	}
	for i, j := range f.Jobs {
		if d := cmp.Diff(want[i], j.Row); d != "" {
			t.Errorf("job %s: - want, + got:\n%s", want[i].Name, d)
		}
	}
	list := &retry.Policy{Kind: retry.List, DelaysMS: []int64{1000, 90_000}, JitterPct: 12.5,
		JitterMS: 20, BudgetMS: 7_200_000}
	doubling := &retry.Policy{DelayMS: 1000, Factor: 2, CapMS: 60_000, JitterMS: 500}
	for i, p := range []*retry.Policy{list, doubling, nil, nil, nil} {
		if d := cmp.Diff(p, f.Jobs[i].Retry); d != "" {
			t.Errorf("retry of job %d: - want, + got:\n%s", i, d)
		}
	}
	if d := cmp.Diff(&yes, f.Jobs[0].Paused); d != "" || f.Jobs[1].Paused != nil {
		t.Errorf("paused %v %v", f.Jobs[0].Paused, f.Jobs[1].Paused)
	}
}

// TestWriteReads: what is written says the same, and is written the same again.
func TestWriteReads(t *testing.T) {
	t.Parallel()
	f := parse(t, everything, manifest.Options{})
	text := write(t, f)
	again := parse(t, text, manifest.Options{})
	if other := write(t, again); other != text {
		t.Errorf("written differently:\n%s", cmp.Diff(text, other))
	}
	for i := range f.Jobs {
		if d := manifest.Diff(&f.Jobs[i], &again.Jobs[i]); len(d) != 0 {
			t.Errorf("job %s: %+v", f.Jobs[i].Row.Name, d)
		}
		if d := cmp.Diff(f.Jobs[i].Row, again.Jobs[i].Row); d != "" {
			t.Errorf("job %s:\n%s", f.Jobs[i].Row.Name, d)
		}
	}
}

// TestJSONIsTheSame: the file as JSON, in the form of the HTTP interface, says the same as YAML.
func TestJSONIsTheSame(t *testing.T) {
	t.Parallel()
	f := parse(t, everything, manifest.Options{})
	for i := range f.Jobs {
		body, err := f.Jobs[i].Show().MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		again := parse(t, `{"jobs":{"j":`+string(body)+`}}`, manifest.Options{})
		if d := manifest.Diff(&f.Jobs[i], &again.Jobs[0]); len(d) != 0 {
			t.Errorf("job %s as %s: %+v", f.Jobs[i].Row.Name, body, d)
		}
	}
	want := `{"kind":"k","payload_text":"two\nlines\n","schedule":{"every_ms":90000},` +
		`"misfire":"all","misfire_cap":5,"overlap":"allow","retry":{"delay_ms":1000,"factor":2,"cap_ms":60000,` +
		`"jitter_ms":500},"timeout_ms":1500}`
	if got, _ := f.Jobs[1].Show().MarshalJSON(); string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestPayloads: values become JSON and no number changes.
func TestPayloads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ yaml, want string }{
		{`18446744073709551617`, `18446744073709551617`},
		{`-0.0`, `-0.0`},
		{`1e400`, `1e400`},
		{`1.10`, `1.10`},
		{`null`, `null`},
		{``, `null`},
		{`~`, `null`},
		{`True`, `true`},
		{`"true"`, `"true"`},
		{`on`, `"on"`},
		{`"<&>\u2028"`, `"<&>\u2028"`},
		{`{b: 1, a: {1: x, "": y}}`, `{"b":1,"a":{"1":"x","":"y"}}`},
		{`[[], {}]`, `[[],{}]`},
		{`{a: &x [1, 2], b: *x}`, `{"a":[1,2],"b":[1,2]}`},
		{`{<<: {a: 1, b: 2}, b: 3}`, `{"b":3,"a":1}`},
		{`"\ud83d\ude00 \\ud83d \ud83d \/ \t\""`, ``},
	} {
		text := `jobs: {j: {kind: k, schedule: "* * * * *", payload: ` + c.yaml + "}}"
		if c.want == "" { // valid in JSON only: half a character is U+FFFD
			text = `{"jobs":{"j":{"kind":"k","schedule":"* * * * *",` + "\n\t" + `"payload":` + c.yaml +
				`}}}`
			c.want = "\"\U0001F600 \\\\ud83d \uFFFD / \\t\\\"\""
		}
		f := parse(t, text, manifest.Options{})
		if got := string(f.Jobs[0].Row.Payload); got != c.want {
			t.Errorf("%s: %s, want %s", c.yaml, got, c.want)
		}
	}
}

// TestForms: any bytes of a stored payload come back from a written file.
func TestForms(t *testing.T) {
	t.Parallel()
	for payload, form := range map[string]string{
		`{"order":4711,"big":12345678901234567890,"x":1.50}`: "payload",
		`"<b>"`:          "payload",
		"\"\U0001F600\"": "payload",
		`{"a": 1}`:       "payload_text", // the blank would be lost
		`"\u003c"`:       "payload_text",
		`"\ud83d\ude00"`: "payload_text",
		`{"a":1,"a":2}`:  "payload_text",
		"hello\n":        "payload_text",
		"  \n x \n\n":    "payload_text",
		"\r\n":           "payload_text",
		"123":            "payload",
		"true":           "payload",
		"a: b":           "payload_text",
		"\x00\xff":       "payload_base64",
		"\xed\xa0\x80":   "payload_base64",
		strings.Repeat("[", 300) + strings.Repeat("]", 300): "payload_text",
	} {
		j, err := manifest.FromRow(task.Job{Name: "j", Kind: "k", Payload: []byte(payload),
			Schedule: task.Schedule{Every: time.Minute}, Overlap: task.OverlapSkip}, 1)
		if err != nil {
			t.Fatal(err)
		}
		text := write(t, &manifest.File{Jobs: []manifest.Job{j}})
		f := parse(t, text, manifest.Options{})
		if got := string(f.Jobs[0].Row.Payload); got != payload {
			t.Errorf("%q came back as %q from\n%s", payload, got, text)
		}
		if !strings.Contains(text, "    "+form+":") {
			t.Errorf("%q is not written as %s:\n%s", payload, form, text)
		}
	}
}

func parse(t *testing.T, text string, opts manifest.Options) *manifest.File {
	t.Helper()
	f, err := manifest.Parse([]byte(text), opts)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return f
}

func write(t *testing.T, f *manifest.File) string {
	t.Helper()
	text, err := manifest.Write(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func at(s string) task.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return task.FromGo(t)
}
