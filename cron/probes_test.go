package cron_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax/cron"
)

func location(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func parse(t testing.TB, expr string, options ...cron.Option) *cron.Schedule {
	t.Helper()
	s, err := cron.Parse(expr, options...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// vector is an expression and the fires expected after an instant.
type vector struct {
	name, expr, zone, after string
	want                    []string // RFC 3339
}

func (v vector) check(t *testing.T) {
	t.Helper()
	s := parse(t, v.expr, cron.In(location(t, v.zone)))
	at := instant(t, v.after)
	for _, want := range v.want {
		next := s.Next(at)
		if got := next.Format(time.RFC3339); got != want {
			t.Fatalf("%q in %s after %v: got %s, want %s", v.expr, v.zone, at, got, want)
		}
		at = next
	}
}

// TestVectors runs the 300 cases of testdata/cron.tsv: expression, zone, from, three fires.
func TestVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/cron.tsv")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(string(data)) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		if columns[3] == "NEVER" {
			s, err := cron.Parse(columns[0], cron.In(location(t, columns[1])))
			if err == nil { // it has a year that is past
				if next := s.Next(instant(t, columns[2])); !next.IsZero() {
					t.Errorf("%q: got %v, want never", columns[0], next)
				}
			} else if !errors.Is(err, cron.ErrNeverFires) {
				t.Errorf("%q: got %v, want never", columns[0], err)
			}
		} else {
			vector{columns[0], columns[0], columns[1], columns[2], columns[3:]}.check(t)
		}
		count++
	}
	if count != 300 {
		t.Errorf("%d cases, want 300", count)
	}
}

// TestFaults holds what users of other schedulers reported: a clock change, a calendar or a
// token that was handled wrong there. The names are those of the project's list of faults.
func TestFaults(t *testing.T) {
	for _, v := range faults {
		t.Run(v.name, v.check)
	}
}

