package task_test

import (
	"encoding"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ax-sched/ax/task"
)

// named is an enumeration whose names are read back.
type named interface {
	comparable
	String() string
	encoding.TextMarshaler
}

// roundTrip checks that each value has a name of its own that reads back as the value.
func roundTrip[T named, P interface {
	*T
	encoding.TextUnmarshaler
}](t *testing.T, all []T, style func(string) string) {
	t.Helper()
	names := map[string]bool{}
	for _, v := range all {
		text, err := v.MarshalText()
		if err != nil || string(text) != v.String() || names[v.String()] || len(text) == 0 ||
			style(v.String()) != v.String() || strings.Contains(v.String(), "(") {
			t.Errorf("%v: text %q, %v", v, text, err)
		}
		names[v.String()] = true
		var back T
		if err := P(&back).UnmarshalText(text); err != nil || back != v {
			t.Errorf("%q came back as %v, %v", text, back, err)
		}
	}
	for _, bad := range []string{"?", "0", "1", "NONE(1)", all[0].String() + " ", " "} {
		var v T
		var input *task.InputError
		if err := P(&v).UnmarshalText([]byte(bad)); !errors.As(err, &input) {
			t.Errorf("%q was read as %v, %v; want an InputError", bad, v, err)
		}
	}
}

func TestNamesReadBack(t *testing.T) {
	t.Run("states", func(t *testing.T) { roundTrip(t, task.States(), strings.ToUpper) })
	t.Run("buckets", func(t *testing.T) { roundTrip(t, task.Buckets(), strings.ToUpper) })
	t.Run("events", func(t *testing.T) { roundTrip(t, task.Events(), strings.ToLower) })
}

// Numbers are stored: these values never change.
func TestStoredNumbers(t *testing.T) {
	for i, s := range task.States() {
		if int(s) != i+1 {
			t.Errorf("state %s has the number %d; want %d", s, s, i+1)
		}
	}
	for i, e := range task.Events() {
		if int(e) != i+1 {
			t.Errorf("event %s has the number %d; want %d", e, e, i+1)
		}
	}
	for i, b := range task.Buckets() {
		if int(b) != i+1 {
			t.Errorf("bucket %s has the number %d; want %d", b, b, i+1)
		}
	}
	for name, number := range map[string]int{
		"SUCCEEDED": int(task.Succeeded), "HELD": int(task.Held) - 6, "DEAD": int(task.Dead) - 3,
	} {
		if number != 5 {
			t.Errorf("state %s has moved", name)
		}
	}
	if task.Submit != 1 || task.Claim != 10 || task.Lose != 24 || task.Trigger != 35 {
		t.Error("events have moved")
	}
	if task.OutCanceled != 7 || task.Lost != 14 || task.OverlapSkip != 1 ||
		task.Overlong != 17 || task.UnknownHold != 2 {
		t.Error("outcomes, reasons or policies have moved")
	}
}

func TestOutcomesAndReasons(t *testing.T) {
	names := map[string]bool{}
	for o := task.OutSucceeded; o <= task.OutCanceled; o++ {
		if o.String() == "" || names[o.String()] {
			t.Errorf("outcome %d has the name %q", o, o)
		}
		names[o.String()] = true
	}
	names = map[string]bool{}
	for r := task.Exhausted; r <= task.Overlong; r++ {
		if r.String() == "" || names[r.String()] {
			t.Errorf("reason %d has the name %q", r, r)
		}
		names[r.String()] = true
	}
	b, err := json.Marshal(map[string]any{"o": task.OutLost, "r": task.Poison,
		"none": task.NoOutcome, "why": task.NoReason, "b": task.Bucket(77), "s": task.State(77),
		"e": task.Event(77)})
	want := `{"b":"BUCKET(77)","e":"event(77)","none":"","o":"lost","r":"poison","s":"STATE(77)",` +
		`"why":""}`
	if err != nil || string(b) != want {
		t.Errorf("json %s, %v; want %s", b, err, want)
	}
	if task.Outcome(200).String() == "" || task.Reason(200).String() == "" {
		t.Error("a number without a name prints as none")
	}
}

func TestParse(t *testing.T) {
	for _, s := range []string{"high", "HIGH", "High"} {
		if b, err := task.ParseBucket(s); err != nil || b != task.High {
			t.Errorf("bucket %q: %s, %v", s, b, err)
		}
	}
	if b, err := task.ParseBucket(""); err != nil || b != task.Normal {
		t.Errorf("no bucket: %s, %v", b, err)
	}
	if task.Bucket(0).OrNormal() != task.Normal || task.Low.OrNormal() != task.Low {
		t.Error("OrNormal changes a set bucket, or does not set an unset one")
	}
	if task.Bucket(0).Valid() || task.Bucket(5).Valid() || !task.Low.Valid() {
		t.Error("Valid takes other numbers than 1 to 4")
	}
	if s, err := task.ParseState("dispatching"); err != nil || s != task.Dispatching {
		t.Errorf("state: %s, %v", s, err)
	}
	for _, bad := range []string{"none", "", "RUNNING ", "PENDING,RUNNING", "SUCCESS"} {
		s, err := task.ParseState(bad)
		if err == nil || !strings.Contains(err.Error(), "SCHEDULED") {
			t.Errorf("state %q: %s, %v; want an error that lists the states", bad, s, err)
		}
	}
	if task.OverlapSkip.String() != "skip" || task.OverlapAllow.String() != "allow" {
		t.Error("overlap policies have other names")
	}
}
