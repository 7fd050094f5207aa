package complete

import (
	"testing"
	"time"

	"github.com/ax-sched/ax/task"
)

// TestMiss: T21 and expiry. A task that may not start any more ends; what has begun is not late.
func TestMiss(t *testing.T) {
	const second = time.Second
	for _, c := range []struct {
		name   string
		state  task.State
		set    func(k *task.Task)
		late   time.Duration
		events string
		reason task.Reason
	}{
		{"no limits", task.Scheduled, nil, 0, "nothing", 0},
		{"T21 late", task.Scheduled, nil, 60*second - 1000, "skip", task.Late},
		{"in time", task.Scheduled, nil, 60 * second, "nothing", 0},
		{"begun before", task.Scheduled, func(k *task.Task) { k.Attempt = 1 }, second, "nothing", 0},
		{"expired", task.Scheduled, expiring(-1000), 0, "expire", task.Expired},
		{"expired and late", task.Scheduled, expiring(-1000), second, "expire", task.Expired},
		{"expires now", task.Scheduled, expiring(0), 0, "nothing", 0},
		{"expired, triggered before", task.Scheduled, func(k *task.Task) {
			k.ExpiresAt, k.TriggeredAt = storeNow-1, storeNow-2
		}, 0, "expire", task.Expired},
		{"expired, triggered since", task.Scheduled, func(k *task.Task) {
			k.ExpiresAt, k.TriggeredAt = storeNow-2, storeNow-1
		}, 0, "nothing", 0},
		{"waiting and expired", task.Pending, expiring(-1000), 0, "expire", task.Expired},
		{"waiting and late", task.Pending, nil, second, "nothing", 0},
		{"running and expired", task.Running, expiring(-1000), 0, "nothing", 0},
		{"held and expired", task.Held, expiring(-1000), 0, "nothing", 0},
		{"ended and expired", task.Dead, expiring(-1000), 0, "nothing", 0},
	} {
		k := row(c.state) // due a minute ago
		k.Attempt = 0
		if c.set != nil {
			c.set(k)
		}
		tr := Miss(k, Policy{MaxLateness: c.late}, storeNow)
		if got := events(tr); got != c.events {
			t.Errorf("%s: %s, want %s", c.name, got, c.events)
			continue
		}
		if tr != nil && (tr.Check() != nil || tr.Set.Reason != c.reason || !tr.FreeUnique ||
			tr.Set.FinishedAt != task.StoreNow) {
			t.Errorf("%s: %+v, %v", c.name, tr.Set, tr.Check())
		}
	}
}

// TestOverlong: an execution past its max lifetime is held with its keys; its late report counts.
func TestOverlong(t *testing.T) {
	for _, c := range []struct {
		state task.State
		life  time.Duration
		want  string
	}{
		{task.Running, time.Minute - 1000, "hold"},
		{task.Dispatching, time.Minute - 1000, "hold"},
		{task.Running, time.Minute, "nothing"},
		{task.Running, 0, "nothing"},
		{task.Scheduled, time.Second, "nothing"},
		{task.Held, time.Second, "nothing"},
		{task.Dead, time.Second, "nothing"},
	} {
		k := row(c.state)
		k.DispatchedAt = storeNow.Add(-time.Minute)
		tr := Overlong(k, Policy{MaxLifetime: c.life}, storeNow)
		if events(tr) != c.want {
			t.Errorf("%s, %s: %s, want %s", c.state, c.life, events(tr), c.want)
		}
		if tr == nil {
			continue
		}
		if tr.Check() != nil || tr.Execution != theRun || tr.FreeKey != "" || tr.FreeUnique ||
			tr.Set.Reason != task.Overlong {
			t.Errorf("%s: %+v", c.state, tr)
		}
		k.Mutable = tr.Set
		r := success
		r.ID, r.Execution = theTask, theRun
		if got := events(Decide(k, r, policy(), storeNow, 0)); got != "succeed" {
			t.Errorf("%s: its late success gives %s", c.state, got)
		}
	}
}