var faults = []vector{
	{"C01", "0 2 * * *", "America/Los_Angeles", "2025-03-08T12:00:00-08:00", []string{
		"2025-03-09T03:00:00-07:00", "2025-03-10T02:00:00-07:00", "2025-03-11T02:00:00-07:00"}},
	{"C02", "30 1 * * *", "America/New_York", "2025-11-01T12:00:00-04:00", []string{
		"2025-11-02T01:30:00-04:00", "2025-11-03T01:30:00-05:00", "2025-11-04T01:30:00-05:00"}},
	{"C04", "*/15 * * * * *", "Europe/London", "2025-10-26T01:59:30+01:00", []string{
		"2025-10-26T01:59:45+01:00", "2025-10-26T01:00:00Z", "2025-10-26T01:00:15Z"}},
	{"C05", "0 1 4 11 *", "America/Sao_Paulo", "2018-11-03T23:00:00-03:00", []string{
		"2018-11-04T01:00:00-02:00", "2019-11-04T01:00:00-03:00", "2020-11-04T01:00:00-03:00"}},
	{"C07", "0 12 * * 0", "Europe/Berlin", "2022-03-24T12:00:00+01:00", []string{
		"2022-03-27T12:00:00+02:00", "2022-04-03T12:00:00+02:00", "2022-04-10T12:00:00+02:00"}},
	{"C08", "* * * */3 *", "America/New_York", "2015-02-15T00:00:00-05:00", []string{
		"2015-04-01T00:00:00-04:00", "2015-04-01T00:01:00-04:00", "2015-04-01T00:02:00-04:00"}},
	{"C10", "0 0 */2 * 3", "Asia/Shanghai", "2024-08-16T12:00:00+08:00", []string{
		"2024-08-21T00:00:00+08:00", "2024-09-11T00:00:00+08:00", "2024-09-25T00:00:00+08:00"}},
	{"C11", "0 0 1-31/10 * 1", "UTC", "2025-01-01T00:00:00Z", []string{
		"2025-01-06T00:00:00Z", "2025-01-11T00:00:00Z", "2025-01-13T00:00:00Z"}},
	{"C11 star", "0 0 */10 * 1", "UTC", "2025-01-01T00:00:00Z", []string{
		"2025-03-31T00:00:00Z", "2025-04-21T00:00:00Z", "2025-07-21T00:00:00Z"}},
	{"C14", "0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", []string{
		"2104-02-29T00:00:00Z", "2108-02-29T00:00:00Z", "2112-02-29T00:00:00Z"}},
	{"C16", "0 0 29 * *", "UTC", "2021-02-01T00:00:00Z", []string{
		"2021-03-29T00:00:00Z", "2021-04-29T00:00:00Z", "2021-05-29T00:00:00Z"}},
	{"C17", "0 0 8-9 * 0#2", "UTC", "2021-01-01T00:00:00Z", []string{"2021-01-08T00:00:00Z",
		"2021-01-09T00:00:00Z", "2021-01-10T00:00:00Z", "2021-02-08T00:00:00Z"}},
	{"C19", "0 0 * * 6#4", "UTC", "2024-08-02T00:00:00Z", []string{
		"2024-08-24T00:00:00Z", "2024-09-28T00:00:00Z", "2024-10-26T00:00:00Z"}},
	{"C20", "0 9 * * mon#5", "UTC", "2024-10-22T09:00:00Z", []string{
		"2024-12-30T09:00:00Z", "2025-03-31T09:00:00Z", "2025-06-30T09:00:00Z"}},
	{"C22", "0 0 31W * *", "UTC", "2011-08-31T12:00:00Z", []string{
		"2011-10-31T00:00:00Z", "2011-12-30T00:00:00Z", "2012-01-31T00:00:00Z"}},
	{"C23", "0 5 LW * *", "UTC", "2023-10-01T00:00:00Z", []string{
		"2023-10-31T05:00:00Z", "2023-11-30T05:00:00Z", "2023-12-29T05:00:00Z"}},
	{"C25 weekday", "0 8 * * FRI-MON", "UTC", "2025-01-01T00:00:00Z", []string{
		"2025-01-03T08:00:00Z", "2025-01-04T08:00:00Z", "2025-01-05T08:00:00Z"}},
	{"C25 month", "0 19 * nov-mar 0", "UTC", "2025-03-24T00:00:00Z", []string{
		"2025-03-30T19:00:00Z", "2025-11-02T19:00:00Z", "2025-11-09T19:00:00Z"}},
	{"C25 hour", "0 22-2 * * *", "UTC", "2025-01-01T12:00:00Z", []string{
		"2025-01-01T22:00:00Z", "2025-01-01T23:00:00Z", "2025-01-02T00:00:00Z"}},
	{"C26", "5/15 * * * *", "UTC", "2025-01-01T00:00:00Z", []string{
		"2025-01-01T00:05:00Z", "2025-01-01T00:20:00Z", "2025-01-01T00:35:00Z"}},
	{"C28", "1 0 * * *", "Europe/Berlin", "2020-10-24T12:00:00+02:00", []string{
		"2020-10-25T00:01:00+02:00", "2020-10-26T00:01:00+01:00", "2020-10-27T00:01:00+01:00"}},
	{"C29", "0 12 L * *", "Asia/Shanghai", "2023-08-30T12:00:19.8+08:00", []string{
		"2023-08-31T12:00:00+08:00", "2023-09-30T12:00:00+08:00", "2023-10-31T12:00:00+08:00"}},
	{"C35", "0 8 * * *", "Europe/Zurich", "2025-03-29T12:00:00+01:00", []string{
		"2025-03-30T08:00:00+02:00", "2025-03-31T08:00:00+02:00", "2025-04-01T08:00:00+02:00"}},
	{"C38", "0 2 * * *", "Europe/Copenhagen", "2018-10-27T12:00:00+02:00", []string{
		"2018-10-28T02:00:00+02:00", "2018-10-29T02:00:00+01:00", "2018-10-30T02:00:00+01:00"}},
	{"C40", "0 2 29 2 0", "UTC", "2024-01-01T00:00:00Z", []string{
		"2024-02-04T02:00:00Z", "2024-02-11T02:00:00Z", "2024-02-18T02:00:00Z"}},
	{"C41", "0 2 * * 0", "America/Los_Angeles", "2025-03-08T12:00:00-08:00", []string{
		"2025-03-09T03:00:00-07:00", "2025-03-16T02:00:00-07:00", "2025-03-23T02:00:00-07:00"}},
	{"C41 one instant", "0 2,3 * * *", "Europe/Berlin", "2025-03-29T12:00:00+01:00", []string{
		"2025-03-30T03:00:00+02:00", "2025-03-31T02:00:00+02:00", "2025-03-31T03:00:00+02:00"}},
	{"R4 dropped day", "0 9 * * *", "Pacific/Apia", "2011-12-28T00:00:00-10:00", []string{
		"2011-12-28T09:00:00-10:00", "2011-12-29T09:00:00-10:00", "2011-12-31T09:00:00+14:00"}},
	{"half hour", "15 2 * * *", "Australia/Lord_Howe", "2025-10-04T12:00:00+10:30", []string{
		"2025-10-05T02:30:00+11:00", "2025-10-06T02:15:00+11:00"}},
	{"two hours", "*/30 1-3 * * *", "Antarctica/Troll", "2025-03-30T00:45:00Z", []string{
		"2025-03-30T03:00:00+02:00", "2025-03-30T03:30:00+02:00", "2025-03-31T01:00:00+02:00"}},
	{"no midnight", "0 0 * * *", "America/Havana", "2025-03-08T12:00:00-05:00", []string{
		"2025-03-09T01:00:00-04:00", "2025-03-10T00:00:00-04:00"}},
}

