package storetest

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

var roundTripTests = []test{
	{"WholeTask", testWholeTask},
	{"Texts", testTexts},
	{"Times", testTimes},
	{"S11 bytes that text columns refuse", testS11},
	{"S13 payloads are opaque", testS13},
	{"S19 sizes at every border", testS19},
	{"S20 a huge error text", testS20},
	{"NoAliases", testNoAliases},
}

// fullTask has a value other than zero in each field that a caller may set.
func fullTask(kind string) task.Task {
	tk := newTask(kind)
	tk.Key, tk.Group, tk.Payload, tk.Bucket = name("k"), "group", []byte(`{"a":1}`), task.Critical
	tk.JobID, tk.Job = newID(), "nightly"
	tk.FireTime, tk.FireFrom, tk.FireCount = 1_700_000_000_000_001, 1_699_999_000_000_001, 7
	tk.Overlap, tk.OverlapKey = task.OverlapSkip, name("o")
	tk.MaxRetries, tk.Timeout, tk.RetryPolicy = 3, time.Minute+time.Microsecond, `{"kind":"fixed"}`
	tk.OnUnknown, tk.ExpiresAt = task.UnknownHold, 1_700_000_001_000_001
	tk.MaxLateness, tk.MaxLifetime = time.Second+time.Microsecond, time.Hour+time.Microsecond
	tk.OwnerService = "billing"
	tk.Labels = map[string]string{"team": "payments", "": "empty name", "empty": ""}
	tk.RunAt = 1_700_000_000_123_456
	return tk
}

// fullMutable has a value other than zero in each field; the numbers differ, so that exchanged
// columns are seen.
func fullMutable(state task.State) task.Mutable {
	n := task.Time(1_700_000_000_000_000)
	return task.Mutable{State: state, LastOutcome: task.OutTimeout, Reason: task.Lost, Run: 2,
		Attempt: 3, Failures: 4, Dispatches: 5, Recoveries: 6, RunAt: n + 1, Executor: "exec-1",
		Epoch: number(), ExecutionID: newID(), Token: math.MaxInt64 - 8,
		DispatchedAt: n + 9, StartedAt: n + 10, FinishedAt: n + 11, LastRetryAt: n + 12,
		TriggeredAt: n + 13, CancelAsked: n + 14, StopAsked: n + 15, Error: "it broke",
		Result: []byte("result")}
}

func testWholeTask(t *testing.T, s Full) {
	tk := fullTask(t.Name())
	in := insert(t, s, tk)[0]
	want := tk
	want.Version, want.CreatedAt, want.UpdatedAt = 1, in.At, in.At
	row := read(t, s, tk.ID)
	same(t, "row as inserted", want, row)

	tr := task.Begin(&row).Then(task.Claim, task.NoReason, "")
	tr.Set = fullMutable(task.Dispatching)
	tr.Keys(&row)
	res := apply(t, s, tr)[0]
	want.Mutable, want.Version, want.UpdatedAt = tr.Set, 2, res.At
	row = read(t, s, tk.ID)
	same(t, "row with the whole mutable part", want, row)

	tr = task.Begin(&row).Then(task.Return, task.NoReason, "")
	tr.Set = task.Mutable{State: task.Scheduled, Run: 1, RunAt: 1}
	tr.Keys(&row)
	res = apply(t, s, tr)[0]
	want.Mutable, want.Version, want.UpdatedAt = tr.Set, 3, res.At
	same(t, "row with the mutable part emptied", want, read(t, s, tk.ID))
	history(t, s, tk.ID)

	empty := newTask(t.Name())
	empty.Timeout = task.NoTimeout
	insert(t, s, empty)
	got := read(t, s, empty.ID)
	if got.Timeout != task.NoTimeout || got.MaxRetries != -1 || len(got.Payload) != 0 ||
		len(got.Labels) != 0 || got.OverlapKey != "" || !got.JobID.IsZero() || got.OnUnknown != 0 ||
		got.ExpiresAt != 0 || got.MaxLateness != 0 || got.MaxLifetime != 0 {
		t.Errorf("a task without options came back as %+v", got)
	}
}

