package ax_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/retry"
	"github.com/ax-sched/ax/store/memory"
	"github.com/ax-sched/ax/task"
)

// idle returns a scheduler that does not run, over an empty store.
func idle(t *testing.T) (*ax.Scheduler, *memory.Store) {
	t.Helper()
	st := memory.New(memory.Options{})
	a, err := ax.New(st, ax.Config{Logger: quiet, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return a, st
}

// badTexts are what no name may be.
var badTexts = map[string]string{
	"201 bytes":           strings.Repeat("k", 201),
	"201 bytes of runes":  strings.Repeat("\u00e9", 100) + "k",
	"invalid UTF-8":       "order\xff",
	"half a surrogate":    "order\xed\xa0\x80",
	"NUL":                 "order\x00",
	"a control character": "order\x1b[0m",
	"DEL":                 "order\x7f",
}

// wantField checks that an error names the field, in its type and in its text.
func wantField(t *testing.T, what string, err error, field string) {
	t.Helper()
	var in *ax.InputError
	switch {
	case err == nil:
		t.Errorf("%s was taken", what)
	case !errors.As(err, &in) || in.Field != field:
		t.Errorf("%s: %v, want an InputError of %s", what, err, field)
	case !strings.Contains(err.Error(), field+": ") || in.Reason == "":
		t.Errorf("%s: the text does not name the field: %v", what, err)
	}
}

// TestBadTasks: what cannot be taken is refused before anything is written, and the field is named.
func TestBadTasks(t *testing.T) {
	a, st := idle(t)
	now := time.Now()
	type bad struct {
		field, what string
		n           ax.NewTask
	}
	cases := []bad{
		{"kind", "an empty kind", ax.NewTask{}},
		{"payload", "a payload over the limit",
			ax.NewTask{Kind: "k", Payload: make([]byte, task.MaxPayload+1)}},
		{"delay", "a negative delay", ax.NewTask{Kind: "k", Delay: -1}},
		{"delay", "the most negative delay", ax.NewTask{Kind: "k", Delay: math.MinInt64}},
		{"run_at", "a delay and a time", ax.NewTask{Kind: "k", Delay: 1, RunAt: now}},
		{"run_at", "1969", ax.NewTask{Kind: "k", RunAt: time.Unix(-1, 0)}},
		{"run_at", "the epoch itself", ax.NewTask{Kind: "k", RunAt: time.Unix(0, 0)}},
		{"run_at", "the year 10000",
			ax.NewTask{Kind: "k", RunAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}},
		{"run_at", "the year 300000", ax.NewTask{Kind: "k", RunAt: time.Unix(9_400_000_000_000, 0)}},
		{"run_at", "the year -1",
			ax.NewTask{Kind: "k", RunAt: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)}},
		{"priority", "priority 5", ax.NewTask{Kind: "k", Priority: 5}},
		{"timeout", "a negative time-out", ax.NewTask{Kind: "k", Timeout: -time.Second}},
		{"max_retries", "-1 retries", ax.NewTask{Kind: "k", MaxRetries: ax.Int(-1)}},
		{"max_retries", "10,001 retries", ax.NewTask{Kind: "k", MaxRetries: ax.Int(10_001)}},
		{"retry", "a wrong policy", ax.NewTask{Kind: "k", Retry: &retry.Policy{DelayMS: -1}}},
		{"overlap", "overlap 9", ax.NewTask{Kind: "k", OverlapKey: "o", Overlap: 9}},
		{"overlap", "a queue without a key", ax.NewTask{Kind: "k", Overlap: ax.Queue}},
		{"overlap_key", "a key that nobody takes",
			ax.NewTask{Kind: "k", OverlapKey: "o", Overlap: ax.Allow}},
		{"labels", "33 labels", ax.NewTask{Kind: "k", Labels: labels(33)}},
		{"labels", "a label without a name", ax.NewTask{Kind: "k", Labels: map[string]string{"": "v"}}},
	}
	for what, s := range badTexts {
		cases = append(cases,
			bad{"kind", "a kind with " + what, ax.NewTask{Kind: s}},
			bad{"key", "a key with " + what, ax.NewTask{Kind: "k", Key: s}},
			bad{"overlap_key", "an overlap key with " + what, ax.NewTask{Kind: "k", OverlapKey: s}},
			bad{"service", "a service with " + what, ax.NewTask{Kind: "k", Service: s}},
			bad{"labels", "a label with " + what,
				ax.NewTask{Kind: "k", Labels: map[string]string{s: "v"}}},
			bad{"labels.team", "a label's value with " + what,
				ax.NewTask{Kind: "k", Labels: map[string]string{"team": s}}})
	}
	for _, c := range cases {
		_, err := a.Submit(t.Context(), c.n)
		wantField(t, c.what, err, c.field)
		_, err = a.SubmitMany(t.Context(), []ax.NewTask{{Kind: "good"}, c.n})
		wantField(t, c.what+" among many", err, c.field)
	}
	if n, err := st.Count(t.Context(), 0); err != nil || len(n) != 0 {
		t.Errorf("rows were written: %v, %v", n, err)
	}
}

func labels(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[fmt.Sprint("label", i)] = "v"
	}
	return m
}