func TestC13NeverFires(t *testing.T) {
	for _, expr := range []string{"0 0 30 2 *", "0 0 31 4 *", "0 0 31 2,4,6,9,11 *",
		"0 0 31 2 */7", "0 0 30W 2 *", "0 0 0 29 2 * 2023", "0 0 L-30 2 *"} {
		if _, err := cron.Parse(expr); !errors.Is(err, cron.ErrNeverFires) {
			t.Errorf("%q: got %v, want ErrNeverFires", expr, err)
		}
	}
	parse(t, "0 0 31 4,5 *")
}

// TestC13ByPolicy: an expression whose only wall time is always skipped never fires either.
func TestC13ByPolicy(t *testing.T) {
	const lastSundayOfMarch = "30 2 25-31 3 */7"
	berlin := cron.In(location(t, "Europe/Berlin"))
	if _, err := cron.Parse(lastSundayOfMarch, berlin, cron.OnGap(cron.GapSkip)); !errors.Is(err,
		cron.ErrNeverFires) {
		t.Errorf("got %v, want ErrNeverFires", err)
	}
	next := parse(t, lastSundayOfMarch, berlin).Next(instant(t, "2025-01-01T00:00:00Z"))
	if got := next.Format(time.RFC3339); got != "2025-03-30T03:00:00+02:00" {
		t.Errorf("got %s", got)
	}
}

// hostile is the corpus of C31: no input may panic or take long.
var hostile = []string{"", " ", "TZ=0", "TZ=UTC", "CRON_TZ=", "CRON_TZ= * * * * *", "TZ=TZ=TZ=",
	"CRON_TZ=../../etc/passwd 0 0 * * *", "CRON_TZ=/etc/localtime 0 0 * * *",
	"CRON_TZ=Local 0 0 * * *", "TZ=local 0 0 * * *", "CRON_TZ=localtime 0 0 * * *",
	"CRON_TZ=posixrules 0 0 * * *", "CRON_TZ=right/UTC 0 0 * * *",
	"CRON_TZ=Europe\\Berlin 0 0 * * *", "CRON_TZ=Europe/Berlin\x00 0 0 * * *",
	strings.Repeat("1,", 100_000) + "1 * * * *", strings.Repeat("*", 1025), "@", "@every",
	"@every 1s 2s", "@reboot", "@daily 1", "* * * *", "* * * * * * * *", "\x00 * * * *",
	"\xff\xfe * * * *", "frı * * * *", "0 0 * * frı", "+1 * * * *", "0x1 * * * *", "1.5 * * * *",
	"99999999999999999999 * * * *", "1-2-3 * * * *", "1/2/3 * * * *", "- * * * *", "1- * * * *",
	", * * * *", "1,,2 * * * *", "1, * * * *", "/5 * * * *", "* * L-31 * *", "* * L-x * *",
	"* * 0W * *", "* * 32W * *", "* * W * *", "* * 1-5W * *", "* * * * #1", "* * * * 1#0",
	"* * * * 1#6", "* * * * L", "* * * * xL", "* * * * 8", "* * * 13 *", "* 24 * * *",
	"60 * * * *", "* * 0 * *", "* * * 0 *", "* * * * jan", "* * * mon *", "0 5 WL * *",
	"0 0 0 1 1 * 1969", "0 0 0 1 1 * 2300", "0 0 0 1 1 * 2030-2020", "0 0 0 1 1 * H"}

func TestC31Hostile(t *testing.T) {
	for _, expr := range hostile {
		s, err := cron.Parse(expr, cron.Seed("job"))
		var refused *cron.ParseError
		if !errors.As(err, &refused) || s != nil {
			t.Errorf("%.40q: got %v, want a ParseError", expr, err)
			continue
		}
		if refused.Field == "" || refused.Reason == "" || len(err.Error()) > 500 {
			t.Errorf("%.40q: unhelpful error %v", expr, err)
		}
	}
	if _, err := cron.Parse("* * * * *", cron.In(time.Local)); time.Local.String() == "Local" &&
		err == nil {
		t.Error("the zone of the host is accepted")
	}
}

