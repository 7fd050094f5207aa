package task_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ax-sched/ax/task"
)

func TestCutText(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"", 10, ""},
		{"0123456789", 10, "0123456789"},
		{"0123456789a", 10, "0123456..."},
		{"äöüäöü", 12, "äöüäöü"},
		{"äöüäöüx", 12, "äöüä..."},
		{"\U0001F525\U0001F525\U0001F525", 11, "\U0001F525\U0001F525..."},
		{"\U0001F525\U0001F525\U0001F525", 10, "\U0001F525..."},
		{"a\x00b", 10, "a␀b"},
		{"a\xffb", 10, "a\uFFFDb"},
		{"\xed\xa0\x80", 20, "\uFFFD"},
		{"abcd", 3, "..."},
	} {
		if got := task.CutText(c.in, c.limit); got != c.want {
			t.Errorf("CutText(%q, %d) = %q; want %q", c.in, c.limit, got, c.want)
		}
	}
}

// S20: ten megabytes of four-byte characters become at most 4 KiB of valid text.
func TestS20HugeErrorText(t *testing.T) {
	got := task.CutText(strings.Repeat("\U0001F525", 10<<18), 4096)
	if len(got) > 4096 || len(got) < 4090 || !utf8.ValidString(got) ||
		!strings.HasSuffix(got, "...") {
		t.Errorf("%d bytes, ending in %q", len(got), got[max(0, len(got)-8):])
	}
}

func FuzzCutText(f *testing.F) {
	f.Add("plain", uint16(4096))
	f.Add("\x00\xff\xfe\U0001F525ä", uint16(3))
	f.Add(strings.Repeat("ä\x00", 50), uint16(37))
	f.Add("\xf0\x9f\x94", uint16(5))
	f.Fuzz(func(t *testing.T, s string, n uint16) {
		limit := max(3, int(n)) // the mark of a cut text needs three bytes
		got := task.CutText(s, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.Contains(got, "\x00") {
			t.Fatalf("CutText(%q, %d) = %q, %d bytes", s, limit, got, len(got))
		}
		if again := task.CutText(got, limit); again != got {
			t.Errorf("cut again, %q becomes %q", got, again)
		}
		if clean := utf8.ValidString(s) && !strings.Contains(s, "\x00"); !clean {
			return
		}
		if len(s) <= limit && got != s {
			t.Errorf("%q fits into %d bytes and became %q", s, limit, got)
		}
		if len(s) > limit && (!strings.HasSuffix(got, "...") ||
			!strings.HasPrefix(s, strings.TrimSuffix(got, "...")) || len(got) < limit-3) {
			t.Errorf("CutText(%q, %d) = %q", s, limit, got)
		}
	})
}

func TestCheckName(t *testing.T) {
	for _, s := range []string{"a", "order.close.timeout", "订单", "with space", " ",
		strings.Repeat("x", task.MaxName), strings.Repeat("ä", task.MaxName/2), "a\tb", "\u2028"} {
		if err := task.CheckName("kind", s, false); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	const control = "kind: has the control character "
	for s, says := range map[string]string{
		"":                                      "kind: is empty; give it a name",
		strings.Repeat("x", task.MaxName+1):     "kind: has 201 bytes; at most 200",
		strings.Repeat("ä", task.MaxName/2+1):   "kind: has 202 bytes; at most 200",
		"a\x00":                                 control + "0x00 at byte 1; remove it",
		"ä\x1b[31m":                             control + "0x1b at byte 2; remove it",
		"\x7f":                                  control + "0x7f at byte 0; remove it",
		"a\r\n":                                 control + "0x0d at byte 1; remove it",
		"\xff":                                  "kind: is not valid UTF-8",
		"\xed\xa0\x80":                          "kind: is not valid UTF-8",
		strings.Repeat("x", task.MaxName) + "ä": "kind: has 202 bytes; at most 200",
	} {
		err := task.CheckName("kind", s, false)
		var input *task.InputError
		if !errors.As(err, &input) || input.Field != "kind" || err.Error() != says {
			t.Errorf("%.20q: %v; want %q", s, err, says)
		}
	}
	if err := task.CheckName("key", "", true); err != nil {
		t.Errorf("an optional empty name: %v", err)
	}
	if err := task.CheckName("key", "\x00", true); err == nil {
		t.Error("an optional name with NUL is accepted")
	}
}

func TestInputErrorUnwraps(t *testing.T) {
	err := error(&task.InputError{Field: "run_at", Reason: "is too far", Err: task.ErrIllegal})
	if !errors.Is(err, task.ErrIllegal) || err.Error() != "run_at: is too far" {
		t.Errorf("%v", err)
	}
	if errors.Is(&task.InputError{Field: "x"}, task.ErrIllegal) {
		t.Error("an error without a sentinel matches one")
	}
}

// What CheckText accepts can be stored as it is: CutText leaves it alone.
func FuzzCheckText(f *testing.F) {
	f.Add("plain")
	f.Add("a\x00")
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, s string) {
		err := task.CheckText("text", s)
		var input *task.InputError
		if err != nil && !errors.As(err, &input) {
			t.Fatalf("%q: %v is no InputError", s, err)
		}
		if err == nil && task.CutText(s, max(3, len(s))) != s {
			t.Errorf("%q was accepted and becomes %q", s, task.CutText(s, max(3, len(s))))
		}
	})
}

// TestNamelessLabel: what is empty is the name of a label.
func TestNamelessLabel(t *testing.T) {
	err := task.CheckLabels(map[string]string{"": "x"})
	if err == nil || err.Error() != "labels: the name of a label is empty; give it one" {
		t.Errorf("%v", err)
	}
}
