package trigger

import (
	"testing"
	"time"

	"github.com/ax-sched/ax/task"
	"pgregory.net/rapid"
)

// TestPlansAgainstLoops: the latest missed fire and their number are what a plain loop over next
// finds, and next is strictly later.
func TestPlansAgainstLoops(t *testing.T) {
	anchor := began.Add(12345 * time.Millisecond)
	rapid.Check(t, func(t *rapid.T) {
		j := &task.Job{Name: "j", Anchor: anchor}
		j.Schedule = rapid.SampledFrom([]task.Schedule{
			{Every: time.Second}, {Every: 7*time.Second + time.Microsecond}, {Every: 25 * time.Hour},
			{Cron: "*/7 * * * *"}, {Cron: "*/15 * * * * *"}, {Cron: "0 9 1 * *"},
			{Cron: "30 2 * * *", Zone: "Europe/Berlin"}, {Cron: "@every 90s"},
			{At: began.Add(time.Hour)},
		}).Draw(t, "schedule")
		p, err := newPlan(j)
		if err != nil {
			t.Fatal(err)
		}
		from := began.Add(time.Duration(rapid.Int64Range(0, 400*24*3600*1e9).Draw(t, "from")))
		now := from.Add(time.Duration(rapid.Int64Range(0, 6*3600*1e9).Draw(t, "missed")))
		var last task.Time
		n := 0
		for at := p.next(from); at != 0 && at <= now; at = p.next(at) {
			if at <= from || at <= last {
				t.Fatalf("after %d and %d comes %d", from, last, at)
			}
			last, n = at, n+1
		}
		if n == 0 {
			return // latest is not asked then
		}
		if gotLast, gotN := p.latest(from, now); gotLast != last || gotN != n {
			t.Fatalf("latest is %d of %d, want %d of %d", gotLast, gotN, last, n)
		}
	})
}

// TestEveryAnchor: fires lie at anchor + k*step, k from 1, also seen from before the anchor, and
// end with the calendar.
func TestEveryAnchor(t *testing.T) {
	p := everyPlan{anchor: int64(began), step: time.Minute.Microseconds()}
	for from, want := range map[task.Time]task.Time{
		0: began.Add(time.Minute), began - 1: began.Add(time.Minute), began: began.Add(time.Minute),
		began + 1:                  began.Add(time.Minute),
		began.Add(time.Minute) - 1: began.Add(time.Minute),
		began.Add(time.Minute):     began.Add(2 * time.Minute),
		task.MaxTime:               0, task.MaxTime - 1: 0,
	} {
		if got := p.next(from); got != want {
			t.Errorf("after %d: %d, want %d", from, got, want)
		}
	}
}

// TestPreview: the next fires by the code that fires.
func TestPreview(t *testing.T) {
	j := &task.Job{Name: "j", Anchor: began, Schedule: task.Schedule{Cron: "0 9 29 2 *"}}
	got, err := Preview(j, began, 3)
	if err != nil || len(got) != 3 {
		t.Fatalf("%v, %v", got, err)
	}
	for i, want := range []string{"2000-02-29T09:00", "2004-02-29T09:00", "2008-02-29T09:00"} {
		if at := got[i].Go().Format("2006-01-02T15:04"); at != want {
			t.Errorf("fire %d at %s, want %s", i, at, want)
		}
	}
	j.Schedule = task.Schedule{At: began.Add(time.Hour)}
	if got, err := Preview(j, began, 5); err != nil || len(got) != 1 {
		t.Errorf("at: %v, %v", got, err)
	}
	j.Schedule = task.Schedule{After: time.Hour}
	if got, err := Preview(j, began, 5); err != nil || got != nil {
		t.Errorf("after: %v, %v", got, err)
	}
}

func TestPlanErrors(t *testing.T) {
	for _, s := range []task.Schedule{{}, {Cron: "0 0 30 2 *"}, {Cron: "x"},
		{Cron: "0 0 * * *", Zone: "Mars/Olympus"}} {
		if _, err := newPlan(&task.Job{Name: "j", Schedule: s}); err == nil {
			t.Errorf("%+v was taken", s)
		}
	}
}