// TestAllFieldsAreNamed: one answer for all that is wrong.
func TestAllFieldsAreNamed(t *testing.T) {
	a, _ := idle(t)
	_, err := a.Submit(t.Context(), ax.NewTask{Delay: -1, Priority: 9, Timeout: -5, Key: "\x00",
		MaxRetries: ax.Int(-1), Payload: make([]byte, task.MaxPayload+1)})
	for _, field := range []string{"kind", "delay", "priority", "timeout", "key", "max_retries",
		"payload"} {
		if err == nil || !strings.Contains(err.Error(), field+": ") {
			t.Errorf("%s is not named in: %v", field, err)
		}
	}
	if !errors.Is(err, ax.ErrTooLarge) {
		t.Errorf("%v does not match ErrTooLarge", err)
	}
}

// TestGoodTasks: the largest and strangest input that is taken comes back byte for byte.
func TestGoodTasks(t *testing.T) {
	a, _ := idle(t)
	long := strings.Repeat("k", 200)
	full := bytes.Repeat([]byte{0xff}, task.MaxPayload)
	last := time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC)
	for what, n := range map[string]ax.NewTask{
		"200 bytes":                     {Kind: long, Key: strings.Repeat("\u00e9", 100)},
		"any script":                    {Kind: "\u8ba2\u5355", Key: "\u043d\t\n", Service: "\u00e9q"},
		"one short of the limit":        {Kind: "k", Payload: make([]byte, task.MaxPayload-1)},
		"at the limit":                  {Kind: "k", Payload: full},
		"NUL and no UTF-8 in a payload": {Kind: "k", Payload: []byte("\x00\xff\xfe\\ud800")},
		"65,536 bytes":                  {Kind: "k", Payload: bytes.Repeat([]byte{'x'}, 65_536)},
		"S13 exact numbers": {Kind: "k",
			Payload: []byte(`{"id":185135722552891243,"m":9223372036854775807,"d":0.10}`)},
		"T04 the last instant": {Kind: "k", RunAt: last},
		"T04 2262":             {Kind: "k", RunAt: time.Date(2262, 4, 12, 0, 0, 0, 0, time.UTC)},
		"the first instant":    {Kind: "k", RunAt: time.UnixMicro(1)},
		"the longest delay":    {Kind: "k", Delay: math.MaxInt64},
		"no time-out":          {Kind: "k", Timeout: ax.NoTimeout},
		"32 labels":            {Kind: "k", Labels: labels(32)},
		"no retries":           {Kind: "k", MaxRetries: ax.Int(0)},
	} {
		r, err := a.Submit(t.Context(), n)
		if err != nil || r.Duplicate || r.State != task.Scheduled {
			t.Errorf("%s: %+v, %v", what, r, err)
			continue
		}
		k, err := a.Get(t.Context(), r.ID)
		if err != nil || k.Kind != n.Kind || k.Key != n.Key || !bytes.Equal(k.Payload, n.Payload) ||
			k.OwnerService != n.Service || len(k.Labels) != len(n.Labels) || k.Timeout != n.Timeout {
			t.Errorf("%s came back changed: %v", what, err)
		}
		if !n.RunAt.IsZero() && !k.RunAt.Go().Equal(n.RunAt) || k.FireTime != k.RunAt {
			t.Errorf("%s: due at %s, fire time %s", what, k.RunAt.Go(), k.FireTime.Go())
		}
		if k.RunAt <= 0 || k.RunAt > task.MaxTime {
			t.Errorf("%s: due at %d", what, k.RunAt)
		}
	}
}

// TestEmptyKeyIsNoKey: without a key any number of tasks of a kind live side by side.
func TestEmptyKeyIsNoKey(t *testing.T) {
	a, st := idle(t)
	for range 3 {
		if r, err := a.Submit(t.Context(), ax.NewTask{Kind: "k"}); err != nil || r.Duplicate {
			t.Errorf("%+v, %v", r, err)
		}
	}
	rs, err := a.SubmitMany(t.Context(), make2(ax.NewTask{Kind: "k"}))
	if err != nil || rs[0].Duplicate || rs[1].Duplicate {
		t.Errorf("%+v, %v", rs, err)
	}
	if n, err := st.Count(t.Context(), 0); err != nil || n[task.Scheduled] != 5 {
		t.Errorf("%v, %v", n, err)
	}
	if err := a.CancelKey(t.Context(), "k", "", ax.By{}); !errors.Is(err, ax.ErrNotFound) {
		t.Errorf("cancel by an empty key: %v", err)
	}
}

func make2(n ax.NewTask) []ax.NewTask { return []ax.NewTask{n, n} }

