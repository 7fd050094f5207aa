package store_test

import (
	"testing"
	"time"

	"github.com/ax-sched/ax/store"
	"github.com/ax-sched/ax/task"
)

const day = 24 * time.Hour

// TestRetentionFor: the first rule that says something decides.
func TestRetentionFor(t *testing.T) {
	r := store.Retention{Default: store.Keep{Canceled: 3 * day},
		Kinds: map[string]store.Keep{"k": {Succeeded: time.Hour, Dead: -1}},
		Jobs:  map[string]store.Keep{"j": {Succeeded: -1, Skipped: 2 * time.Hour}}}
	for _, c := range []struct {
		state     task.State
		kind, job string
		want      time.Duration
	}{
		{task.Succeeded, "", "", 7 * day},
		{task.Skipped, "", "", 7 * day},
		{task.Canceled, "", "", 3 * day},
		{task.Dead, "", "", 90 * day},
		{task.Succeeded, "k", "", time.Hour},
		{task.Canceled, "k", "", 3 * day},
		{task.Dead, "k", "", -1},
		{task.Succeeded, "k", "j", -1},
		{task.Skipped, "k", "j", 2 * time.Hour},
		{task.Dead, "k", "j", -1},
		{task.Dead, "other", "j", 90 * day},
		{task.Running, "k", "j", -1},
		{task.Held, "", "", -1},
		{task.Scheduled, "k", "", -1},
	} {
		if got := r.For(c.state, c.kind, c.job); got != c.want {
			t.Errorf("%s of kind %q and job %q stays %s; want %s", c.state, c.kind, c.job, got, c.want)
		}
	}
}

// TestRetentionShortest: no task may go before the shortest time, whatever rule it has.
func TestRetentionShortest(t *testing.T) {
	never := store.Keep{Succeeded: -1, Skipped: -1, Canceled: -1, Dead: -1}
	for _, c := range []struct {
		r    store.Retention
		want time.Duration
	}{
		{store.Retention{}, 7 * day},
		{store.Retention{Default: never}, -1},
		{store.Retention{Default: store.Keep{Succeeded: -1, Skipped: -1, Canceled: -1}}, 90 * day},
		{store.Retention{Default: store.Keep{Dead: day}}, day},
		{store.Retention{Default: never, Kinds: map[string]store.Keep{"k": {Dead: 5 * day}}}, 5 * day},
		{store.Retention{Jobs: map[string]store.Keep{"j": {Skipped: time.Hour}, "i": {}}}, time.Hour},
		{store.Retention{Jobs: map[string]store.Keep{"j": never}}, 7 * day},
	} {
		if got := c.r.Shortest(); got != c.want {
			t.Errorf("shortest of %+v is %s; want %s", c.r, got, c.want)
		}
	}
}