func testTexts(t *testing.T, s Full) {
	for _, text := range []string{
		"x", " leading and trailing ", "quote ' double \" back \\ percent % under _", "Grüße",
		"订单.关闭.超时", "e\u0301 and \u00e9", "\U0001F600\U0001F1E9\U0001F1EA", "\u200f\u202e",
		"\ufeffbom", "tab\tline\n", "--; DROP TABLE ax_tasks", "$1 ? :x @y",
		strings.Repeat("ä", task.MaxName/2),
	} {
		tk := newTask(t.Name())
		tk.Key, tk.Kind, tk.Group, tk.Job = name("k")+text, text, text, text
		if len(tk.Key) > task.MaxName {
			tk.Key = text
		}
		tk.OwnerService, tk.OverlapKey = text, tk.Key
		tk.Labels = map[string]string{text: text}
		insert(t, s, tk)
		row := read(t, s, tk.ID)
		tr := task.Begin(&row).By(text, task.Claim, task.NoReason, text)
		tr.Set.Executor, tr.Set.Error, tr.Set.ExecutionID = text, text, newID()
		mustApply(t, s, tr.Keys(&row))
		want := row
		want.Mutable, want.Version = tr.Set, 2
		row = read(t, s, tk.ID)
		want.UpdatedAt = row.UpdatedAt
		same(t, "row with the text "+text, want, row)
		if h := history(t, s, tk.ID); h[1].Actor != text || h[1].Detail != text ||
			h[1].Executor != text {
			t.Errorf("history with the text %q: %+v", text, h[1])
		}
		dup := newTask(t.Name())
		dup.Kind, dup.Key = tk.Kind, tk.Key
		if in := insert(t, s, dup)[0]; in.ID != tk.ID || !in.Duplicate {
			t.Errorf("the key %q is not found again: %+v", tk.Key, in)
		}
	}
	// Keys are compared byte by byte: no case folding, no normal forms, no trimming.
	base := name("k")
	for _, key := range []string{base + "é", base + "e\u0301", base + "É", base + "e", base + "e "} {
		tk := newTask(t.Name())
		tk.Key = key
		if in := insert(t, s, tk)[0]; in.Duplicate {
			t.Errorf("the key %q is taken for another one", key)
		}
	}
}

func testTimes(t *testing.T, s Full) {
	for _, at := range []task.Time{
		1, 999_999, 1_000_000,
		1_774_746_010_084_657,                        // S01: in the hour that London skips
		9_223_372_036_854_775, 9_223_372_036_854_776, // T07: around the end of nanoseconds
		10_413_792_000_000_001, // 2300
		task.MaxTime - 1, task.MaxTime,
	} {
		tk := newTask(t.Name())
		tk.RunAt, tk.FireTime, tk.FireFrom = at, at, at
		in := insert(t, s, tk)[0]
		row := read(t, s, tk.ID)
		if in.RunAt != at || row.RunAt != at || row.FireTime != at || row.FireFrom != at {
			t.Errorf("%d came back as run_at %d (answered %d), fire_time %d, fire_from %d", at,
				row.RunAt, in.RunAt, row.FireTime, row.FireFrom)
		}
		tr := task.Begin(&row).Then(task.Reschedule, task.NoReason, "")
		m := &tr.Set
		for _, f := range []*task.Time{&m.RunAt, &m.DispatchedAt, &m.StartedAt, &m.FinishedAt,
			&m.LastRetryAt, &m.TriggeredAt, &m.CancelAsked, &m.StopAsked} {
			*f = at
		}
		same(t, "mutable part", tr.Set, mustApply(t, s, tr.Keys(&row)).Mutable)
	}
}

