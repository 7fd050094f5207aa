package main

import (
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax"
	"github.com/ax-sched/ax/internal/command"
	"github.com/ax-sched/ax/internal/crontab"
)

func testJournal(b *strings.Builder, json bool) *journal {
	return &journal{out: b, json: json, now: func() time.Time {
		return time.Date(2026, 1, 2, 3, 4, 5, 678_999_000, time.FixedZone("", 3600))
	}}
}

func TestJournalLines(t *testing.T) {
	var b strings.Builder
	j := testJournal(&b, false)
	j.say("", "a remark of %d words", 4)
	j.say("tab:1", "is here")
	j.event("started", "tab:1", ax.ID{}, "task x")
	o := j.output("tab:1", ax.ID{})
	for _, part := range []string{"one\ntw", "o\r\n\n", "three \xff", "", "end"} {
		if n, err := o.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("Write(%q) = %d, %v", part, n, err)
		}
	}
	o.Flush()
	o.Flush()
	want := `a remark of 4 words
tab:1 is here
tab:1 started task x
tab:1 | one
tab:1 | two
tab:1 | 
tab:1 | three ` + "\uFFFD" + `end
`
	if got := strings.ReplaceAll(b.String(), "2026-01-02T02:04:05.678Z ", ""); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestJournalBreaksEndlessLines: output without line feeds does not pile up in memory.
func TestJournalBreaksEndlessLines(t *testing.T) {
	var b strings.Builder
	o := testJournal(&b, false).output("tab:1", ax.ID{})
	for range 100 {
		if _, err := o.Write([]byte(strings.Repeat("x", 1000))); err != nil {
			t.Fatal(err)
		}
	}
	o.Flush()
	if n := strings.Count(b.String(), "x"); n != 100_000 {
		t.Errorf("%d bytes came out, want 100000", n)
	}
	for line := range strings.Lines(b.String()) {
		if len(line) > command.MaxLine+1100 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

func TestJournalJSON(t *testing.T) {
	var b strings.Builder
	j := testJournal(&b, true)
	j.event("output", "tab:1", ax.ID{15: 1}, `<a> & "b"`)
	want := `{"at":"2026-01-02T02:04:05.678Z","event":"output","job":"tab:1",` +
		`"task_id":"00000000-0000-0000-0000-000000000001","text":"<a> & \"b\""}` + "\n"
	if b.String() != want {
		t.Errorf("%s, want %s", b.String(), want)
	}
}

func TestHostZone(t *testing.T) {
	t.Setenv("TZ", "Europe/Berlin")
	if z := crontab.HostZone(); z != "Europe/Berlin" {
		t.Errorf("zone %q, want that of TZ", z)
	}
	for _, odd := range []string{"", "Local", "Nowhere/Town", ":/etc/localtime"} {
		t.Setenv("TZ", odd)
		z := crontab.HostZone()
		if _, err := loadZone(z); err != nil || z == odd {
			t.Errorf("TZ=%q: zone %q, %v", odd, z, err)
		}
	}
}