func TestC32Steps(t *testing.T) {
	for expr, field := range map[string]string{
		"*/100 * * * *": "minute", "*/0 * * * *": "minute", "*/-1 * * * *": "minute",
		"* */25 * * *": "hour", "0 0 * * */8": "weekday", "0 0 */32 * *": "day of month",
		"0 0 * */13 *": "month", "*/61 * * * * *": "second", "5/61 * * * *": "minute",
		"@every 0s": "period", "@every -1s": "period", "@every 1ns": "period",
		"@every 999ms": "period", "@every 1s1ns": "period", "@every x": "period",
		"H/61 * * * *": "minute", "H(0-9)/11 * * * *": "minute",
	} {
		_, err := cron.Parse(expr, cron.Seed("job"))
		var refused *cron.ParseError
		if !errors.As(err, &refused) || refused.Field != field {
			t.Errorf("%q: got %v, want an error about the %s", expr, err, field)
		}
	}
	for _, expr := range []string{"*/60 * * * *", "0 */24 * * *", "0 0 * * */7", "0 0 */31 * *"} {
		parse(t, expr)
	}
}

func TestC34Outage(t *testing.T) {
	s := parse(t, "0 9 1 * *")
	back := instant(t, "2018-06-08T15:30:00Z")
	last, n := s.Latest(instant(t, "2018-01-01T09:00:00Z"), back)
	if want := instant(t, "2018-06-01T09:00:00Z"); !last.Equal(want) || n != 5 {
		t.Errorf("got %v of %d, want %v of 5", last, n, want)
	}
	vector{"", "0 9 1 * *", "UTC", "2018-06-01T09:00:00Z",
		[]string{"2018-07-01T09:00:00Z", "2018-08-01T09:00:00Z"}}.check(t)
}

func TestC37Preview(t *testing.T) {
	for expr, want := range map[string]string{
		"* 0 * * *": "60 runs a day, 00:00-00:59", "0 0 * * *": "1 run a day, at 00:00",
		"*/2 * * * *":    "720 runs a day, 00:00-23:58",
		"* * * * * *":    "86400 runs a day, 00:00-23:59:59",
		"0 9,17 * * 1-5": "2 runs a day, 09:00-17:00", "@every 90s": "about 960 runs a day",
	} {
		if got := parse(t, expr).PerDay().String(); got != want {
			t.Errorf("%q: got %s, want %s", expr, got, want)
		}
	}
	day := parse(t, "* 0 * * *").PerDay()
	if want := (cron.Day{Runs: 60, Last: 59 * time.Minute}); day != want {
		t.Errorf("got %+v, want %+v", day, want)
	}
}

// TestC40Warning: the OR of the day fields is announced, and a star makes it an AND.
func TestC40Warning(t *testing.T) {
	if got := fmt.Sprint(parse(t, "0 2 29 2 0").Warnings()); !strings.Contains(got, "either") {
		t.Errorf("got %s", got)
	}
	if got := parse(t, "0 2 29 2 */7").Warnings(); strings.Contains(fmt.Sprint(got), "either") {
		t.Errorf("got %s", got)
	}
	vector{"", "0 2 29 2 */7", "UTC", "2024-03-01T00:00:00Z",
		[]string{"2032-02-29T02:00:00Z", "2060-02-29T02:00:00Z"}}.check(t)
}

// TestT19LongOutage: missed fires are found by arithmetic, not by walking through them; the cost is
// in BenchmarkLatest.
func TestT19LongOutage(t *testing.T) {
	for _, down := range []time.Duration{101 * time.Minute, 3 * 24 * time.Hour, 400 * 24 * time.Hour} {
		after := instant(t, "2024-01-01T00:00:00+01:00")
		back := after.Add(down + 30*time.Second)
		for expr, perMinute := range map[string]int64{"* * * * *": 1, "* * * * * *": 60} {
			s := parse(t, expr, cron.In(location(t, "Europe/Berlin")))
			last, n := s.Latest(after, back)
			want := int64(down/time.Minute) * perMinute
			if perMinute == 60 {
				want += 30
			}
			if n != want || back.Sub(last) >= time.Minute || last.After(back) {
				t.Errorf("%q down %v: got %v of %d, want %d", expr, down, last, n, want)
			}
			if next := s.Next(back); next.Sub(back) > time.Minute {
				t.Errorf("%q: next is %v", expr, next)
			}
		}
	}
}