// store all bytes as payload and result, and what CutText makes of them as error text.
func testS11(t *testing.T, s Full) {
	for _, raw := range []string{
		"\x00", "a\x00b", `{"s":"\u0000"}`, `"\ud800"`, "\xff\xfe", "\xed\xa0\x80", "\\x00", "\\",
		strings.Repeat("\x00", 1<<18),
	} {
		tk := newTask(t.Name())
		tk.Payload = []byte(raw)
		insert(t, s, tk)
		row := read(t, s, tk.ID)
		row = mustApply(t, s, follow(&row, task.ClaimLocal))
		tr := follow(&row, task.Fail, task.Bury)
		tr.Set.Result, tr.Set.Error = []byte(raw), task.CutText(raw, 4096)
		tr.Moves[0].Detail = tr.Set.Error
		row = mustApply(t, s, tr)
		if string(row.Payload) != raw || string(row.Result) != raw || row.Error != tr.Set.Error {
			t.Errorf("%.20q: payload %.20q, result %.20q, error %.20q", raw, row.Payload, row.Result,
				row.Error)
		}
		if h := history(t, s, tk.ID); h[2].Detail != tr.Set.Error {
			t.Errorf("%.20q: history says %.20q", raw, h[2].Detail)
		}
	}
}

func testS13(t *testing.T, s Full) {
	for _, raw := range []string{
		`{"id":185135722552891243,"m":9223372036854775807,"d":0.10}`, `{"b":1,"a":2,"a":3}`,
		" {\n}\t", "not json", "0001", "null", `"\u00e9"`, "é",
	} {
		tk := newTask(t.Name())
		tk.Payload = []byte(raw)
		insert(t, s, tk)
		if got := read(t, s, tk.ID); string(got.Payload) != raw {
			t.Errorf("payload %q came back as %q", raw, got.Payload)
		}
	}
}

func testS19(t *testing.T, s Full) {
	for _, size := range []int{0, 1, 255, 256, 65_535, 65_536, 65_537, 262_143, 262_144,
		task.MaxStored} {
		raw := make([]byte, size)
		for i := range raw {
			raw[i] = byte(i * 31 / 7)
		}
		tk := newTask(t.Name())
		tk.Payload = raw
		insert(t, s, tk)
		row := read(t, s, tk.ID)
		tr := task.Begin(&row).Then(task.Reschedule, task.NoReason, "")
		tr.Set.Result = raw
		row = mustApply(t, s, tr.Keys(&row))
		if string(row.Payload) != string(raw) || string(row.Result) != string(raw) {
			t.Errorf("%d bytes came back as payload of %d and result of %d bytes", size,
				len(row.Payload), len(row.Result))
		}
	}
}

func testS20(t *testing.T, s Full) {
	text := task.CutText(strings.Repeat("\U0001F525", 10<<18), 4096)
	if len(text) > 4096 || len(text) < 4000 {
		t.Fatalf("the cut text has %d bytes", len(text))
	}
	row := inState(t, s, task.Running, nil)
	tr := task.Begin(&row).Then(task.Fail, task.NoReason, text).
		Then(task.Retry, task.NoReason, text)
	tr.Set.Error = text
	row = mustApply(t, s, tr.Keys(&row))
	if row.Error != text {
		t.Errorf("stored %d bytes of %d", len(row.Error), len(text))
	}
	mustApply(t, s, follow(&row, task.ClaimLocal))
}

// A caller may change what it handed over or got, without a change in the store.
func testNoAliases(t *testing.T, s Full) {
	tk := newTask(t.Name())
	tk.Payload, tk.Labels = []byte("abc"), map[string]string{"a": "b"}
	tk.Key = name("k")
	insert(t, s, tk)
	tk.Payload[0], tk.Labels["a"] = 'X', "X"
	row := read(t, s, tk.ID)
	tr := task.Begin(&row).Then(task.Reschedule, task.NoReason, "")
	tr.Set.Result = []byte("abc")
	row = mustApply(t, s, tr.Keys(&row))
	tr.Set.Result[0] = 'X'
	row.Payload[1], row.Result[1], row.Labels["a"] = 'X', 'X', "X"
	byKey, err := s.ByKey(t.Context(), tk.Kind, tk.Key)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []task.Task{read(t, s, tk.ID), byKey} {
		if string(got.Payload) != "abc" || string(got.Result) != "abc" || got.Labels["a"] != "b" {
			t.Errorf("a caller's change is seen in the store: %+v", got)
		}
	}
}

func isNotFound(err error) bool { return errors.Is(err, store.ErrNotFound) }