// TestA02A04Keys: the key of a live task answers duplicate with its id; one that has ended, in
// whatever way, is free again.
func TestA02A04Keys(t *testing.T) {
	ends := map[string]error{"success": nil, "dead": ax.Permanent(errors.New("no")),
		"canceled": ax.Cancel(errors.New("not wanted"))}
	for name, end := range ends {
		bubble(t, ax.Config{}, func(a *ax.Scheduler) {
			a.Handle("k", func(context.Context, *ax.Task) error { time.Sleep(time.Second); return end })
		}, func(x *fixture) {
			n := ax.NewTask{Kind: "k", Key: "order 7"}
			first := x.submit(n)
			again, err := x.Submit(x.t.Context(), n)
			if err != nil || !again.Duplicate || again.ID != first || again.State != task.Running {
				t.Errorf("%s: while it runs: %+v, %v", name, again, err)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			next, err := x.Submit(x.t.Context(), n)
			if err != nil || next.Duplicate || next.ID == first {
				t.Errorf("%s: after its end: %+v, %v", name, next, err)
			}
			if other := x.submit(ax.NewTask{Kind: "k", Key: "order 8"}); other == first {
				t.Errorf("%s: another key is the same task", name)
			}
			time.Sleep(2 * time.Second)
		})
	}
}

// TestSameID: repeating a submit with the same id is the same task, not a duplicate.
func TestSameID(t *testing.T) {
	a, st := idle(t)
	id := task.NewID(1, [10]byte{1})
	for range 3 {
		r, err := a.Submit(t.Context(), ax.NewTask{ID: id, Kind: "k", Key: "order 7"})
		if err != nil || r.ID != id || r.Duplicate {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if n, err := st.Count(t.Context(), 0); err != nil || n[task.Scheduled] != 1 {
		t.Errorf("%v, %v", n, err)
	}
}

// TestRequireKind: refused only where asked for.
func TestRequireKind(t *testing.T) {
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet, RequireKind: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Submit(t.Context(), ax.NewTask{Kind: "unknown"})
	wantField(t, "an unknown kind", err, "kind")
	if !errors.Is(err, ax.ErrUnknownKind) {
		t.Errorf("%v does not match ErrUnknownKind", err)
	}
	if err := a.Handle("known", func(context.Context, *ax.Task) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Submit(t.Context(), ax.NewTask{Kind: "known"}); err != nil {
		t.Error(err)
	}
}

// TestClosedStore: everything says ErrClosed.
func TestClosedStore(t *testing.T) {
	a, st := idle(t)
	if err := errors.Join(st.Close(), st.Close()); err != nil {
		t.Fatal(err)
	}
	ctx, id := t.Context(), task.NewID(1, [10]byte{1})
	_, submit := a.Submit(ctx, ax.NewTask{Kind: "k"})
	_, many := a.SubmitMany(ctx, make2(ax.NewTask{Kind: "k"}))
	_, get := a.Get(ctx, id)
	_, list := a.List(ctx, ax.Filter{})
	_, history := a.History(ctx, id)
	_, all := a.Jobs(ctx)
	for name, err := range map[string]error{"Submit": submit, "SubmitMany": many, "Get": get,
		"List": list, "History": history, "Jobs": all,
		"PutJob":    a.PutJob(ctx, ax.JobSpec{Name: "j", Kind: "k", Schedule: ax.Every(time.Minute)}),
		"DeleteJob": a.DeleteJob(ctx, "j"), "Cancel": a.Cancel(ctx, id, ax.By{}),
		"CancelKey": a.CancelKey(ctx, "k", "key", ax.By{})} {
		if !errors.Is(err, ax.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInputOfLimits(t *testing.T) {
	a, err := ax.New(memory.New(memory.Options{}), ax.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	soon := time.Now().Add(time.Minute)
	for field, n := range map[string]ax.NewTask{
		"at_most_once": {AtMostOnce: true, MaxRetries: ax.Int(1)},
		"on_unknown":   {OnUnknown: 3},
		"expires_at":   {ExpiresAt: soon, RunAt: soon.Add(1)},
		"max_lateness": {MaxLateness: -1},
		"max_lifetime": {MaxLifetime: -1},
	} {
		n.Kind = "k"
		_, err := a.Submit(t.Context(), n)
		var input *ax.InputError
		if !errors.As(err, &input) || input.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	_, err = a.Submit(t.Context(), ax.NewTask{Kind: "k", AtMostOnce: true,
		OnUnknown: ax.RetryUnknown})
	if err == nil {
		t.Error("at most once with retries of unknown ends is accepted")
	}
	for name, o := range map[string]ax.HandleOption{"OnUnknown": ax.OnUnknown(9),
		"MaxLateness": ax.MaxLateness(-1), "MaxLifetime": ax.MaxLifetime(-1)} {
		if a.Handle(name, func(context.Context, *ax.Task) error { return nil }, o) == nil {
			t.Errorf("Handle takes a wrong %s", name)
		}
	}
}

// TestPollFitsWindow: what lies beyond the window must be read before it is due.
func TestPollFitsWindow(t *testing.T) {
	st := memory.New(memory.Options{})
	var bad *ax.InputError
	_, err := ax.New(st, ax.Config{Window: 5 * time.Second, Poll: 30 * time.Second})
	if !errors.As(err, &bad) || bad.Field != "Config.Poll" {
		t.Errorf("a poll longer than the window: %v", err)
	}
	if _, err := ax.New(st, ax.Config{Window: time.Second}); err != nil {
		t.Errorf("the default poll does not follow a short window: %v", err)
	}
}
