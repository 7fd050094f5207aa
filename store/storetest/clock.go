package storetest

import (
	"testing"
	"time"

	"github.com/ax-sched/ax/task"
)

var clockTests = []test{
	{"Now", testNow},
	{"StoreNow", testStoreNow},
}

func testNow(t *testing.T, s Full) {
	first, second := now(t, s), now(t, s)
	if first <= 0 || second < first || second.Sub(first) > time.Hour {
		t.Errorf("the store's time went from %d to %d", first, second)
	}
}

// StoreNow is resolved by one statement of time, which lies between two readings of the clock.
func testStoreNow(t *testing.T, s Full) {
	tk := newTask(t.Name())
	tk.RunAt, tk.RunIn = task.StoreNow, 90*time.Minute
	tk.FireTime = task.StoreNow
	before := now(t, s)
	in := insert(t, s, tk)[0]
	after := now(t, s)
	if in.At < before || in.At > after {
		t.Errorf("the insert was at %d, outside of %d to %d", in.At, before, after)
	}
	got := read(t, s, tk.ID)
	want := in.At.Add(90 * time.Minute)
	if got.RunAt != want || in.RunAt != want || got.FireTime != want || got.RunIn != 0 {
		t.Errorf("run_at %d, answered %d, fire_time %d, run_in %s; want %d and no run_in",
			got.RunAt, in.RunAt, got.FireTime, got.RunIn, want)
	}
	if got.CreatedAt != in.At || got.UpdatedAt != in.At {
		t.Errorf("created %d, updated %d; want %d", got.CreatedAt, got.UpdatedAt, in.At)
	}
	far := newTask(t.Name())
	far.RunAt, far.RunIn = task.StoreNow, 1<<63-1
	insert(t, s, far)
	if got := read(t, s, far.ID); got.RunAt < want.Add(200*365*24*time.Hour) {
		t.Errorf("the longest delay is due at %d", got.RunAt)
	}
}
